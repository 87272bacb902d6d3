package memory

// This file owns audit events: which operations there are, what an event says
// and its binary form. How events are chained is chain.go's.
//
// The form is on disk:
//
//	byte    codec version, 1
//	byte    flags: 1 the body is sealed, or gone
//	byte    operation
//	varint  time, ms
//	uvarint version
//	uvarint old version
//	32 bytes SHA-256 of the body
//	body: fields as in records, sealed where it is stored; nothing when erased
//
// What stands before the body is the head, which survives MEM.ERASE. The chain
// covers the body through its SHA-256 only, so that it still verifies when
// bodies are gone, and erasing is to cut a body off: that needs no key.

import (
	"crypto/sha256"
	"encoding/binary"
)

// Op is what happened. Numbers are on disk: append only.
type Op uint8

const (
	OpInit     Op = 1  // the first version of a record
	OpSet      Op = 2  // a whole record was written over another
	OpPatch    Op = 3  // part of it
	OpAppend   Op = 4  // items were added
	OpForget   Op = 5  // it was removed; history stays
	OpExpire   Op = 6  // its deadline passed, or was changed when Version = OldVersion
	OpEvict    Op = 7  // memory was needed
	OpRollback Op = 8  // an old version was written again
	OpErase    Op = 9  // destroyed, history and all
	OpExport   Op = 10 // read in bulk
	OpGet      Op = 11 // read, where the policy audits reads
	OpRecall   Op = 12
	OpDenied   Op = 13 // refused for want of rights
	OpReset    Op = 14 // FLUSHDB, FLUSHALL
	OpChange   Op = 15 // the value changed from OldVersion to Version
	OpConsent  Op = 16 // the owner gave consent or took it back; the reason says which
	OpPolicy   Op = 17 // a policy was set or removed
	OpSchema   Op = 18 // a schema was set or removed
	OpLink     Op = 19 // a link was set; the reason says which
	OpUnlink   Op = 20 // a link was removed
	OpGrant    Op = 21 // a user was granted a scope, or that was revoked; the reason says which
)

// String is the operation's name as clients write it.
func (op Op) String() string {
	switch op {
	case OpInit:
		return "init"
	case OpSet:
		return "set"
	case OpPatch:
		return "patch"
	case OpAppend:
		return "append"
	case OpForget:
		return "forget"
	case OpExpire:
		return "expire"
	case OpEvict:
		return "evict"
	case OpRollback:
		return "rollback"
	case OpErase:
		return "erase"
	case OpExport:
		return "export"
	case OpGet:
		return "get"
	case OpRecall:
		return "recall"
	case OpDenied:
		return "denied"
	case OpReset:
		return "reset"
	case OpChange:
		return "change"
	case OpConsent:
		return "consent"
	case OpPolicy:
		return "policy"
	case OpSchema:
		return "schema"
	case OpLink:
		return "link"
	case OpUnlink:
		return "unlink"
	case OpGrant:
		return "grant"
	}
	return "unknown"
}

// OfRecord says that the operation writes, ends or reads records one by one.
func (op Op) OfRecord() bool {
	return op >= OpInit && op <= OpRollback || op == OpGet || op == OpRecall
}

// MakesVersion says that the operation makes a version of a record.
func (op Op) MakesVersion() bool { return op >= OpInit && op <= OpAppend || op == OpRollback }

// ParseOp reads an operation's name, in any case.
func ParseOp(text []byte) (Op, error) {
	for op := OpInit; op <= OpGrant; op++ {
		if equalFold(text, op.String()) {
			return op, nil
		}
	}
	return 0, errOp(text)
}

// OwnerKey is the secret of one owner. Destroying it makes every hash of the
// owner's payloads meaningless.
type OwnerKey [32]byte

// Event is one entry of an owner's audit chain. Its sequence is outside, with
// the batch that carries it. After DecodeEvent the slices alias the encoded
// bytes.
type Event struct {
	TimeMs     int64
	Op         Op
	Version    uint64 // that stands afterwards; 0: none
	OldVersion uint64 // that stood before; 0: none
	Erased     bool   // the body is destroyed: everything below is empty

	Key         []byte
	User        []byte // authenticated
	Operator    []byte // claimed
	Client      []byte // connection
	Caller      []byte // place in the caller's program, as it says
	Trace       []byte
	CommandID   []byte
	Reason      []byte
	Hashed      bool     // PayloadHash is set
	PayloadHash [32]byte // HMAC-SHA-256 of the payload under the owner's key
	Salt        [16]byte // makes the body's digest unguessable once the key is gone

	body   []byte // encoded, for Link
	digest [32]byte
}

const eventSealed = 1

const (
	eventSalt        = 1
	eventKey         = 2
	eventUser        = 4
	eventOperator    = 6
	eventClient      = 8
	eventCaller      = 10
	eventTrace       = 12
	eventCommandID   = 14
	eventReason      = 16
	eventPayloadHash = 18
)

// Seal sets PayloadHash and Salt with the owner's secret. A nil payload leaves
// the event without a hash; an empty one has one.
func (e *Event) Seal(h *Hasher, secret *OwnerKey, payload []byte) {
	if e.Hashed = payload != nil; e.Hashed {
		e.PayloadHash = h.PayloadHash(secret, payload)
	}
	h.begin(secret, "salt\x00")
	h.message = append(h.message, byte(e.Op))
	h.message = binary.AppendVarint(h.message, e.TimeMs)
	h.message = binary.AppendUvarint(h.message, e.Version)
	h.message = append(h.message, e.Key...)
	salt := h.sum(secret)
	copy(e.Salt[:], salt[:])
}

// EncodeEvent appends the event's binary form, its body in the clear.
func EncodeEvent(dst []byte, e *Event) []byte {
	if e.Erased {
		return appendEventHead(dst, e, eventSealed, &e.digest)
	}
	dst = appendEventHead(dst, e, 0, &e.digest)
	at := len(dst)
	dst = appendText(dst, eventSalt, e.Salt[:])
	dst = appendText(dst, eventKey, e.Key)
	dst = appendText(dst, eventUser, e.User)
	dst = appendText(dst, eventOperator, e.Operator)
	dst = appendText(dst, eventClient, e.Client)
	dst = appendText(dst, eventCaller, e.Caller)
	dst = appendText(dst, eventTrace, e.Trace)
	dst = appendText(dst, eventCommandID, e.CommandID)
	dst = appendText(dst, eventReason, e.Reason)
	if e.Hashed {
		dst = appendText(dst, eventPayloadHash, e.PayloadHash[:])
	}
	digest := sha256.Sum256(dst[at:])
	copy(dst[at-len(digest):], digest[:])
	return dst
}

func appendEventHead(dst []byte, e *Event, flags byte, digest *[32]byte) []byte {
	dst = append(dst, codecVersion, flags, byte(e.Op))
	dst = binary.AppendVarint(dst, e.TimeMs)
	dst = binary.AppendUvarint(dst, e.Version)
	dst = binary.AppendUvarint(dst, e.OldVersion)
	return append(dst, digest[:]...)
}

// DecodeEvent reads an event into e, whose slices then alias b. Errors are as
// those of Decode; fields of newer versions are skipped, they stay in b.
func DecodeEvent(b []byte, e *Event) error {
	in, err := decodeEventHead(b, e)
	if err != nil || e.Erased {
		return err
	}
	body := reader{all: e.body, what: "event"}
	last := uint64(0)
	for body.left() > 0 {
		start := body.pos
		field, text := body.uvarint(), body.text()
		if body.err != nil || len(text) == 0 || field <= last {
			return in.corruptAt(len(b) - len(e.body) + start)
		}
		last = field
		if !e.setField(field, text) {
			return in.corruptAt(len(b) - len(e.body) + start)
		}
		if field > eventPayloadHash && field%2 == 1 {
			return &NewerError{What: "event", Codec: codecVersion, Field: field}
		}
	}
	return nil
}

// decodeEventHead reads what stands before the body, and finds the body, which
// must be in the clear or gone.
func decodeEventHead(b []byte, e *Event) (reader, error) {
	in, flags, err := cutEventHead(b, e)
	if err != nil {
		return in, err
	}
	e.body = in.bytes(in.left())
	e.Erased = len(e.body) == 0
	// An erased body was a sealed one; an open one is what its digest says.
	if e.Erased != (flags == eventSealed) || !e.Erased && e.digest != sha256.Sum256(e.body) {
		return in, in.corruptAt(len(b) - len(e.body))
	}
	return in, nil
}

// cutEventHead reads the head alone.
func cutEventHead(b []byte, e *Event) (in reader, flags byte, err error) {
	*e = Event{}
	in = reader{all: b, what: "event"}
	codec := in.byte()
	flags = in.byte()
	if in.err == nil && codec != codecVersion {
		return in, 0, &NewerError{What: "event", Codec: codec}
	}
	if in.err == nil && flags&^eventSealed != 0 {
		return in, 0, &NewerError{What: "event", Codec: codec, Field: uint64(flags)}
	}
	e.Op = Op(in.byte())
	e.TimeMs = in.varint()
	e.Version = in.uvarint()
	e.OldVersion = in.uvarint()
	copy(e.digest[:], in.bytes(len(e.digest)))
	return in, flags, in.err
}

// EventTimeMs reads an encoded event's time alone. It fails on what cannot be an
// event of this version.
func EventTimeMs(b []byte) (timeMs int64, err error) {
	in := reader{all: b, what: "event"}
	codec := in.byte()
	in.bytes(2)
	timeMs = in.varint()
	if in.err == nil && codec != codecVersion {
		return 0, &NewerError{What: "event", Codec: codec}
	}
	return timeMs, in.err
}

// setField stores one field of the body; false when it makes no sense.
func (e *Event) setField(field uint64, text []byte) bool {
	switch field {
	case eventSalt:
		return copy(e.Salt[:], text) == len(text) && len(text) == len(e.Salt)
	case eventKey:
		e.Key = text
	case eventUser:
		e.User = text
	case eventOperator:
		e.Operator = text
	case eventClient:
		e.Client = text
	case eventCaller:
		e.Caller = text
	case eventTrace:
		e.Trace = text
	case eventCommandID:
		e.CommandID = text
	case eventReason:
		e.Reason = text
	case eventPayloadHash:
		e.Hashed = true
		return copy(e.PayloadHash[:], text) == len(text) && len(text) == len(e.PayloadHash)
	default:
		return field > eventPayloadHash
	}
	return true
}

// Changed says that the value was another one afterwards.
func (e *Event) Changed() bool {
	switch e.Op {
	case OpInit, OpSet, OpPatch, OpAppend, OpRollback, OpChange:
		return e.Version != e.OldVersion
	}
	return false
}
