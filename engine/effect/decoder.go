package effect

import "encoding/binary"

// This file owns reading the primitives that batches, and the store's rows, are
// made of. It must not know what they mean.

// Decoder reads primitives from Rest and latches the first failure in Bad: a
// caller reads all it wants and asks once. What it returns after a failure is
// zero.
type Decoder struct {
	Rest []byte
	Bad  bool
}

// Byte reads one byte.
func (d *Decoder) Byte() byte {
	if d.Bad || len(d.Rest) == 0 {
		d.Bad = true
		return 0
	}
	b := d.Rest[0]
	d.Rest = d.Rest[1:]
	return b
}

// Uvarint reads an unsigned varint.
func (d *Decoder) Uvarint() uint64 {
	if d.Bad {
		return 0
	}
	v, n := binary.Uvarint(d.Rest)
	if n <= 0 {
		d.Bad = true
		return 0
	}
	d.Rest = d.Rest[n:]
	return v
}

// Varint reads a signed varint.
func (d *Decoder) Varint() int64 {
	u := d.Uvarint()
	v := int64(u >> 1)
	if u&1 != 0 {
		v = ^v
	}
	return v
}

// Bytes reads a length and as many bytes, which alias the input.
func (d *Decoder) Bytes() []byte {
	n := d.Uvarint()
	if d.Bad || n > uint64(len(d.Rest)) {
		d.Bad = true
		return nil
	}
	b := d.Rest[:n:n]
	d.Rest = d.Rest[n:]
	return b
}

// End notes a failure when something is left.
func (d *Decoder) End() { d.Bad = d.Bad || len(d.Rest) != 0 }
