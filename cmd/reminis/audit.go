package main

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"reminis/commands"
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
	p.engine.OnAudit(func(db int, owner string, seq uint64, event []byte) {
		file.Add(server.AuditEntry{Database: db, Owner: owner, Seq: seq, Event: event})
	})
}

// recordHost is what INFO tells of this.
func (p *process) recordHost() (h commands.RecordHost) {
	if p.auditFile != nil {
		h.AuditFileDropped, h.AuditFileErrors = p.auditFile.Dropped(), p.auditFile.Errors()
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
	fields := []memory.Field{
		{Name: "db", Kind: memory.FieldInteger, Integer: int64(e.Database)},
		{Name: "owner", Kind: memory.FieldText, Bytes: []byte(e.Owner)},
	}
	if e.Owner == "" {
		fields[1] = memory.Field{Name: "owner"}
	}
	return memory.AppendJSON(dst, memory.AppendEventFields(fields, e.Seq, &event))
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
