package commands

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
	"reminis/engine/stream"
)

// This file owns DEBUG DIGEST, DIGEST-VALUE and OBJECT: what the data is, in a
// form that two servers, or one before and after a restart, can be compared by.
// The digests are Redis's (debug.c computeDatasetDigest): the order of keys and
// of fields does not matter. It must not know how values are stored.

// digest is a sum of SHA-1 hashes.
type digest [sha1.Size]byte

// add is for what has no order.
func (d *digest) add(data []byte) {
	sum := sha1.Sum(data)
	for i := range d {
		d[i] ^= sum[i]
	}
}

// mix is for what has an order.
func (d *digest) mix(data []byte) {
	d.add(data)
	*d = sha1.Sum(d[:])
}

func (d *digest) mixNumber(n uint32) {
	var buf [4]byte
	binary.BigEndian.PutUint32(buf[:], n)
	d.mix(buf[:])
}

// The numbers of types in Redis's digests.
const (
	digestString = 0
	digestSet    = 2
	digestList   = 1
	digestScores = 3
	digestHash   = 4
	digestStream = 6
	// digestRecord is outside of Redis's numbers.
	digestRecord = 100
)

// mixValue mixes in the value of key; a key that does not exist adds nothing.
func (d *digest) mixValue(tx *engine.Tx, key []byte) error {
	switch t := tx.Type(key); t {
	case engine.TypeNone:
		return nil
	case engine.TypeString:
		value, err := tx.StringForWrite(key)
		if err != nil {
			return err
		}
		d.mixNumber(digestString)
		d.mix(value)
	case engine.TypeSet:
		s, err := tx.Set(key)
		if err != nil {
			return err
		}
		d.mixNumber(digestSet)
		s.Each(func(member []byte) bool {
			d.add(member)
			return true
		})
	case engine.TypeList:
		l, err := tx.List(key)
		if err != nil {
			return err
		}
		d.mixNumber(digestList)
		l.Range(0, l.Len(), func(x engine.Element) { d.mix(x.AppendTo(nil)) })
	case engine.TypeSortedSet:
		z, err := tx.SortedSet(key)
		if err != nil {
			return err
		}
		d.mixNumber(digestScores)
		z.Each(func(member []byte, score float64) bool {
			var element digest
			element.mix(member)
			element.mix(reply.AppendDouble(nil, score))
			d.add(element[:])
			return true
		})
	case engine.TypeHash:
		h, err := tx.Hash(key)
		if err != nil {
			return err
		}
		d.mixNumber(digestHash)
		h.Each(func(field, value []byte) bool {
			var element digest
			element.mix(field)
			element.mix(value)
			d.add(element[:])
			return true
		})
	case engine.TypeStream:
		s, err := tx.Stream(key)
		if err != nil {
			return err
		}
		d.mixNumber(digestStream)
		s.Each(stream.ID{}, stream.Max, func(e *stream.Entry) bool {
			d.mix(fmt.Appendf(nil, "%d.%d", e.ID.Ms, e.ID.Seq))
			e.Each(func(field, value []byte) {
				d.mix(field)
				d.mix(value)
			})
			return true
		})
	case engine.TypeMemory:
		record, ok, err := tx.Record(key)
		if err != nil || !ok {
			return fmt.Errorf("digest of a %s: %w", t, err)
		}
		d.mixNumber(digestRecord)
		d.mix(record.Bytes)
		var r memory.Record
		record.Decode(&r)
		d.mix(r.Value)
	default:
		return fmt.Errorf("a %s has no digest", t)
	}
	if deadlineMs, _ := tx.DeadlineMs(key); deadlineMs != 0 {
		d.add([]byte("!!expire!!"))
	}
	return nil
}

func debugDigest(s *Session, _ [][]byte, w *reply.Writer) error {
	var total digest
	err := s.within((*engine.Tx).LockAll, func(tx *engine.Tx) error {
		tx.NoTouch = true
		own := tx.DB
		defer func() { tx.DB = own }()
		for tx.DB = 0; tx.DB < tx.Databases(); tx.DB++ {
			if tx.Size() == 0 {
				continue
			}
			total.mixNumber(uint32(tx.DB))
			if err := total.addDatabase(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	w.Status(hex.EncodeToString(total[:]))
	return nil
}

func (d *digest) addDatabase(tx *engine.Tx) error {
	var keys [][]byte
	tx.Keys(func(key []byte) { keys = append(keys, append([]byte(nil), key...)) })
	for _, key := range keys {
		var one digest
		one.mix(key)
		if err := one.mixValue(tx, key); err != nil {
			return err
		}
		d.add(one[:])
	}
	return nil
}

func debugDigestValue(s *Session, args [][]byte, w *reply.Writer) error {
	w.Array(len(args))
	return s.within((*engine.Tx).LockAll, func(tx *engine.Tx) error {
		tx.NoTouch = true
		for _, key := range args {
			var one digest
			if err := one.mixValue(tx, key); err != nil {
				return err
			}
			w.Status(hex.EncodeToString(one[:]))
		}
		return nil
	})
}

// debugObject answers in Redis's form; there is no address of a value to show.
func debugObject(s *Session, args [][]byte, w *reply.Writer) error {
	return s.within((*engine.Tx).LockAll, func(tx *engine.Tx) error {
		defer func(noTouch bool) { tx.NoTouch, tx.SeesExpired = noTouch, false }(tx.NoTouch)
		tx.NoTouch, tx.SeesExpired = true, true
		key := args[0]
		if !tx.Exists(key) {
			return ErrNoSuchKey
		}
		idle, _ := tx.IdleSeconds(key)
		w.Status(fmt.Sprintf("Value at:0x0 refcount:1 encoding:%s serializedlength:%d lru:%d lru_seconds_idle:%d",
			tx.Encoding(key), valueBytes(tx, key), (tx.NowMs()/1000-idle)&(1<<24-1), idle))
		return nil
	})
}

// valueBytes is the size of a value's bytes without any overhead.
func valueBytes(tx *engine.Tx, key []byte) int {
	size := 0
	switch tx.Type(key) {
	case engine.TypeString:
		value, _ := tx.StringForWrite(key)
		size = len(value)
	case engine.TypeSet:
		s, _ := tx.Set(key)
		s.Each(func(member []byte) bool {
			size += len(member)
			return true
		})
	case engine.TypeSortedSet:
		z, _ := tx.SortedSet(key)
		z.Each(func(member []byte, _ float64) bool {
			size += len(member) + 8 // the score
			return true
		})
	case engine.TypeHash:
		h, _ := tx.Hash(key)
		h.Each(func(field, value []byte) bool {
			size += len(field) + len(value)
			return true
		})
	case engine.TypeList:
		l, _ := tx.List(key)
		l.Range(0, l.Len(), func(x engine.Element) { size += x.TextLen() })
	case engine.TypeStream:
		s, _ := tx.Stream(key)
		s.Each(stream.ID{}, stream.Max, func(e *stream.Entry) bool {
			e.Each(func(field, value []byte) { size += len(field) + len(value) })
			return true
		})
	case engine.TypeMemory:
		record, _, _ := tx.Record(key)
		var r memory.Record
		record.Decode(&r)
		size = len(r.Value)
	}
	return size
}
