package dump

// This file owns the reading of values. It must not know footers, nor how the
// packed hashes of older servers are laid out.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"reminis/engine/intset"
	"reminis/engine/listpack"
	"reminis/engine/stream"
)

// Limits bound what a value may become, in bytes.
type Limits struct {
	StringBytes int // one string
	TotalBytes  int // all strings of a value that had to be decompressed
}

// Value is what was read.
type Value struct {
	Type Type
	// Text is the string, of TypeString.
	Text []byte
	// Pairs are the fields and values of a hash in turn; at least one pair, and
	// no field twice.
	Pairs [][]byte
	// Members are those of a set or sorted set; at least one, and none twice.
	Members [][]byte
	// Scores are those of Members, of a sorted set; none is a NaN.
	Scores []float64
	// Elements are those of a list in order; at least one.
	Elements [][]byte
	// Stream is the stream, which may be empty.
	Stream *stream.Value
}

// Content is what a value is, in whatever form it came.
type Content uint8

const (
	String Content = iota
	List
	Set
	SortedSet
	Hash
	Stream
)

// Content says what values of a type that is read are.
func (t Type) Content() Content {
	switch t {
	case TypeList, TypeListZiplist, TypeListZiplists, TypeListNodes:
		return List
	case TypeSet, TypeSetIntset, TypeSetListpack:
		return Set
	case TypeSortedSetTexts, TypeSortedSet, TypeSortedSetZiplist, TypeSortedSetListpack:
		return SortedSet
	case TypeHash, TypeHashListpack, TypeHashZiplist, TypeHashZipmap:
		return Hash
	case TypeStreamNodes, TypeStreamBounds, TypeStreamActive:
		return Stream
	}
	return String
}

// ErrEmpty is returned for collections other than streams that have no elements,
// which old servers wrote; the value is read to its end.
var ErrEmpty = errors.New("dump: a collection without elements")

// Known says whether values of a type can be read.
func (t Type) Known() bool { return t == TypeString || t.Content() != String }

// errEnd is wrapped by the errors for bytes that end too early.
var errEnd = errors.New("dump: the value is cut off")

// Reader reads values from bytes. What it returns may alias them.
type Reader struct {
	data   []byte
	at     int
	limits Limits
	left   int // of Limits.TotalBytes
}

// NewReader reads data from its first byte on.
func NewReader(data []byte, limits Limits) *Reader {
	return &Reader{data: data, limits: limits, left: limits.TotalBytes}
}

// Offset is how many bytes were read.
func (r *Reader) Offset() int { return r.at }

// Value reads a type and its value.
func (r *Reader) Value() (Value, error) {
	first, err := r.Bytes(1)
	if err != nil {
		return Value{}, err
	}
	return r.ValueOf(Type(first[0]))
}

// ValueOf reads a value whose type was read before.
func (r *Reader) ValueOf(t Type) (v Value, err error) {
	r.left = r.limits.TotalBytes
	v = Value{Type: t}
	switch v.Type {
	case TypeString:
		v.Text, err = r.String()
	case TypeSet:
		v.Members, err = r.strings(1)
	case TypeSetIntset:
		v.Members, err = r.packed(intsetMembers)
	case TypeSetListpack:
		v.Members, err = r.packed(listpackElements)
	case TypeHash:
		v.Pairs, err = r.strings(2)
	case TypeHashListpack:
		v.Pairs, err = r.packed(listpackElements)
	case TypeHashZiplist:
		v.Pairs, err = r.packed(ziplistElements)
	case TypeHashZipmap:
		v.Pairs, err = r.packed(zipmapPairs)
	case TypeList, TypeListZiplist, TypeListZiplists, TypeListNodes:
		v.Elements, err = r.list(v.Type)
	case TypeStreamNodes, TypeStreamBounds, TypeStreamActive:
		v.Stream, err = r.stream(v.Type)
	case TypeSortedSetTexts, TypeSortedSet, TypeSortedSetZiplist, TypeSortedSetListpack:
		v.Members, v.Scores, err = r.sortedSet(v.Type)
	default:
		// Modules among them: none is loaded.
		err = fmt.Errorf("dump: %d is no type", v.Type)
	}
	if err == nil {
		switch v.Type.Content() {
		case Set:
			err = checkNames(v.Members, 1)
		case Hash:
			err = checkNames(v.Pairs, 2)
		}
	}
	if err != nil {
		return Value{}, err
	}
	return v, nil
}

// Bytes returns the next n bytes.
func (r *Reader) Bytes(n int) ([]byte, error) {
	if n < 0 || n > len(r.data)-r.at {
		return nil, fmt.Errorf("%w: %d bytes are asked for at %d of %d", errEnd, n, r.at, len(r.data))
	}
	r.at += n
	return r.data[r.at-n : r.at : r.at], nil
}

// head reads a length, or the kind of a string that is encoded specially.
func (r *Reader) head() (n uint64, special bool, err error) {
	first, err := r.Bytes(1)
	if err != nil {
		return 0, false, err
	}
	var more []byte
	switch b := first[0]; {
	case b < length14:
		return uint64(b), false, nil
	case b < length32:
		more, err = r.Bytes(1)
		if err != nil {
			return 0, false, err
		}
		return uint64(b&0x3F)<<8 | uint64(more[0]), false, nil
	case b >= encoded:
		return uint64(b & 0x3F), true, nil
	case b == length32:
		if more, err = r.Bytes(4); err != nil {
			return 0, false, err
		}
		return uint64(binary.BigEndian.Uint32(more)), false, nil
	case b == length64:
		if more, err = r.Bytes(8); err != nil {
			return 0, false, err
		}
		return binary.BigEndian.Uint64(more), false, nil
	}
	return 0, false, fmt.Errorf("dump: byte %#x at %d begins no length", first[0], r.at-1)
}

// Length reads a length or count. Like Redis it does not mind the form of a
// special string.
func (r *Reader) Length() (uint64, error) {
	n, _, err := r.head()
	return n, err
}

// size is Length for bytes that must be in memory.
func (r *Reader) size() (int, error) {
	n, err := r.Length()
	if err == nil && n > uint64(len(r.data)) {
		err = fmt.Errorf("%w: a length of %d in %d bytes", errEnd, n, len(r.data))
	}
	return int(n), err
}

// String reads a string, in any of its forms.
func (r *Reader) String() ([]byte, error) {
	n, special, err := r.head()
	switch {
	case err != nil:
		return nil, err
	case special:
		return r.special(encoded | byte(n))
	case n > uint64(len(r.data)):
		return nil, fmt.Errorf("%w: a string of %d bytes in %d", errEnd, n, len(r.data))
	case n > uint64(r.limits.StringBytes):
		return nil, fmt.Errorf("dump: a string of %d bytes, %d are the limit", n, r.limits.StringBytes)
	}
	return r.Bytes(int(n))
}

// special reads a string that is an integer or compressed.
func (r *Reader) special(kind byte) ([]byte, error) {
	switch kind {
	case encodedInt8:
		b, err := r.Bytes(1)
		if err != nil {
			return nil, err
		}
		return strconv.AppendInt(nil, int64(int8(b[0])), 10), nil
	case encodedInt16:
		b, err := r.Bytes(2)
		if err != nil {
			return nil, err
		}
		return strconv.AppendInt(nil, int64(int16(binary.LittleEndian.Uint16(b))), 10), nil
	case encodedInt32:
		b, err := r.Bytes(4)
		if err != nil {
			return nil, err
		}
		return strconv.AppendInt(nil, int64(int32(binary.LittleEndian.Uint32(b))), 10), nil
	case encodedLZF:
		return r.compressed()
	}
	return nil, fmt.Errorf("dump: %#x is no form of a string", kind)
}

func (r *Reader) compressed() ([]byte, error) {
	packedBytes, err := r.size()
	if err != nil {
		return nil, err
	}
	sizeBytes, err := r.Length()
	if err != nil {
		return nil, err
	}
	if sizeBytes > uint64(min(r.limits.StringBytes, r.left)) {
		return nil, fmt.Errorf("dump: a string of %d bytes, the limit is %d, of which %d are left", sizeBytes, r.limits.StringBytes, r.left)
	}
	r.left -= int(sizeBytes)
	data, err := r.Bytes(packedBytes)
	if err != nil {
		return nil, err
	}
	return expand(data, int(sizeBytes))
}

// strings reads a count and so many groups of strings.
func (r *Reader) strings(group int) ([][]byte, error) {
	count, err := r.Length()
	if err != nil {
		return nil, err
	}
	// Every string takes a byte at least.
	if count > uint64((len(r.data)-r.at)/group) {
		return nil, fmt.Errorf("%w: %d elements in %d bytes", errEnd, count, len(r.data)-r.at)
	}
	list := make([][]byte, int(count)*group)
	for i := range list {
		if list[i], err = r.String(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// packed reads a string and the elements in it.
func (r *Reader) packed(elementsOf func([]byte) ([][]byte, error)) ([][]byte, error) {
	data, err := r.String()
	if err != nil {
		return nil, err
	}
	return elementsOf(data)
}

func listpackElements(data []byte) ([][]byte, error) {
	if err := listpack.Validate(data); err != nil {
		return nil, err
	}
	list := make([][]byte, 0, listpack.Len(data))
	for at := listpack.First(data); at != listpack.None; at = listpack.Next(data, at) {
		x := listpack.Get(data, at)
		if x.Text == nil {
			x.Text = x.AppendTo(nil)
		}
		list = append(list, x.Text)
	}
	return list, nil
}

func intsetMembers(data []byte) ([][]byte, error) {
	if err := intset.Validate(data); err != nil {
		return nil, err
	}
	members := make([][]byte, intset.Len(data))
	for i := range members {
		members[i] = strconv.AppendInt(nil, intset.At(data, i), 10)
	}
	return members, nil
}

// checkNames says what is wrong with the names of elements, the first of each
// group.
func checkNames(list [][]byte, group int) error {
	if len(list) == 0 {
		return ErrEmpty
	}
	if len(list)%group != 0 {
		return fmt.Errorf("dump: %d strings in a hash or set", len(list))
	}
	seen := make(map[string]struct{}, len(list)/group)
	for i := 0; i < len(list); i += group {
		if _, twice := seen[string(list[i])]; twice {
			return fmt.Errorf("dump: element %.64q comes twice", list[i])
		}
		seen[string(list[i])] = struct{}{}
	}
	return nil
}
