package main

import (
	"errors"
	"fmt"
	"log/slog"

	"reminis/commands"
	"reminis/engine"
	"reminis/persistence"
	"reminis/server"
)

// This file owns the joint between the store, the engine and the sessions.

// journal is the store as the engine and the sessions see it: its errors become
// those that a client reads.
type journal struct {
	*persistence.Store
	keys *persistence.Keyring
}

func (j journal) Ready() error {
	err := j.Store.Ready()
	if err == nil {
		err = j.keys.Ready()
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, persistence.ErrLagging):
		return engine.ErrLagging
	}
	return engine.ErrJournal(err)
}

// openStore opens the store that the settings ask for; nil is a pure cache.
func openStore(settings *server.Settings, importing bool, log *slog.Logger) (*persistence.Store, error) {
	if settings.Durability == server.DurabilityNone {
		return nil, nil
	}
	store, err := persistence.Open(persistence.Disk(), settings.Dir, persistence.Options{
		Durability:    durabilityOf(settings.Durability),
		CommandKeepMs: settings.MemIdempotencyMs,
		Uncompressed:  !settings.Compressed,
		Importing:     importing,
		Logger:        printer{log},
	})
	if err != nil {
		return nil, fmt.Errorf("opening the store in %s: %w", settings.Dir, err)
	}
	return store, nil
}

func durabilityOf(d server.Durability) persistence.Durability {
	switch d {
	case server.DurabilityAlways:
		return persistence.Always
	case server.DurabilityNo:
		return persistence.Never
	}
	return persistence.Everysec
}

// printer is a log that takes lines.
type printer struct{ log *slog.Logger }

func (p printer) Printf(format string, args ...any) { p.log.Info(fmt.Sprintf(format, args...)) }

// storeHost is the store as commands see it.
type storeHost struct {
	store      *persistence.Store
	engine     *engine.Engine
	durability func() string
}

// Reload implements commands.Store.
func (h storeHost) Reload() error {
	return h.engine.Reload(h.store.Checkpoint, func(into *engine.Reloader) error { return h.store.Recover(into) })
}

// Backup implements commands.Store.
func (h storeHost) Backup(dir string) error { return h.store.Backup(dir) }

// Figures implements commands.Store.
func (h storeHost) Figures() commands.StoreFigures {
	s := h.store.Stats()
	return commands.StoreFigures{
		Durability:  h.durability(),
		AppendedSeq: s.AppendedSeq, DurableSeq: s.DurableSeq, CheckpointSeq: s.CheckpointSeq,
		Checkpoints: s.Checkpoints, CheckpointTimeMs: s.CheckpointTimeMs, CheckpointTookMs: s.CheckpointTookMs,
		PendingBytes: s.PendingBytes, JournalBytes: s.JournalBytes, RowBytes: s.RowBytes,
		Segments: s.SegmentCount, Syncs: s.Syncs,
		Failed: s.Failed, LastError: s.LastError,
	}
}
