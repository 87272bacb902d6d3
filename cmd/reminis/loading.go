package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// This file owns the time between listening and answering: the data is read, sessions
// are told to wait, and the process may be told to end.

// loading is the reading of the data.
type loading struct {
	stopped atomic.Bool
	// hold is called between pieces; nil but in tests.
	hold func()
	// snapshotBytes are those of a snapshot, snapshotRead what was read of them.
	snapshotBytes, snapshotRead atomic.Int64
}

// errStopped ends the reading when the process is to end.
var errStopped = errors.New("the process ends")

// next comes between pieces.
func (l *loading) next() error {
	if l.hold != nil {
		l.hold()
	}
	if l.stopped.Load() {
		return errStopped
	}
	return nil
}

// load reads the data; commands are still refused when it returns. stopped says that
// the process is to end before all is read.
func (p *process) load() (stopped bool, err error) {
	began := time.Now()
	ended := make(chan error, 1)
	go func() { ended <- p.restore() }()
	select {
	case err = <-ended:
	case s := <-p.signals:
		p.log.Warn("Received shutdown signal during loading, exiting now.", "signal", s.String())
		stopped = true
	case <-p.stop:
		p.log.Warn("User requested shutdown...")
		stopped = true
	}
	if stopped {
		p.loading.stopped.Store(true)
		err = <-ended
	}
	if errors.Is(err, errStopped) {
		err = nil
	}
	if err != nil || stopped {
		return stopped, err
	}
	debug.FreeOSMemory()
	keys, records := p.engine.Loaded()
	settings := p.config.Settings()
	p.log.Info("data loaded", "dir", settings.Dir, "durability", settings.Durability.String(),
		"mem_durability", settings.MemDurability.String(), "keys", keys, "records", records, "took", time.Since(began).Round(time.Millisecond))
	return false, nil
}

// restore brings back what was kept, wherever that is.
func (p *process) restore() error {
	if p.store != nil {
		if err := p.recover(); err != nil {
			return fmt.Errorf("recovering %s: %w", p.config.Settings().Dir, err)
		}
	}
	return p.takeOver()
}

// progress says how much of the files there is to read, and was read.
func (p *process) progress() (loadedBytes, totalBytes int64) {
	if p.store != nil {
		loadedBytes, totalBytes = p.store.Recovered()
	}
	return loadedBytes + p.loading.snapshotRead.Load(), totalBytes + p.loading.snapshotBytes.Load()
}

// measure has the size of the snapshot among what there is to read.
func (l *loading) measure(path string) error {
	info, err := os.Stat(path)
	if err == nil {
		l.snapshotBytes.Store(info.Size())
	}
	return err
}

// readSnapshot notes that so much of the snapshot was read.
func (l *loading) readSnapshot(bytes int) error {
	l.snapshotRead.Store(int64(bytes))
	return l.next()
}

// halt closes the server of a start that fails.
func (p *process) halt() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.server.Stop(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
