// This file owns the check of bytes that come from outside. It must not trust
// any of them.

package listpack

import "fmt"

// Validate returns nil when data is a listpack that every function of this
// package can work on, whoever made it; otherwise what is wrong with it, and
// where. It accepts what Redis's own deep check accepts, elements in a longer
// encoding than necessary among it, and takes time proportional to data.
func Validate(data []byte) error {
	if len(data) < headerBytes+1 {
		return fmt.Errorf("listpack: %d bytes are too few for a header", len(data))
	}
	if uint64(len(data)) > 1<<32-1 || Bytes(data) != len(data) {
		return fmt.Errorf("listpack: the header says %d bytes of %d", Bytes(data), len(data))
	}
	end := End(data)
	if data[end] != endByte {
		return fmt.Errorf("listpack: the last byte is %#x", data[end])
	}
	count := 0
	for pos := headerBytes; pos != end; count++ {
		next, err := validateElement(data, pos)
		if err != nil {
			return err
		}
		pos = next
	}
	if stated := headerCount(data); stated != countUnknown && stated != count {
		return fmt.Errorf("listpack: the header says %d elements of %d", stated, count)
	}
	return nil
}

// validateElement returns where the element at pos ends. pos is before the end
// byte.
func validateElement(data []byte, pos int) (int, error) {
	end := End(data)
	head := headBytes(data[pos])
	if head == 0 {
		return 0, fmt.Errorf("listpack: byte %#x at %d begins no element", data[pos], pos)
	}
	if head > end-pos {
		return 0, fmt.Errorf("listpack: the element at %d is cut off", pos)
	}
	encoded := encodedBytes(data[pos:])
	if encoded < 0 || encoded > end-pos || backLengthBytes(encoded) > end-pos-encoded {
		return 0, fmt.Errorf("listpack: the element at %d reaches beyond the end", pos)
	}
	next := pos + encoded + backLengthBytes(encoded)
	if back := backLength(data, next); back != encoded {
		return 0, fmt.Errorf("listpack: the element at %d has %d bytes and a backward length of %d", pos, encoded, back)
	}
	return next, nil
}
