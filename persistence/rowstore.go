package persistence

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// This file owns Pebble: its options, its life, its failure. It must not know
// what the rows mean.

const (
	// rowFormat is Pebble's format on the disk; a later one is a later version
	// of the store.
	rowFormat = pebble.FormatTableFormatV6
	// blockBytes is the unit of reading rows.
	blockBytes = 16 << 10
	// levelTables is the size of a table in Pebble's levels.
	tableBytes = 16 << 20
)

// rowStore is the rows of the last checkpoint.
type rowStore struct {
	db     *pebble.DB
	cache  *pebble.Cache // db's
	logger Logger
	tables sstable.WriterOptions // but for what tableOptions adds
	// failed is set once Pebble could not write its manifest. It then holds
	// its locks for ever, so nothing that needs them may be called.
	failed atomic.Pointer[error]
	plain  atomic.Bool   // tables are not compressed
	ended  chan struct{} // closed when failed is set
	buf    []byte        // of read
	fs     vfs.FS
	dir    string
	// deleted is told of every table that went.
	deleted chan struct{}
}

// openRows opens the rows in dir, which it makes when it is missing.
func openRows(fs vfs.FS, dir string, readOnly bool, options Options) (*rowStore, error) {
	r := &rowStore{logger: options.Logger, cache: pebble.NewCache(options.CacheBytes), ended: make(chan struct{}), fs: fs, dir: dir, deleted: make(chan struct{}, 1)}
	r.plain.Store(options.Uncompressed)
	fs = rowFS{fs, r}
	defer r.cache.Unref() // db has it
	o := &pebble.Options{
		FS: fs, Cache: r.cache, FormatMajorVersion: rowFormat, ReadOnly: readOnly,
		Logger: &pebbleLog{r},
		// Whoever reads damaged bytes gets an error; others go on.
		EventListener: &pebble.EventListener{DataCorruption: func(info pebble.DataCorruptionInfo) {
			r.logger.Printf("rows: %s", info)
		}, TableDeleted: func(pebble.TableDeleteInfo) {
			select {
			case r.deleted <- struct{}{}:
			default:
			}
		}},
		// Rows come in whole tables, which are durable when they are there.
		DisableWAL: true, MemTableSize: 256 << 10,
		// A table per checkpoint stays as it is until four overlap: rewriting
		// them at each would double what is written.
		L0CompactionThreshold:       8,
		LBaseMaxBytes:               256 << 20,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 1 },
		DisableAutomaticCompactions: options.manualCompactions,
	}
	for i := range o.Levels {
		o.Levels[i].BlockSize = blockBytes
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		o.Levels[i].Compression = r.compression
		o.TargetFileSizes[i] = tableBytes
	}
	o.EnsureDefaults()
	r.tables = o.MakeWriterOptions(0, rowFormat.MaxTableFormat())
	err := r.guarded(func() (err error) {
		r.db, err = pebble.Open(dir, o)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open the rows in %s: %w", dir, err)
	}
	if !readOnly {
		if err := removeOldManifests(fs, dir); err != nil {
			return nil, errors.Join(err, r.close())
		}
	}
	return r, nil
}

// cacheHeapBytes is what the cache takes of Go's heap.
func (r *rowStore) cacheHeapBytes() int64 {
	if !cacheInHeap {
		return 0
	}
	return r.cache.Size()
}

// compression is that of tables which begin now.
func (r *rowStore) compression() *sstable.CompressionProfile {
	if r.plain.Load() {
		return sstable.NoCompression
	}
	return sstable.SnappyCompression
}

// tableOptions are those of a table that begins now.
func (r *rowStore) tableOptions() sstable.WriterOptions {
	options := r.tables
	options.Compression = r.compression()
	return options
}

// removeOldManifests leaves the manifest that Pebble wrote as it opened the rows.
// Pebble would keep the one before for whoever looks into a failure, with borders
// of tables in it that may be keys of records erased since.
func removeOldManifests(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	var manifests []string
	for _, name := range names {
		if strings.HasPrefix(name, "MANIFEST-") {
			manifests = append(manifests, name)
		}
	}
	slices.SortFunc(manifests, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	for _, name := range manifests[:max(0, len(manifests)-1)] {
		// Pebble itself may have removed one meanwhile.
		if err := fs.Remove(fs.PathJoin(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove an old manifest: %w", err)
		}
	}
	return nil
}

func (r *rowStore) close() error {
	if r.failed.Load() != nil {
		return r.failure() // Pebble's locks are held for ever
	}
	return r.guarded(r.db.Close)
}

// guarded runs f, which may change Pebble's manifest.
func (r *rowStore) guarded(f func() error) error {
	if r.failed.Load() != nil {
		return r.failure()
	}
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-r.ended:
		// This goroutine or one that it waits for was ended by fatal.
		return r.failure()
	}
}

func (r *rowStore) failure() error {
	if err := r.failed.Load(); err != nil {
		return fmt.Errorf("%w: %w", ErrRowsFailed, *err)
	}
	return ErrRowsFailed
}

// fatal ends the row store, and the goroutine that found out: Pebble's manifest
// stays locked, so that nothing is ever added to it. The journal goes on.
func (r *rowStore) fatal(err error) {
	if r.failed.CompareAndSwap(nil, &err) {
		close(r.ended)
	}
	r.logger.Printf("rows: %v", err)
	runtime.Goexit()
}

// pebbleLog takes Pebble's messages. Fatalf must not return: Pebble calls it
// when it cannot tell what its manifest says any more.
type pebbleLog struct{ rows *rowStore }

func (l *pebbleLog) Infof(string, ...any) {}

func (l *pebbleLog) Errorf(format string, args ...any) {
	l.rows.logger.Printf("rows: "+format, args...)
}

func (l *pebbleLog) Fatalf(format string, args ...any) {
	l.rows.fatal(fmt.Errorf(format, args...))
}

// state reads which batch the rows stand at.
func (r *rowStore) state() (stateValue, error) {
	row, ok, err := r.read(stateRow())
	if err != nil || !ok {
		return firstState(), err
	}
	s, err := decodeState(row)
	if err != nil {
		return s, fmt.Errorf("state row: %w", err)
	}
	return s, nil
}

// read returns a row's value, valid until the next read.
func (r *rowStore) read(row []byte) (value []byte, ok bool, err error) {
	found, closer, err := r.db.Get(row)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read a row: %w", err)
	}
	r.buf = append(r.buf[:0], found...)
	if err := closer.Close(); err != nil {
		return nil, false, fmt.Errorf("read a row: %w", err)
	}
	return r.buf, true, nil
}

// cursor reads single rows of a span, each behind the one before: where the rows
// lie close to each other, that costs a step and not a search from the top.
type cursor struct {
	it *pebble.Iterator
	// placed says that it was moved, valid that it stands at a row.
	placed, valid bool
}

// cursor begins before the first row of a span. Whoever asks for it closes it.
func (r *rowStore) cursor(s span) (*cursor, error) {
	it, err := r.db.NewIter(&pebble.IterOptions{LowerBound: s.from, UpperBound: s.to})
	if err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	return &cursor{it: it}, nil
}

// read returns a row's value, valid until the next read.
func (c *cursor) read(row []byte) (value []byte, ok bool, err error) {
	if c.valid && bytes.Compare(c.it.Key(), row) < 0 {
		c.valid = c.it.Next()
	}
	if !c.placed || c.valid && bytes.Compare(c.it.Key(), row) < 0 {
		c.placed, c.valid = true, c.it.SeekGE(row)
	}
	if !c.valid {
		err = c.it.Error()
	} else if bytes.Equal(c.it.Key(), row) {
		value, err = c.it.ValueAndErr()
		ok = err == nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read rows: %w", err)
	}
	return value, ok, nil
}

func (c *cursor) close() error {
	if err := c.it.Close(); err != nil {
		return fmt.Errorf("read rows: %w", err)
	}
	return nil
}

// elements visits the elements of a collection in order.
func (r *rowStore) elements(keyspace uint32, collection uint64, visit func(part byte, name, value []byte) error) error {
	return r.scan(elementSpan(keyspace, collection), func(row, value []byte) (bool, error) {
		_, _, part, name, ok := cutElement(row)
		if !ok {
			return false, errRow
		}
		return true, visit(part, name, value)
	})
}

// scan visits the rows of a span in order until visit returns false. What is
// passed is valid during the call.
func (r *rowStore) scan(s span, visit func(row, value []byte) (bool, error)) error {
	return scanRows(r.db, s, false, visit)
}

// scanRows is scan over a database or a snapshot of it, in either direction.
func scanRows(from pebble.Reader, s span, reverse bool, visit func(row, value []byte) (bool, error)) (err error) {
	it, err := from.NewIter(&pebble.IterOptions{LowerBound: s.from, UpperBound: s.to})
	if err != nil {
		return fmt.Errorf("scan rows: %w", err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	step, valid := it.Next, false
	if reverse {
		step = it.Prev
		valid = it.Last()
	} else {
		valid = it.First()
	}
	for ; valid; valid = step() {
		value, err := it.ValueAndErr()
		if err != nil {
			return fmt.Errorf("scan rows: %w", err)
		}
		more, err := visit(it.Key(), value)
		if err != nil {
			return err
		}
		if !more {
			return nil
		}
	}
	return nil
}

// compact writes the rows of spans again, and returns once no file holds what was
// deleted or replaced of them.
func (r *rowStore) compact(spans []span) error {
	return r.guarded(func() error {
		for _, s := range spans {
			if err := r.db.Compact(context.Background(), s.from, s.to, false); err != nil {
				return err
			}
		}
		return r.awaitDeletions()
	})
}

const (
	tableSuffix = ".sst"
	// deletionWait is how long tables that were replaced may be in use: a read of
	// the past has them open.
	deletionWait = 30 * time.Second
	// deletionLook is how often that is looked at when Pebble reports nothing.
	deletionLook = 100 * time.Millisecond
)

// awaitDeletions returns once every table in the directory is one of the rows'.
func (r *rowStore) awaitDeletions() error {
	timeout := time.After(deletionWait)
	for {
		left, err := r.replacedTables()
		if err != nil || len(left) == 0 {
			return err
		}
		select {
		case <-r.deleted:
		case <-time.After(deletionLook):
		case <-timeout:
			return fmt.Errorf("%d tables that were replaced are in use, %s is one", len(left), left[0])
		}
	}
}

// replacedTables are the tables in the directory that no row is in.
func (r *rowStore) replacedTables() (left []string, err error) {
	names, err := r.fs.List(r.dir)
	if err != nil {
		return nil, err
	}
	levels, err := r.db.SSTables()
	if err != nil {
		return nil, err
	}
	live := map[string]bool{}
	for _, level := range levels {
		for _, table := range level {
			live[table.BackingSSTNum.String()+tableSuffix] = true
		}
	}
	for _, name := range names {
		if strings.HasSuffix(name, tableSuffix) && !live[name] {
			left = append(left, name)
		}
	}
	return left, nil
}

// ingest adds tables to the rows, all or none, durably.
func (r *rowStore) ingest(paths []string) error {
	return r.guarded(func() error { return r.db.Ingest(context.Background(), paths) })
}
