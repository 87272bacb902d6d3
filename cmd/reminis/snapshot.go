package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"reminis/commands"
	"reminis/persistence"
	"reminis/persistence/rdb"
	"reminis/server"
)

// This file owns the joint between snapshots in Redis's format and the sessions, and
// what a start takes over from one.

// snapshotFile is the file that SAVE writes.
type snapshotFile struct{ settings func() *server.Settings }

// Write implements commands.Snapshots.
func (f snapshotFile) Write(fill func(w commands.SnapshotWriter) error) error {
	s := f.settings()
	options := rdb.Options{Plain: !s.Compressed, Unsummed: !s.SnapshotSum}
	return persistence.WriteRDB(persistence.Disk(), s.Dir, s.DBFileName, options, func(w *rdb.Writer) error {
		// A Redis logs these, and redis-check-rdb shows them.
		for _, field := range [][2]string{
			{"redis-ver", "7.0.15"}, {"redis-bits", strconv.Itoa(strconv.IntSize)},
			{"ctime", strconv.FormatInt(time.Now().Unix(), 10)}, {"aof-base", "0"}, {"reminis-ver", version},
		} {
			if err := w.Aux(field[0], field[1]); err != nil {
				return err
			}
		}
		return fill(w)
	})
}

// Read implements commands.Snapshots.
func (f snapshotFile) Read(into commands.SnapshotTarget) error {
	s := f.settings()
	return persistence.ReadRDB(filepath.Join(s.Dir, s.DBFileName), into, nil)
}

// source is what a start takes the data from: the store, unless it is to be filled.
type source struct {
	importing bool   // a store is to be filled
	snapshot  string // of the snapshot; empty: there is none
}

// findSource says where the data is. It refuses what would look like data loss.
func findSource(settings *server.Settings) (from source, err error) {
	in := func(name string) string { return filepath.Join(settings.Dir, name) }
	snapshot := ""
	if settings.DBFileName != "" && !settings.IgnoreRedisFiles && exists(in(settings.DBFileName)) {
		snapshot = in(settings.DBFileName)
	}
	if settings.Durability == server.DurabilityNone {
		return source{snapshot: snapshot}, nil
	}
	begun, err := persistence.Importing(persistence.Disk(), settings.Dir)
	switch {
	case err != nil:
		return from, err
	case begun && snapshot == "" && !settings.IgnoreRedisFiles:
		return from, fmt.Errorf("%s was being imported into %s when the server ended, and is gone: put it back, or start with --ignore-redis-files yes to begin with an empty store",
			settings.DBFileName, settings.Dir)
	case begun:
		return source{importing: true, snapshot: snapshot}, nil
	case exists(in("FORMAT")) || settings.IgnoreRedisFiles:
		return from, nil
	}
	for _, name := range []string{settings.AppendDirName, settings.AppendFileName} {
		if name != "" && exists(in(name)) {
			return from, fmt.Errorf("%s holds the log of a Redis (%s), which cannot be imported, and no data of this server: start with --ignore-redis-files yes to begin with an empty store beside it, or have that Redis write %s (SAVE) and move the log away to begin with that",
				settings.Dir, name, settings.DBFileName)
		}
	}
	return source{importing: snapshot != "", snapshot: snapshot}, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// loadError ends a start. Its words are those that Redis's operators look for.
type loadError struct{ error }

func (e *loadError) Error() string { return "Fatal error loading the DB: " + e.error.Error() }

func (e *loadError) Unwrap() error { return e.error }

// takeOver loads the snapshot, if the start is from one.
func (p *process) takeOver() error {
	from := p.from
	if from.snapshot != "" {
		started := time.Now()
		loader := p.core.NewLoader()
		loader.Log = func(text string) { p.log.Info(text) }
		err := persistence.ReadRDB(from.snapshot, loader, p.loading.readSnapshot)
		loader.Close()
		if errors.Is(err, errStopped) {
			return err
		}
		if err != nil {
			return &loadError{err}
		}
		p.log.Info(fmt.Sprintf("Done loading RDB, keys loaded: %d, keys expired: %d, empty keys skipped: %d.", loader.Keys, loader.Expired, loader.Empty),
			"file", from.snapshot, "took", time.Since(started).Round(time.Millisecond))
	}
	if from.importing {
		return p.store.EndImport()
	}
	return nil
}

// closeStore is for a start that fails.
func (p *process) closeStore() error {
	if p.store == nil {
		return nil
	}
	return errors.Join(p.keys.Close(), p.store.Close())
}
