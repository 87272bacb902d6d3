package commands

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"reminis/commands/grammar"
	"reminis/engine"
	"reminis/engine/dump"
)

// This file owns taking over what a snapshot has. It must not know files.

// SnapshotTarget takes what a snapshot has.
type SnapshotTarget interface {
	// Function takes the code of a library.
	Function(code []byte) error
	// Note takes what is said beside the next key. It is valid during the call.
	Note(note []byte) error
	// Key takes a key; value is nil for a collection without elements. A deadline
	// of 0 is none, and so are idleSeconds and frequency when they are negative.
	// key and value are valid during the call.
	Key(db int, key []byte, value *dump.Value, deadlineMs, idleSeconds, frequency int64) error
}

// A Loader makes keys of what a snapshot has, some in one change of the engine.
type Loader struct {
	LoadFigures
	// Log gets a line for what is passed over.
	Log func(text string)
	// Merge has keys and libraries replace those that are there, which are errors
	// else.
	Merge bool

	core  *Core
	tx    *engine.Tx // nil between two changes
	bytes int        // of values in this change
	note  []byte     // beside the next key; nil: none
	set   *grammar.Grammar
}

var errTwice = errors.New("it comes twice")

const (
	// loadMaxEffects and loadMaxBytes are how much becomes one change, about.
	loadMaxEffects = 1024
	loadMaxBytes   = 1 << 20
	// loggedKeyBytes is how much of a key the log shows.
	loggedKeyBytes = 128
)

// NewLoader begins to load. Close ends it.
func (k *Core) NewLoader() *Loader { return &Loader{core: k, Log: func(string) {}} }

// ready waits until the journal can take another change.
func (l *Loader) ready() error {
	for {
		err := l.core.Engine.Ready()
		if err == nil || !errors.Is(err, engine.ErrLagging) || l.core.WhenDurable == nil {
			return err
		}
		durable := make(chan struct{})
		l.core.WhenDurable(func() { close(durable) })
		<-durable
	}
}

// begin takes all locks.
func (l *Loader) begin() error {
	if l.tx != nil {
		return nil
	}
	if err := l.ready(); err != nil {
		return err
	}
	l.tx = l.core.Engine.Begin()
	l.tx.LockAll()
	return nil
}

// commit makes the change.
func (l *Loader) commit() {
	if l.tx == nil {
		return
	}
	l.tx.DB = 0
	l.tx.Commit()
	l.tx.Done()
	l.tx, l.bytes = nil, 0
}

// Close makes what was loaded last, and has INFO tell of all.
func (l *Loader) Close() {
	l.commit()
	l.core.saves.mu.Lock()
	l.core.saves.loaded = l.LoadFigures
	l.core.saves.mu.Unlock()
}

// Function implements SnapshotTarget.
func (l *Loader) Function(code []byte) error {
	l.commit()
	now := l.core.functionSet()
	lib, err := l.core.newLibrary(string(code), l.Merge, now)
	if err != nil {
		return err
	}
	set, err := now.with(l.Merge, lib)
	if err != nil {
		return err
	}
	if err := l.begin(); err != nil {
		return err
	}
	l.core.changeFunctions(l.tx, set)
	l.commit()
	return nil
}

// Note implements SnapshotTarget.
func (l *Loader) Note(note []byte) error {
	l.note = bytes.Clone(note)
	return nil
}

// record makes a key the memory record that the note in front of it says.
func (l *Loader) record(db int, key, note []byte, deadlineMs int64) error {
	l.commit()
	if err := l.ready(); err != nil {
		return err
	}
	if l.set == nil {
		l.set = memSetGrammar()
	}
	tx := l.core.Engine.Begin()
	defer tx.Done()
	tx.DB = db
	tx.LockKeys([][]byte{key})
	defer tx.Commit()
	if deadlineMs != 0 && deadlineMs <= tx.NowMs() {
		l.Expired++
		return nil
	}
	if tx.Exists(key) && !l.Merge {
		return errTwice
	}
	l.Keys++
	return restoreRecord(tx, &restoreParams{key: key, idleSeconds: -1, frequency: -1}, l.set, note, deadlineMs)
}

// Key implements SnapshotTarget.
func (l *Loader) Key(db int, key []byte, value *dump.Value, deadlineMs, idleSeconds, frequency int64) error {
	note := l.note
	l.note = nil
	if db >= l.core.Engine.Databases() {
		return fmt.Errorf("it is in database %d, this server has %d (directive databases)", db, l.core.Engine.Databases())
	}
	if value == nil {
		l.Empty++
		name := strconv.Quote(string(key[:min(len(key), loggedKeyBytes)]))
		l.Log("skipping empty key: " + name[1:len(name)-1]) // as Redis does, but on one line
		return nil
	}
	if note != nil {
		return l.record(db, key, note, deadlineMs)
	}
	if err := l.begin(); err != nil {
		return err
	}
	if deadlineMs != 0 && deadlineMs <= l.tx.NowMs() {
		l.Expired++
		return nil
	}
	if size := longest(value); size > int(l.tx.StringMax()) {
		return fmt.Errorf("it has %d bytes in one string, %d are the most (directive proto-max-bulk-len)", size, l.tx.StringMax())
	}
	l.tx.DB = db
	l.tx.Next()
	if l.tx.Exists(key) {
		if !l.Merge {
			return errTwice
		}
		l.tx.Delete(key)
	}
	restoreValue(l.tx, &restoreParams{key: key, idleSeconds: idleSeconds, frequency: frequency}, value, deadlineMs)
	l.Keys++
	if l.bytes += sizeOf(value); l.bytes > loadMaxBytes || l.tx.Effects() > loadMaxEffects {
		l.commit()
	}
	return nil
}

// sizeOf is about how many bytes a value has.
func sizeOf(value *dump.Value) (sizeBytes int) {
	eachString(value, func(text []byte) { sizeBytes += len(text) })
	return sizeBytes
}

// longest is the length of the longest string of a value.
func longest(value *dump.Value) (most int) {
	eachString(value, func(text []byte) { most = max(most, len(text)) })
	return most
}

func eachString(value *dump.Value, visit func(text []byte)) {
	visit(value.Text)
	for _, list := range [][][]byte{value.Pairs, value.Members, value.Elements} {
		for _, text := range list {
			visit(text)
		}
	}
	if value.Stream != nil {
		for i := range value.Stream.Blocks {
			visit(value.Stream.Blocks[i].Bytes)
		}
	}
}
