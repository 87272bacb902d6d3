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

	footerBytes = 2 + 8
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

// Verify checks the footer of a payload.
func Verify(payload []byte) error {
	at := len(payload) - footerBytes
	if at < 0 || binary.LittleEndian.Uint16(payload[at:]) > VersionMax {
		return ErrFooter
	}
	if Checksum(0, payload[:at+2]) != binary.LittleEndian.Uint64(payload[at+2:]) {
		return ErrFooter
	}
	return nil
}

// Checksum continues a checksum over data; 0 begins one.
func Checksum(sum uint64, data []byte) uint64 {
	// Redis does not invert the checksum at its start and end, hash/crc64 does.
	return ^crc64.Update(^sum, jones, data)
}
