package hyperloglog

// This file owns registers of 6 bits. It must not know the header.

const (
	registerBits = 6
	registerMax  = 1<<registerBits - 1
	denseBytes   = headerBytes + registerCount*registerBits/8
)

// locate returns the byte in which a register begins, and the bit.
func locate(index int) (at, shift int) {
	return index * registerBits / 8, index * registerBits % 8
}

// sizeAt is how many bytes a register is in that begins at bit shift of one.
func sizeAt(shift int) int {
	if shift > 8-registerBits {
		return 2
	}
	return 1
}

// get returns the register that begins at bit shift of the first byte.
func get(data []byte, shift int) uint8 {
	word := uint(data[0])
	if sizeAt(shift) == 2 {
		word |= uint(data[1]) << 8
	}
	return uint8(word >> shift & registerMax)
}

// put is for get.
func put(data []byte, shift int, rank uint8) {
	const mask = uint(registerMax)
	data[0] = data[0]&^byte(mask<<shift) | rank<<shift
	if sizeAt(shift) == 2 {
		over := 8 - shift
		data[1] = data[1]&^byte(mask>>over) | rank>>over
	}
}

// raiseDense makes a register rank, if it is less, and reports whether it was.
func raiseDense(registers []byte, index int, rank uint8) bool {
	at, shift := locate(index)
	if get(registers[at:], shift) >= rank {
		return false
	}
	put(registers[at:], shift, rank)
	return true
}

// Patch says which bytes of a dense value an element changes: none, when its
// register is as great already.
func Patch(value, element []byte) (offset int, data [2]byte, size int) {
	index, rank := place(element)
	at, shift := locate(index)
	at += headerBytes
	if get(value[at:], shift) >= rank {
		return 0, data, 0
	}
	size = sizeAt(shift)
	copy(data[:size], value[at:])
	put(data[:size], shift, rank)
	return at, data, size
}

// ToDense returns a value as a dense one, a new one if it is sparse.
func ToDense(value []byte) ([]byte, error) {
	if !IsSparse(value) {
		return value, nil
	}
	out := make([]byte, denseBytes)
	copy(out, value[:headerBytes])
	out[encodingAt] = dense
	err := eachRun(value, func(first, count int, rank uint8) {
		for i := first; rank > 0 && i < first+count; i++ {
			at, shift := locate(i)
			put(out[headerBytes+at:], shift, rank)
		}
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// unpack returns the four registers in three bytes.
func unpack(data []byte) (a, b, c, d uint8) {
	word := uint(data[0]) | uint(data[1])<<8 | uint(data[2])<<16
	return uint8(word & registerMax), uint8(word >> 6 & registerMax), uint8(word >> 12 & registerMax), uint8(word >> 18)
}

// pack is for unpack.
func pack(data []byte, a, b, c, d uint8) {
	word := uint(a) | uint(b)<<6 | uint(c)<<12 | uint(d)<<18
	data[0], data[1], data[2] = byte(word), byte(word>>8), byte(word>>16)
}
