package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"reminis/commands"
	"reminis/engine"
	"reminis/engine/memory"
	"reminis/server"
)

// This file owns the joint between the engine's audit events and the file of
// mem-audit-file.

// openAuditFile begins to copy events to the file, if there is to be one.
func (p *process) openAuditFile() {
	path := p.config.Settings().MemAuditFile
	if path == "" {
		return
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.config.Settings().Dir, path)
	}
	file := server.NewAuditFile(path, p.log.Logger, appendAuditLine)
	p.auditFile = file
	followAudit(p.engine, file)
}

// followAudit copies the engine's events to a file, and erases from it what is
// erased.
func followAudit(e *engine.Engine, file *server.AuditFile) {
	e.OnAudit(func(a engine.Audited) {
		file.Add(server.AuditEntry{Database: a.DB, Space: a.Space, Owner: a.Owner, Seq: a.Seq, Event: a.Event})
	})
	e.OnErase(func(x engine.Erasure) { file.Erase(cutErased(x)) })
}

// cutErased says what an erasure leaves of the lines of events: what MEM.AUDIT shows
// of an event whose body was erased. A line that does not read as one, but names
// the owner, goes.
func cutErased(x engine.Erasure) server.AuditCut {
	name := memory.AppendQuoted(nil, []byte(x.Owner))
	whole := x.Scope.Covers([]byte(x.Owner))
	return func(dst, line []byte) (kept []byte, erased bool) {
		if !bytes.Contains(line, name[:len(name)-1]) {
			return dst, false
		}
		var l struct {
			DB         int             `json:"db"`
			Space      uint32          `json:"space"`
			Owner      json.RawMessage `json:"owner"`
			Seq        uint64          `json:"seq"`
			TimeMs     int64           `json:"time"`
			Op         string          `json:"op"`
			Key        string          `json:"key"`
			Version    uint64          `json:"version"`
			OldVersion uint64          `json:"old_version"`
		}
		if json.Unmarshal(line, &l) != nil {
			return dst, true
		}
		if string(l.Owner) != string(name) || l.Space != x.Space || l.Seq >= x.Before || !whole && !x.Scope.Contains([]byte(l.Key)) {
			return dst, false
		}
		event := memory.Event{TimeMs: l.TimeMs, Version: l.Version, OldVersion: l.OldVersion, Erased: true}
		event.Op, _ = memory.ParseOp([]byte(l.Op))
		return appendAuditFields(dst, l.DB, l.Space, x.Owner, l.Seq, &event), true
	}
}

// recordHost is what INFO tells of this.
func (p *process) recordHost() (h commands.RecordHost) {
	if p.auditFile != nil {
		h.AuditFileDropped, h.AuditFileErrors, h.AuditFileUnerased = p.auditFile.Dropped(), p.auditFile.Errors(), p.auditFile.Unerased()
	}
	if p.embedding != nil {
		h.EmbedWaiting, h.EmbedMissed = int64(p.embedding.queue.Waiting()), int64(p.embedding.queue.Missed())
	}
	return h
}

// appendAuditLine writes an event as one line of JSON: what MEM.AUDIT shows of it,
// behind its database and owner.
func appendAuditLine(dst []byte, e *server.AuditEntry) []byte {
	var event memory.Event
	_, encoded, err := memory.SplitLinked(e.Event)
	if err == nil {
		err = memory.DecodeEvent(encoded, &event)
	}
	if err != nil {
		panic("reminis: an event that was just made does not decode: " + err.Error())
	}
	return appendAuditFields(dst, e.Database, e.Space, e.Owner, e.Seq, &event)
}

func appendAuditFields(dst []byte, db int, space uint32, owner string, seq uint64, event *memory.Event) []byte {
	fields := []memory.Field{
		{Name: "db", Kind: memory.FieldInteger, Integer: int64(db)},
		{Name: "space", Kind: memory.FieldInteger, Integer: int64(space)},
		{Name: "owner", Kind: memory.FieldText, Bytes: []byte(owner)},
	}
	if owner == "" {
		// The server's own chain is of no database.
		fields = []memory.Field{{Name: "db", Kind: memory.FieldInteger}, {Name: "space"}, {Name: "owner"}}
	}
	return memory.AppendJSON(dst, memory.AppendEventFields(fields, seq, event))
}

// followHangup opens the audit file again on SIGHUP, which does nothing else, as
// in Redis; it ends when stop is called.
func (p *process) followHangup() (stop func()) {
	hangups, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-hangups:
				if p.auditFile != nil {
					p.auditFile.Reopen()
				}
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(hangups)
		close(done)
	}
}
