package commands

import (
	"bufio"
	"bytes"
	"errors"
	"time"

	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns how MIGRATE moves keys. Redis serves nobody meanwhile. Here keys
// are read under their locks, sent without any, and deleted under their locks once
// the target has them, if they are still what was sent; what has changed is sent
// again, over what was sent before. So nobody waits for the network, no change is
// lost, and a key is deleted here only where the target has exactly it. Of keys that
// change faster than they are sent, the last try holds their shards, as Redis holds
// everything.
//
// Rejected: to hold the shards always, for a slow target would stop every client;
// to let only writers of the keys wait, for they may be scripts that name no keys;
// and to ask WATCH what has changed, for what happens in groups of streams is no
// change to it. Reading a value twice costs less than the way of one to the target.

// migrateTries is how often keys are sent while others may change them.
const migrateTries = 3

// movedKey is a key on its way.
type movedKey struct {
	key        []byte
	payload    []byte // what was sent or is to be; nil: nothing is there
	deadlineMs int64
	waiting    bool // it is to be sent
	arrived    bool // the target has what was sent
}

// migration is one MIGRATE.
type migration struct {
	params *migrateParams
	dial   func(host, port string, within time.Duration) (Link, error)
	inside bool // others made the transaction, and hold its locks
	keys   []movedKey
	found  bool // a key was there
	link   Link
	lines  *bufio.Reader
	failed error // why no more is sent
}

// run moves the keys.
func (m *migration) run(tx *engine.Tx) error {
	for try := 1; ; try++ {
		if !m.inside {
			tx.Renew()
			tx.LockKeys(m.params.keys)
		}
		more := m.look(tx)
		if held := m.inside || try > migrateTries; more && held {
			m.send(tx.NowMs())
			m.settle(tx)
			more = false
		}
		if !m.inside {
			tx.Commit()
		}
		if !more {
			return m.failed
		}
		m.send(tx.NowMs())
		if m.params.copy {
			return m.failed
		}
	}
}

// look reads the keys under their locks. Those that arrived as they are now are
// deleted; it says whether others are to be sent.
func (m *migration) look(tx *engine.Tx) (more bool) {
	for i := range m.keys {
		x := &m.keys[i]
		tx.Next()
		payload := dumpKey(tx, x.key)
		deadlineMs, _ := tx.DeadlineMs(x.key)
		m.found = m.found || payload != nil
		same := x.arrived && deadlineMs == x.deadlineMs && bytes.Equal(payload, x.payload)
		switch {
		case same:
			m.end(tx, x)
		case m.failed == nil && (payload != nil || x.arrived):
			x.payload, x.deadlineMs, x.waiting = payload, deadlineMs, true
			more = true
		}
	}
	return more
}

// settle deletes what has arrived; nothing has changed since it was read.
func (m *migration) settle(tx *engine.Tx) {
	for i := range m.keys {
		if x := &m.keys[i]; x.arrived {
			tx.Next()
			m.end(tx, x)
		}
	}
}

// end deletes a key that the target has.
func (m *migration) end(tx *engine.Tx, x *movedKey) {
	x.arrived = false
	if !m.params.copy {
		deleteKey(tx, x.key)
	}
}

// send sends what is waiting and notes what has arrived, or why not.
func (m *migration) send(nowMs int64) {
	var request reply.Writer
	handshake := 0
	if m.link == nil {
		if m.failed = m.connect(); m.failed != nil {
			return
		}
		handshake = m.params.greet(&request)
	}
	for i := range m.keys {
		if x := &m.keys[i]; x.waiting {
			x.ask(&request, m.params.replace, nowMs)
		}
	}
	if _, err := m.link.Write(request.Bytes()); err != nil {
		m.failed = errMigrateWrite
		return
	}
	m.hear(handshake)
}

func (m *migration) connect() error {
	if m.dial == nil {
		return errMigrateConnect
	}
	link, err := m.dial(string(m.params.host), string(m.params.port), m.params.within())
	switch {
	case errors.Is(err, ErrRefused):
		// Redis hears of it when it writes.
		return errMigrateWrite
	case err != nil:
		return errMigrateConnect
	}
	m.link = link
	m.lines = bufio.NewReader(m.link)
	return nil
}

func (m *migration) close() {
	if m.link != nil {
		_ = m.link.Close() // what mattered was answered
	}
}

// greet writes what comes before the keys and says how many answers that has.
func (p *migrateParams) greet(w *reply.Writer) int {
	if p.authenticates {
		words := [][]byte{[]byte("AUTH"), p.password}
		if p.user != nil {
			words = [][]byte{words[0], p.user, p.password}
		}
		writeLine(w, words...)
	}
	w.Array(2)
	w.BulkString("SELECT")
	w.BulkInt(p.db)
	return 1 + int(boolInt(p.authenticates))
}

// ask writes the command that makes the key at the target what it is here.
func (x *movedKey) ask(w *reply.Writer, replace bool, nowMs int64) {
	if x.payload == nil {
		writeLine(w, []byte("DEL"), x.key)
		return
	}
	replace = replace || x.arrived
	w.Array(4 + int(boolInt(replace)))
	w.BulkString("RESTORE")
	w.Bulk(x.key)
	if x.deadlineMs == 0 {
		w.BulkInt(0)
	} else {
		w.BulkInt(max(1, x.deadlineMs-nowMs))
	}
	w.Bulk(x.payload)
	if replace {
		w.BulkString("REPLACE")
	}
}

func writeLine(w *reply.Writer, words ...[]byte) {
	w.Array(len(words))
	for _, word := range words {
		w.Bulk(word)
	}
}

// hear reads the target's answers. An error before the keys' stands for all of
// theirs; of several the first is told.
func (m *migration) hear(handshake int) {
	refused := false
	for range handshake {
		line, err := m.lines.ReadSlice('\n')
		if err != nil {
			m.failed = errMigrateRead
			return
		}
		if line[0] == '-' && !refused {
			refused, m.failed = true, errTarget(targetError(line))
		}
	}
	for i := range m.keys {
		x := &m.keys[i]
		if !x.waiting {
			continue
		}
		line, err := m.lines.ReadSlice('\n')
		if err != nil {
			if m.failed == nil {
				m.failed = errMigrateRead
			}
			return
		}
		x.waiting, x.arrived = false, line[0] != '-' && !refused
		if line[0] == '-' && m.failed == nil {
			m.failed = errTarget(targetError(line))
		}
	}
}

// targetError is an error line as it is told.
func targetError(line []byte) string { return string(bytes.TrimRight(line[1:], "\r\n")) }
