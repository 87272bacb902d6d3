// This file owns the file that audit events are copied to, a line each. It must
// not know what an event says: whoever makes it says how one is written.

package server

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// auditQueueMax bounds the events that wait to be written.
	auditQueueMax = 1 << 16
	// auditWriteBytes is about how much one write carries.
	auditWriteBytes = 64 << 10
	// auditCloseTime is how long Close waits for a file that takes no more.
	auditCloseTime = 5 * time.Second
)

// AuditEntry is an event as the engine committed it. Event never changes.
type AuditEntry struct {
	Database int    // of its owner
	Space    uint32 // which the owner keeps in whatever database it is
	Owner    string
	Seq      uint64
	Event    []byte
}

// AuditFile appends events to a file in the background. A file that is slow, full
// or gone costs lines, which are counted, and nothing else; it is opened again
// once another file, or none, has its name.
type AuditFile struct {
	path   string
	render func(dst []byte, e *AuditEntry) []byte
	log    *slog.Logger
	queue  chan AuditEntry
	erase  chan chan struct{}
	reopen atomic.Bool
	stop   chan struct{}
	ended  chan struct{}
	once   sync.Once

	dropped, errors atomic.Int64

	// owed are the erasures that the file still lacks.
	owedMu sync.Mutex
	owed   []AuditCut

	// The writer's.
	file    *os.File
	torn    bool // the file ends within a line
	failing bool // the last write failed, which is logged once
}

// NewAuditFile begins to write to path. render appends the line of an event,
// without its end.
func NewAuditFile(path string, log *slog.Logger, render func(dst []byte, e *AuditEntry) []byte) *AuditFile {
	f := &AuditFile{path: path, render: render, log: log, queue: make(chan AuditEntry, auditQueueMax),
		erase: make(chan chan struct{}), stop: make(chan struct{}), ended: make(chan struct{})}
	go f.run()
	return f
}

// Add queues an event. It never waits.
func (f *AuditFile) Add(e AuditEntry) {
	select {
	case f.queue <- e:
	default:
		f.dropped.Add(1)
	}
}

// Dropped is how many events have no line, Errors how often the file failed.
func (f *AuditFile) Dropped() int64 { return f.dropped.Load() }

// Errors is how often the file could not be opened or written.
func (f *AuditFile) Errors() int64 { return f.errors.Load() }

// Reopen has the file opened again before the next line.
func (f *AuditFile) Reopen() { f.reopen.Store(true) }

// Close writes what waits, but does not wait long for a file that takes nothing.
func (f *AuditFile) Close() {
	f.once.Do(func() { close(f.stop) })
	timer := time.NewTimer(auditCloseTime)
	defer timer.Stop()
	select {
	case <-f.ended:
	case <-timer.C:
		f.log.Warn("the audit file takes no more", "path", f.path, "lost", len(f.queue))
	}
}

func (f *AuditFile) run() {
	defer close(f.ended)
	var lines []byte
	for {
		select {
		case e := <-f.queue:
			lines = f.gather(lines[:0], e)
			f.write(lines)
		case done := <-f.erase:
			lines = f.drain(lines)
			f.cutOwed()
			close(done)
		case <-f.stop:
			f.drain(lines)
			f.closeFile()
			return
		}
	}
}

// drain writes what waits.
func (f *AuditFile) drain(lines []byte) []byte {
	for len(f.queue) > 0 {
		lines = f.gather(lines[:0], <-f.queue)
		f.write(lines)
	}
	return lines
}

// gather renders an event, and those that wait behind it, up to about a write.
func (f *AuditFile) gather(lines []byte, e AuditEntry) []byte {
	for {
		lines = append(f.render(lines, &e), '\n')
		if len(lines) >= auditWriteBytes {
			return lines
		}
		select {
		case e = <-f.queue:
		default:
			return lines
		}
	}
}

// write appends lines, or counts those of which not all could be written.
func (f *AuditFile) write(lines []byte) {
	err := f.open()
	written := 0
	if err == nil && f.torn {
		// A line that was cut short must not spoil the next.
		_, err = f.file.Write([]byte{'\n'})
		f.torn = err != nil
	}
	if err == nil {
		written, err = f.file.Write(lines)
		f.torn = written > 0 && lines[written-1] != '\n'
	}
	if err == nil {
		f.failing = false
		return
	}
	f.dropped.Add(int64(bytes.Count(lines[written:], []byte{'\n'})))
	f.fail("writing the audit file", err)
}

// fail counts a failure, and logs the first of a row.
func (f *AuditFile) fail(what string, err error) {
	f.errors.Add(1)
	if !f.failing {
		f.failing = true
		f.log.Warn(what, "path", f.path, "error", err)
	}
}

// open makes f.file the file that has the path now.
func (f *AuditFile) open() error {
	if f.file != nil && !f.reopen.Swap(false) {
		now, err := os.Stat(f.path)
		if err == nil {
			var own os.FileInfo
			if own, err = f.file.Stat(); err == nil && os.SameFile(now, own) {
				return nil
			}
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	f.closeFile()
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	f.file, f.torn = file, false
	return nil
}

func (f *AuditFile) closeFile() {
	if f.file == nil {
		return
	}
	if err := f.file.Close(); err != nil {
		f.errors.Add(1)
	}
	f.file = nil
}
