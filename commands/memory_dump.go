package commands

import (
	"encoding/json"

	"reminis/commands/grammar"
	"reminis/engine"
	"reminis/engine/dump"
	"reminis/engine/memory"
)

// This file owns memory records as DUMP and RESTORE carry them: to a Redis a string,
// the record's value; beside that, where a Redis does not look, the record as
// MEM.EXPORT writes it. It must not know the form of a payload.

// carried is a record as others carry it, without its history.
type carried struct {
	value, note []byte // a string's, with its type; and what is said beside it
	deadlineMs  int64
}

// carry reads a record to be carried; ok is false when it may not be read, or is none.
func carry(tx *engine.Tx, text []byte) (c carried, ok bool) {
	key, err := tx.Layout().ParseKey(text)
	if err != nil {
		return carried{}, false
	}
	s, ok, err := tx.Record(text)
	tx.NoteRead(key, s.Bytes)
	if err != nil || !ok {
		return carried{}, false
	}
	var r memory.Record
	s.Decode(&r)
	fields := append(memory.AppendRecordFields(nil, text, &r, s.DeadlineMs), textField(&r))
	return carried{
		value:      dump.Form{Plain: tx.Uncompressed()}.AppendStringValue(nil, r.Value),
		note:       memory.AppendJSON(nil, fields),
		deadlineMs: s.DeadlineMs,
	}, true
}

// dumpRecord is a record as a value of a payload; nil when it may not be read.
func dumpRecord(tx *engine.Tx, text []byte) []byte {
	c, ok := carry(tx, text)
	tx.CountHit(text, ok)
	if !ok {
		return nil
	}
	return dump.AppendNote(c.value, c.note)
}

// restoreRecord makes a key the record that a payload says, as MEM.SET does, with
// every check. A record that it replaces is forgotten in the same change; of
// another type there can be none.
func restoreRecord(tx *engine.Tx, p *restoreParams, set *grammar.Grammar, note []byte, deadlineMs int64) error {
	key, err := tx.Layout().ParseKey(p.key)
	if err != nil {
		return err
	}
	var r importedRecord
	if json.Unmarshal(note, &r) != nil {
		return errDumpFormat
	}
	r.Key, r.deadlineMs = string(p.key), deadlineMs
	was := asWritten{createdMs: r.Created, lasts: deadlineMs == 0}
	if _, _, err := tx.Standing(p.key); err != nil {
		return err
	}
	tx.Draft([]memory.Key{key})
	event := tx.NewEvent()
	tx.ForgetRecord(p.key, &event)
	stored := deadlineMs == 0 || deadlineMs > tx.NowMs()
	if stored {
		err = r.put(tx, set, was)
	}
	if err != nil {
		tx.Discard()
		return err
	}
	tx.Publish()
	if stored {
		p.use(tx)
		tx.Notify(engine.EventGeneric, "restore", p.key)
	}
	return nil
}
