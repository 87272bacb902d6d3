package engine

import (
	"encoding/binary"
	"sync"
	"sync/atomic"

	"github.com/tidwall/btree"

	"reminis/engine/memory"
	"reminis/engine/recall"
	"reminis/engine/table"
	"reminis/engine/vector"
)

// This file owns owners of memory records: what each holds, how it is found and
// locked. It must not know what a change means (records.go) nor how the past is
// read (history.go).

// MemoryOptions are the settings of memory records that an engine is made with.
type MemoryOptions struct {
	// Layout says how keys name their owner; fixed when the store is created.
	Layout memory.Layout
	// Keys is where owners have their keys from; default: memory.
	Keys Keyring
	// IdempotencyMax bounds the command ids kept per owner, and
	// IdempotencyWindowMs how long; defaults 1,000,000 and a day.
	IdempotencyMax      int
	IdempotencyWindowMs int64
	// PendingMax bounds the changes that an owner keeps in memory when there is
	// no archive; the oldest go. Default 20,000.
	PendingMax int
}

// Owner is one user of one product: the unit of isolation. Its lock is taken
// after shards' locks, ascending by space and name.
type Owner struct {
	// What a look-up of a record needs comes first: with many owners, what it costs
	// is the lines of memory that it touches.

	mu sync.Mutex
	// holder is the transaction that holds mu, if one does: it may own a hundred
	// thousand owners, and asks for each again.
	holder  atomic.Pointer[Tx]
	gateSeq uint64
	// consent is the facet of that name.
	consent memory.Consent
	sketch  bool // a copy that a draft changes
	uses    Uses

	space uint32
	name  string
	// docs are the records and items by their number in the index. A list itself is
	// in the index only when it has an anchor.
	docs btree.Map[uint64, item]
	// records are those that stand, by key; items are those of lists.
	records, items itemTree

	// key is the owner's own, under its number in the keyring; number 0: none
	// yet. keyKept says that the number is among the facets, destroyed that the
	// keyring does not have the key any more.
	key       memory.OwnerKey
	keyNumber uint64
	keyKept   bool
	destroyed bool
	cipher    atomic.Pointer[memory.Cipher]

	index   *recall.Index
	vectors *vector.Index // nil until a record has one
	columns *columnPlace
	// embedded are the documents in vectors that came without one; nil: none.
	embedded map[uint64]struct{}
	// keptVectors counts the facets that are vectors; unplaced are those of a recovery
	// whose records have not got them yet.
	keptVectors int
	unplaced    map[string][]byte
	lastDoc     uint64
	// lastList is the highest number that a list was given since the start.
	lastList uint64
	// Documents with numbers above indexedDoc are not in the index yet: waiting
	// counts those that are to be, by waitRules (indexer.go). unbuilt counts the
	// vectors that came since the indexer was here, and queued says that it will be.
	indexedDoc uint64
	waiting    int
	waitRules  *Rules
	unbuilt    int
	queued     bool
	// restored counts the documents that came from the store's rows.
	restored uint64
	// pinned are the records that are pinned, by number.
	pinned btree.Map[uint64, item]
	// profile are the records of that kind, by key.
	profile itemTree
	// untidy says that trees changed since they were tidied.
	untidy bool
	// tally counts the records.
	tally recordTally
	// sizeBytes is about what the records take but for the index, and everywhere what
	// those of all owners do; nil in a copy.
	sizeBytes  int64
	everywhere *atomic.Int64
	sessions   sessionIndex
	facets     facetMap

	// The audit chain: its head, the sequence of the last batch that added to
	// it, and its time, which never decreases.
	link    memory.Link
	lastSeq uint64
	lastMs  int64

	// pending are the changes and events that the archive may not have yet, in
	// order of their batches; those of a batch that has no sequence yet are last.
	pending []change
	// lost says that earlier changes are gone, because there is no archive;
	// forgotten is the part of the chain that went with them.
	lost      bool
	forgotten memory.ChainState

	ids memory.Window

	// erased is what the archive may still have though it was erased, erasing
	// what the batch erases that has no sequence yet.
	erased  erasures
	erasing []string
}

// item is a record in its owner's tree: one block without pointers.
//
//	2 key length | 8 deadline, ms | 8 document in the index | 8 sequence | 1 flags | key | encoded record
//
// It is never changed after its batch has its sequence, so copies of the tree
// share it.
type item []byte

const (
	itemHead  = 27
	itemFlags = itemHead - 1

	flagValidity = 1 << 0 // it is valid for a time only
	flagList     = 1 << 1 // it is a list, whose items are apart
	flagPart     = 1 << 2 // it is an item of a list
	flagSilent   = 1 << 3 // it is not found by text: a list without an anchor
	kindShift    = 4      // above the flags: its kind
)

func newItem(key []byte, deadlineMs int64, doc uint64, record []byte) item {
	it := make(item, itemHead, itemHead+len(key)+len(record))
	binary.LittleEndian.PutUint16(it, uint16(len(key)))
	binary.LittleEndian.PutUint64(it[2:], uint64(deadlineMs))
	binary.LittleEndian.PutUint64(it[10:], doc)
	return append(append(it, key...), record...)
}

func (it item) key() []byte {
	return it[itemHead : itemHead+int(binary.LittleEndian.Uint16(it))]
}
func (it item) record() []byte    { return it[itemHead+int(binary.LittleEndian.Uint16(it)):] }
func (it item) deadlineMs() int64 { return int64(binary.LittleEndian.Uint64(it[2:])) }
func (it item) doc() uint64       { return binary.LittleEndian.Uint64(it[10:]) }
func (it item) seq() uint64       { return binary.LittleEndian.Uint64(it[18:]) }
func (it item) lasting() bool     { return it[itemFlags]&flagValidity == 0 }
func (it item) isList() bool      { return it[itemFlags]&flagList != 0 }
func (it item) isPart() bool      { return it[itemFlags]&flagPart != 0 }
func (it item) isSilent() bool    { return it[itemFlags]&flagSilent != 0 }
func (it item) kind() memory.Kind { return memory.Kind(it[itemFlags] >> kindShift) }
func (it item) setSeq(seq uint64) { binary.LittleEndian.PutUint64(it[18:], seq) }

// perishes says whether the record may not stand though it is there.
func (it item) perishes() bool { return it.deadlineMs() != 0 || !it.lasting() }

// note notes of the record what is asked often.
func (it item) note(r *memory.Record) {
	it[itemFlags] = byte(r.Kind) << kindShift
	if r.ValidFromMs != 0 || r.ValidUntilMs != 0 {
		it[itemFlags] |= flagValidity
	}
	if r.List != 0 {
		it[itemFlags] |= flagList
		if len(r.Anchor) == 0 {
			it[itemFlags] |= flagSilent
		}
	}
}

func itemLess(a, b item) bool { return string(a.key()) < string(b.key()) }

// itemTree is items in the order of their keys. The zero value is empty: most owners
// have no lists, and many no profile. Copies share what they have.
type itemTree struct{ tree *btree.BTreeG[item] }

func (t *itemTree) Set(it item) (replaced item, ok bool) {
	if t.tree == nil {
		t.tree = btree.NewBTreeGOptions(itemLess, btree.Options{NoLocks: true})
	}
	return t.tree.Set(it)
}

func (t itemTree) Delete(key item) (it item, ok bool) {
	if t.tree == nil {
		return nil, false
	}
	return t.tree.Delete(key)
}

func (t itemTree) Get(key item) (it item, ok bool) {
	if t.tree == nil {
		return nil, false
	}
	return t.tree.Get(key)
}

func (t itemTree) Len() int {
	if t.tree == nil {
		return 0
	}
	return t.tree.Len()
}

func (t itemTree) Scan(visit func(it item) bool) {
	if t.tree != nil {
		t.tree.Scan(visit)
	}
}

func (t itemTree) Ascend(from item, visit func(it item) bool) {
	if t.tree != nil {
		t.tree.Ascend(from, visit)
	}
}

func (t itemTree) Copy() itemTree {
	if t.tree == nil {
		return itemTree{}
	}
	return itemTree{t.tree.Copy()}
}

// clear leaves the owner without records. Views keep what they have.
func (o *Owner) clear() {
	o.records, o.items, o.profile = itemTree{}, itemTree{}, itemTree{}
	o.index, o.vectors, o.embedded = recall.NewIndex(), nil, nil
	o.indexedDoc, o.waiting, o.unbuilt = o.lastDoc, 0, 0
	o.columns = &columnPlace{}
	o.docs, o.pinned = btree.Map[uint64, item]{}, btree.Map[uint64, item]{}
	o.tally = recordTally{}
	if o.everywhere != nil {
		o.everywhere.Add(-o.sizeBytes)
		o.sizeBytes = 0
	}
	o.sessions = sessionIndex{lastMs: o.sessions.lastMs}
}

// recordTally is figures of an owner's records, expired ones not yet removed
// included.
type recordTally struct {
	bytes int64 // as items of the tree
	// perishable counts, by kind, the records that may not stand though they are there:
	// those with a deadline or a validity period.
	perishable [memory.Semantic + 1]int
	kinds      [memory.Semantic + 1]int
	// versions is the sum of the records' versions.
	versions uint64
}

// count notes that a record, or an item of one, came (1) or went (-1).
func (t *recordTally) count(it item, by int) {
	if t.bytes += int64(by * len(it)); it.isPart() {
		return
	}
	if it.perishes() {
		t.perishable[it.kind()] += by
	}
	t.kinds[it.kind()] += by
	version, _ := memory.DecodeHead(it.record())
	t.versions += uint64(by) * version
}

// serverSpace is the space of the server's own chain, whose owner has no name.
const serverSpace = ^uint32(0)

// owners is the registry.
type owners struct {
	options MemoryOptions
	ciphers ciphers

	// rules are compiled from the facets of the server (rules.go).
	rules atomic.Pointer[Rules]

	// made counts owners, so that whoever has no records pays nothing for them.
	made atomic.Int64
	// pendingBytes is what pending changes take; archiveAsked says that the archive
	// was asked to take them over.
	pendingBytes atomic.Int64
	recordBytes  heldCount
	archiveAsked atomic.Bool
	// lastSeq is the last batch that changed any owner: later changes of an owner
	// whose lock is held come after it.
	lastSeq atomic.Uint64

	mu sync.RWMutex
	// spaceOf maps a database to its owners' space: SWAPDB exchanges numbers,
	// not owners. It changes only with all shards locked.
	spaceOf []atomic.Uint32
	spaces  map[uint32]*ownerSpace
	// unarchived are the owners with pending changes.
	unarchived map[*Owner]struct{}
}

// ownerSpace is the owners of one space, by name and in order.
type ownerSpace struct {
	byName map[string]*Owner
	sorted btree.Map[string, *Owner]
}

func (o *owners) open(databases int, options MemoryOptions) {
	if options.Layout.OwnerSegments == 0 {
		options.Layout = memory.DefaultLayout()
	}
	if options.IdempotencyMax == 0 {
		options.IdempotencyMax = 1_000_000
	}
	if options.IdempotencyWindowMs == 0 {
		options.IdempotencyWindowMs = 24 * 3600 * 1000
	}
	if options.PendingMax == 0 {
		options.PendingMax = 20_000
	}
	if options.Keys == nil {
		options.Keys = &memoryKeyring{}
	}
	o.options = options
	o.spaceOf = make([]atomic.Uint32, databases)
	o.clear()
}

// clear forgets all owners.
func (o *owners) clear() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for db := range o.spaceOf {
		o.spaceOf[db].Store(uint32(db))
	}
	o.spaces = map[uint32]*ownerSpace{}
	o.unarchived = map[*Owner]struct{}{}
	o.rules.Store(nil)
	o.made.Store(0)
	o.pendingBytes.Store(0)
	o.recordBytes.now.Store(0)
}

// Spaces takes the mapping of databases to spaces from the store.
func (e *Engine) Spaces(spaceOf []uint32) {
	for db := range min(len(spaceOf), len(e.owners.spaceOf)) {
		e.owners.spaceOf[db].Store(spaceOf[db])
	}
}

// Layout says how keys name their owner.
func (e *Engine) Layout() memory.Layout { return e.owners.options.Layout }

// Layout says how keys name their owner.
func (tx *Tx) Layout() memory.Layout { return tx.e.Layout() }

func (o *owners) space(db int) uint32 { return o.spaceOf[db].Load() }

// spaceNamed is the space of the owner with this name in db; without a name the
// server's.
func (o *owners) spaceNamed(db int, name []byte) uint32 {
	if len(name) == 0 {
		return serverSpace
	}
	return o.space(db)
}

// database is the number of the database that a space is now; -1: none.
func (o *owners) database(space uint32) int {
	for db := range o.spaceOf {
		if o.space(db) == space {
			return db
		}
	}
	return -1
}

// find gives an owner, or nil. It does not allocate.
func (o *owners) find(space uint32, name []byte) *Owner {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if in := o.spaces[space]; in != nil {
		return in.byName[string(name)]
	}
	return nil
}

// ensure is find, made when it is missing.
func (o *owners) ensure(space uint32, name []byte) *Owner {
	if owner := o.find(space, name); owner != nil {
		return owner
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	in := o.spaces[space]
	if in == nil {
		in = &ownerSpace{byName: map[string]*Owner{}}
		o.spaces[space] = in
	}
	if owner := in.byName[string(name)]; owner != nil {
		return owner
	}
	owner := &Owner{space: space, name: string(name), everywhere: &o.recordBytes.now}
	owner.clear()
	in.byName[owner.name] = owner
	in.sorted.Set(owner.name, owner)
	o.made.Add(1)
	return owner
}

// under lists the owners of a space whose names begin with prefix, ascending.
func (o *owners) under(space uint32, prefix string) []*Owner {
	o.mu.RLock()
	defer o.mu.RUnlock()
	in := o.spaces[space]
	if in == nil {
		return nil
	}
	var list []*Owner
	in.sorted.Ascend(prefix, func(name string, owner *Owner) bool {
		if len(name) < len(prefix) || name[:len(prefix)] != prefix {
			return false
		}
		list = append(list, owner)
		return true
	})
	return list
}

// note remembers that an owner has changes that the archive does not have.
func (o *owners) note(owner *Owner) {
	o.mu.Lock()
	o.unarchived[owner] = struct{}{}
	o.mu.Unlock()
}

// raise notes a batch that changed an owner.
func (o *owners) raise(seq uint64) {
	for {
		last := o.lastSeq.Load()
		if seq <= last || o.lastSeq.CompareAndSwap(last, seq) {
			return
		}
	}
}

// before is the lock order of owners.
func (o *Owner) before(other *Owner) bool {
	return o.space < other.space || o.space == other.space && o.name < other.name
}

// own locks an owner for the transaction. When only some shards are held, an
// owner that sorts before one already held must have been locked by LockKeys.
func (tx *Tx) own(owner *Owner) {
	if owner.holder.Load() == tx {
		return
	}
	if n := len(tx.owned); n > 0 && tx.held != ^uint64(0) && owner.before(tx.owned[n-1]) {
		panic("engine: owners locked out of order")
	}
	if !tx.take(&owner.mu) {
		return
	}
	owner.holder.Store(tx)
	tx.owned = append(tx.owned, owner)
}

// LockOwner locks the owner with this name, made when missing, for a transaction that
// holds nothing and needs nothing else.
func (tx *Tx) LockOwner(name []byte) { tx.own(tx.e.owners.ensure(tx.e.owners.space(tx.DB), name)) }

// Owns says whether any owner is locked.
func (tx *Tx) Owns() bool { return len(tx.owned) > 0 }

// LockRecords locks the shards of keys, and the owners of those that are
// records in any database. keys[from:] may become records of the transaction's
// database, so their owners are locked in any case.
func (tx *Tx) LockRecords(keys [][]byte, from int) {
	if tx.lockShardsOf(keys); !tx.refused {
		tx.lockOwnersOf(keys, from)
	}
}

func (tx *Tx) lockShardsOf(keys [][]byte) {
	mask := uint64(0)
	for _, key := range keys {
		mask |= 1 << shardOf(key)
	}
	tx.lockMask(mask)
}

// LockPast locks the shards of keys, and the owners that they name, which it
// does not make: for reading the past of all of them at one moment.
func (tx *Tx) LockPast(keys [][]byte) {
	tx.lockShardsOf(keys)
	var found []*Owner
	for _, key := range keys {
		if parsed, err := tx.e.Layout().ParseKey(key); err == nil {
			if owner := tx.e.owners.find(tx.e.owners.space(tx.DB), parsed.Owner()); owner != nil {
				found = append(found, owner)
			}
		}
	}
	tx.ownAll(found)
}

// Locked says whether any shard is locked.
func (tx *Tx) Locked() bool { return tx.held != 0 }

// HoldsAll says whether every shard is locked, so that nothing more may or need
// be: a handler that takes its own locks takes none.
func (tx *Tx) HoldsAll() bool { return tx.held == ^uint64(0) }

func (tx *Tx) lockOwnersOf(keys [][]byte, from int) {
	if from == len(keys) && tx.e.owners.made.Load() == 0 {
		return
	}
	var found []*Owner
	for i, key := range keys {
		if i >= from {
			if parsed, err := tx.e.Layout().ParseKey(key); err == nil {
				found = append(found, tx.e.owners.ensure(tx.e.owners.space(tx.DB), parsed.Owner()))
			}
		}
		for db := range tx.e.nDB {
			if owner := tx.ownerOfEntry(db, key); owner != nil {
				found = append(found, owner)
			}
		}
	}
	tx.ownAll(found)
}

// ownerOfEntry is the owner of the record that key is in db, nil when it is none.
func (tx *Tx) ownerOfEntry(db int, key []byte) *Owner {
	ks := tx.e.shards[shardOf(key)].space(db)
	if ks == nil {
		return nil
	}
	if x, ok := ks.keys.Get(table.Hash(key), key); ok && x.Kind() == kindMemory {
		return ks.records.of(x).owner
	}
	return nil
}

// ownAll locks owners in order.
func (tx *Tx) ownAll(list []*Owner) {
	for i := 1; i < len(list); i++ {
		for j := i; j > 0 && list[j].before(list[j-1]); j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
	for _, owner := range list {
		if tx.own(owner); tx.refused {
			tx.unlock()
			return
		}
	}
}

// owner locks and gives the owner with this name in db, made when missing; in a
// draft, the draft's copy of it.
func (tx *Tx) owner(db int, name []byte) *Owner {
	space := tx.e.owners.space(db)
	owner := tx.lastOwned(space, name)
	if owner == nil {
		owner = tx.e.owners.ensure(space, name)
		tx.own(owner)
	}
	if tx.draft != nil && tx.draft.real == owner {
		return tx.draft.copy
	}
	return owner
}

// lastOwned is the owner that was locked last if it is the one of that name, nil
// otherwise: most transactions have one owner and ask for it a dozen times.
func (tx *Tx) lastOwned(space uint32, name []byte) *Owner {
	if n := len(tx.owned); n > 0 && tx.owned[n-1].space == space && tx.owned[n-1].name == string(name) {
		return tx.owned[n-1]
	}
	return nil
}

// server locks and gives the owner of the server's own chain.
func (tx *Tx) server() *Owner {
	owner := tx.e.owners.ensure(serverSpace, nil)
	tx.own(owner)
	return owner
}
