package engine

import (
	"sync"
	"sync/atomic"

	"reminis/engine/effect"
	"reminis/engine/table"
)

// This file owns the engine's structure: shards, the keyspaces in them, and how
// they come to be. It must not know commands, sockets or files.

// Options say what an engine is built from. The zero value of a field means its
// default.
type Options struct {
	// Databases is how many numbered databases there are; default 16.
	Databases int
	// Journal keeps batches; default: one that numbers and forgets them.
	Journal Journal
	// Archive answers reads of history that has left memory; nil keeps all
	// retained history in memory.
	Archive Archive
	// Eraser removes what was erased from files; nil when there are none.
	Eraser Eraser
	// Clock is the source of time; default the system's.
	Clock Clock
	// GateAll is the initial value of the limit of this name.
	GateAll bool
	// Pool gives the memory of tables; default a new one with huge pages.
	Pool *table.Pool
	// Memory are the settings of memory records.
	Memory MemoryOptions
}

// Engine holds the data of all databases. All methods are safe for concurrent
// use.
type Engine struct {
	Limits  Limits
	clock   Clock
	journal Journal
	archive Archive
	eraser  Eraser
	pool    *table.Pool
	nDB     int

	shards    [shardCount]shard
	owners    owners
	stall     stall
	expiry    expiry
	waits     waits
	evictor   evictor
	changes   changes
	frozen    atomic.Bool
	indexer   indexer
	events    events
	readAudit readAudit
	embedder  Embedder
	onAudit   func(a Audited)
	onPending func()
	onErase   func(x Erasure)
	txs       sync.Pool
	stats     Stats
	trusting  atomic.Bool // see TrustDumps
}

// shard is one mutex and what it guards: one keyspace per database.
type shard struct {
	mu sync.Mutex
	// gateSeq is the last batch of this shard that must be durable before
	// anybody sees it (ordering rule: the reply gate).
	gateSeq uint64
	// far counts the waiters in this shard that may change others.
	far int
	// spaces are atomic for the sake of Prefetch, which reads them unlocked.
	spaces []atomic.Pointer[keyspace]
	_      [64]byte // keeps two shards' locks off one cache line
}

// keyspace is the part of one database that one shard holds.
type keyspace struct {
	keys      *table.Table
	deadlines deadlines
	objects   objects
	records   recordPlaces
	watched   map[string][]watcher
	waiting   waiting
	changes   *changes
	touched   []changedKey // keys that the transaction has changed, if that is to be told
	// recent is the large hash or set that was found last; nil: none was. It is
	// atomic for the sake of Prefetch.
	recent atomic.Pointer[elementTable]
}

// Stats counts what INFO reports of the data. The fields are atomics because
// shards write them independently.
type Stats struct {
	Expired atomic.Int64
	Hits    atomic.Int64
	Misses  atomic.Int64
	Evicted atomic.Int64
	// LazyFreed counts values that clients did not want to wait for the end of.
	LazyFreed atomic.Int64
	DirtySet  atomic.Int64 // effects emitted since start
	Emptied   atomic.Int64 // times that all databases were flushed together
	Records   Uses
	// Destroyed counts the records that a recovery left out because their
	// owner's key is destroyed.
	Destroyed atomic.Int64
}

// Open builds an engine with empty databases.
func Open(o Options) *Engine {
	if o.Databases == 0 {
		o.Databases = 16
	}
	if o.Journal == nil {
		o.Journal = &memoryJournal{}
	}
	if o.Clock == nil {
		o.Clock = SystemClock{}
	}
	if o.Pool == nil {
		o.Pool = table.NewPool(table.Options{HugePages: true})
	}
	e := &Engine{clock: o.Clock, journal: o.Journal, archive: o.Archive, eraser: o.Eraser, pool: o.Pool, nDB: o.Databases}
	e.Limits.reset()
	e.Limits.GateAll.Store(o.GateAll)
	_, unkept := o.Journal.(*memoryJournal)
	e.txs.New = func() any { return &Tx{e: e, batch: effect.Batch{Unkept: unkept}} }
	for i := range e.shards {
		e.shards[i].spaces = make([]atomic.Pointer[keyspace], o.Databases)
	}
	e.owners.open(o.Databases, o.Memory)
	e.evictor.deadlines.eachBytes, e.owners.recordBytes.eachBytes = deadlineBytes, 1
	e.CountHeld(&e.evictor.deadlines, &e.owners.recordBytes, &pendingCount{e: e})
	e.stall.open()
	e.expiry.open()
	e.waits.open()
	e.indexer.open()
	e.readAudit.open()
	return e
}

// Databases is the number of numbered databases.
func (e *Engine) Databases() int { return e.nDB }

// Stats are the engine's counters.
func (e *Engine) Stats() *Stats { return &e.stats }

// Pool is where tables have their memory from.
func (e *Engine) Pool() *table.Pool { return e.pool }

// NowMs reads the engine's clock.
func (e *Engine) NowMs() int64 { return e.clock.NowMs() }

// space is the keyspace of db in shard s, or nil if it was never written. The
// shard's lock is held.
func (s *shard) space(db int) *keyspace { return s.spaces[db].Load() }

// ensure is space, made when it is missing.
func (e *Engine) ensure(s *shard, db int) *keyspace {
	ks := s.spaces[db].Load()
	if ks == nil {
		ks = e.newKeyspace()
		s.spaces[db].Store(ks)
	}
	return ks
}

func (e *Engine) newKeyspace() *keyspace {
	return &keyspace{keys: table.New(e.pool), deadlines: newDeadlines(&e.evictor.deadlines.now), changes: &e.changes}
}

// drop gives a keyspace's memory back. Nobody refers to it any more.
func (ks *keyspace) drop() {
	for _, o := range ks.objects.all {
		if o != nil {
			o.drop()
		}
	}
	ks.keys.Clear()
	ks.deadlines.drop()
}

// Size counts the keys of db and those with a deadline, expired ones not yet
// removed included, as DBSIZE does.
func (e *Engine) Size(db int) (keys, withDeadline int) {
	tx := e.Begin()
	defer tx.Done()
	tx.DB = db
	return tx.size()
}

// Prefetch asks the processor for the memory that a command on the key at a place
// will touch, and, if it is the large hash or set that commands have found last in
// its shard, on element of it (nil: none is known). Phase 0 is the bucket, phase 1 the record, which needs the bucket; a
// batch asks phase 0 for all its keys, then phase 1 for all. A key that was asked for
// just now is known. No lock is held.
func (e *Engine) Prefetch(at Place, known bool, element []byte, phase int) {
	if known && element == nil {
		return
	}
	ks := e.shards[at.shard()].space(at.db())
	if ks == nil {
		return
	}
	if !known {
		prefetch(ks.keys, at.hash, phase)
	}
	if big := ks.recent.Load(); big != nil && big.key.Load() == at.hash && element != nil {
		prefetch(big.table, table.Hash(element), phase)
	}
}

func prefetch(t *table.Table, hash uint64, phase int) {
	if phase == 0 {
		t.PrefetchBucket(hash)
	} else {
		t.PrefetchRecord(hash)
	}
}

// Place is where a key lives: computed once per command and reused by its
// lookups. It has no more fields than the compiler keeps in registers.
type Place struct {
	key  *byte
	len  int
	home uint64 // the database, and in the low bits the shard
	hash uint64
}

// Locate computes the place of key in db.
func Locate(db int, key []byte) Place {
	p := Place{len: len(key), home: uint64(db)*shardCount + uint64(shardOf(key)), hash: table.Hash(key)}
	if len(key) > 0 {
		p.key = &key[0]
	}
	return p
}

func (p Place) db() int    { return int(p.home / shardCount) }
func (p Place) shard() int { return int(p.home % shardCount) }

// In says whether p is in db.
func (p Place) In(db int) bool { return p.db() == db }

// Again is the place of the same key, which is not empty, in another slice.
func (p Place) Again(key []byte) Place {
	p.key = &key[0]
	return p
}

// Is says whether p was computed for this very slice.
func (p Place) Is(db int, key []byte) bool {
	return len(key) > 0 && p.key == &key[0] && p.len == len(key) && p.db() == db
}
