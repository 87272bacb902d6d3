package dump

// This file owns the footer of a payload. It must not know values.

import (
	"encoding/binary"
	"errors"
	"hash/crc64"
)

const (
	// Version is what payloads are written with: that of Redis 7.0.
	Version = 10
	// VersionMax is the last version that is read: that of Redis 7.4.
	VersionMax = 12

	// FooterBytes is the size of a payload's footer.
	FooterBytes = 2 + 8
)

// ErrFooter is returned by Verify for a payload of a later version, one that was
// changed, and what is no payload at all.
var ErrFooter = errors.New("dump: the version or the checksum is wrong")

// jones is the CRC-64 of Jones, bits reversed.
var jones = crc64.MakeTable(0x95AC9329AC4BC9B5)

// Seal appends the footer to a value and makes it a payload.
func Seal(value []byte) []byte {
	value = binary.LittleEndian.AppendUint16(value, Version)
	return binary.LittleEndian.AppendUint64(value, Checksum(0, value))
}

// noteMark ends a note.
const noteMark = "reminis1"

// noteBytes is the size of what follows a note's text.
const noteBytes = 4 + len(noteMark)

// AppendNote adds to a value what is said beside it, which Redis does not read: it
// stands between the value and the footer, where a payload may have anything.
func AppendNote(value, note []byte) []byte {
	value = append(value, note...)
	value = binary.LittleEndian.AppendUint32(value, uint32(len(note)))
	return append(value, noteMark...)
}

// Note is what a payload says beside its value; ok is false when that is nothing.
func Note(payload []byte) (note []byte, ok bool) {
	at := len(payload) - FooterBytes - noteBytes
	if at < 0 || string(payload[at+4:at+noteBytes]) != noteMark {
		return nil, false
	}
	size := int64(binary.LittleEndian.Uint32(payload[at:]))
	if size > int64(at) {
		return nil, false
	}
	return payload[at-int(size) : at], true
}

// Verify checks the footer of a payload; trusting leaves out the checksum.
func Verify(payload []byte, trusting bool) error {
	at := len(payload) - FooterBytes
	if at < 0 || binary.LittleEndian.Uint16(payload[at:]) > VersionMax {
		return ErrFooter
	}
	if !trusting && Checksum(0, payload[:at+2]) != binary.LittleEndian.Uint64(payload[at+2:]) {
		return ErrFooter
	}
	return nil
}

// Checksum continues a checksum over data; 0 begins one.
func Checksum(sum uint64, data []byte) uint64 {
	// Redis does not invert the checksum at its start and end, hash/crc64 does.
	return ^crc64.Update(^sum, jones, data)
}
