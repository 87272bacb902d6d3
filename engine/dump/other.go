package dump

// This file owns how far the types that are not read are looked at: far enough
// to tell a good value from damage in its lengths. It must not return values.

import "fmt"

// Redis's types that this package does not read.
const (
	typeSortedSet    Type = 3
	typeSortedSet2   Type = 5
	typeModule       Type = 6
	typeModule2      Type = 7
	typeZsetZiplist  Type = 12
	typeZsetListpack Type = 17
)

// The least that packed collections of other types take, in bytes.
const (
	listpackMinBytes = 6 + 1
	ziplistMinBytes  = ziplistHeadBytes + 1
)

// other returns ErrType for a value of a type that Redis has, another error
// when it is damaged.
func (r *Reader) other(t Type) error {
	switch t {
	case typeSortedSet:
		return r.elements(r.score)
	case typeSortedSet2:
		return r.elements(func() error {
			_, err := r.take(8)
			return err
		})
	case typeZsetZiplist:
		return r.packedOther(ziplistMinBytes)
	case typeZsetListpack:
		return r.packedOther(listpackMinBytes)
	}
	// Modules among them: none is loaded.
	return fmt.Errorf("dump: %d is no type", t)
}

// elements reads a count and so many strings, each with what follows it.
func (r *Reader) elements(follow func() error) error {
	count, err := r.Length()
	if err == nil && count == 0 {
		err = fmt.Errorf("dump: a collection without elements")
	}
	for ; err == nil && count > 0; count-- {
		if _, err = r.String(); err == nil {
			err = follow()
		}
	}
	if err == nil {
		err = ErrType
	}
	return err
}

// score reads a double as text; lengths from 253 on are not-a-number and the
// infinities.
func (r *Reader) score() error {
	first, err := r.take(1)
	if err == nil && first[0] < 253 {
		_, err = r.take(int(first[0]))
	}
	return err
}

func (r *Reader) packedOther(minBytes int) error {
	data, err := r.String()
	if err == nil && len(data) < minBytes {
		err = fmt.Errorf("%w: a packed collection of %d bytes", errEnd, len(data))
	}
	if err == nil {
		err = ErrType
	}
	return err
}
