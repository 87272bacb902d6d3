package engine

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"github.com/tidwall/btree"

	"reminis/engine/effect"
	"reminis/engine/memory"
	"reminis/engine/recall"
)

// This file owns owners of memory records: what each holds, how it is found and
// locked. It must not know what a change means (records.go) nor how the past is
// read (history.go).

// MemoryOptions are the settings of memory records that an engine is made with.
type MemoryOptions struct {
	// Layout says how keys name their owner; fixed when the store is created.
	Layout memory.Layout
	// Secret is the store's secret, from which owners' keys for payload hashes
	// derive.
	Secret [32]byte
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
	mu      sync.Mutex
	gateSeq uint64
	space   uint32
	name    string
	secret  memory.OwnerKey

	records *btree.BTreeG[item]
	index   *recall.Index
	lastDoc uint64

	// The audit chain: its head, the sequence of the last batch that added to
	// it, and its time, which never decreases.
	link    memory.Link
	lastSeq uint64
	lastMs  int64

	// pending are the changes and events that the archive may not have yet, in
	// order; everything up to dropped is in the archive only.
	pending []change
	dropped uint64
	// lost says that changes up to dropped are gone: there is no archive.
	lost bool

	ids memory.Window
}

// change is one change of a record or one event, as history needs it.
type change struct {
	seq        uint64
	timeMs     int64
	kind       effect.Kind
	key        string
	version    uint64
	deadlineMs int64
	value      []byte // encoded record, nil when the change has none
	event      []byte // link and encoded event, nil when there is none
}

// item is a record in its owner's tree: one block without pointers.
//
//	2 key length | 8 deadline, ms | 8 document in the index | 8 sequence | key | encoded record
//
// It is never changed after its batch has its sequence, so copies of the tree
// share it.
type item []byte

const itemHead = 26

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
func (it item) setSeq(seq uint64) { binary.LittleEndian.PutUint64(it[18:], seq) }

func itemLess(a, b item) bool { return string(a.key()) < string(b.key()) }

func newRecords() *btree.BTreeG[item] {
	return btree.NewBTreeGOptions(itemLess, btree.Options{NoLocks: true})
}

// serverSpace is the space of the server's own chain, whose owner has no name.
const serverSpace = ^uint32(0)

// owners is the registry.
type owners struct {
	options MemoryOptions

	mu sync.RWMutex
	// spaceOf maps a database to its owners' space: SWAPDB exchanges numbers,
	// not owners. It changes only with all shards locked.
	spaceOf []uint32
	byName  map[uint32]*btree.Map[string, *Owner]
	// unarchived are the owners with pending changes.
	unarchived map[*Owner]struct{}
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
	o.options = options
	o.spaceOf = make([]uint32, databases)
	o.clear()
}

// clear forgets all owners.
func (o *owners) clear() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for db := range o.spaceOf {
		o.spaceOf[db] = uint32(db)
	}
	o.byName = map[uint32]*btree.Map[string, *Owner]{}
	o.unarchived = map[*Owner]struct{}{}
}

// Spaces takes the mapping of databases to spaces from the store.
func (e *Engine) Spaces(spaceOf []uint32) {
	e.owners.mu.Lock()
	defer e.owners.mu.Unlock()
	copy(e.owners.spaceOf, spaceOf)
}

// Layout says how keys name their owner.
func (e *Engine) Layout() memory.Layout { return e.owners.options.Layout }

func (o *owners) space(db int) uint32 {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.spaceOf[db]
}

// find gives an owner, or nil.
func (o *owners) find(space uint32, name []byte) *Owner {
	o.mu.RLock()
	defer o.mu.RUnlock()
	byName := o.byName[space]
	if byName == nil {
		return nil
	}
	owner, _ := byName.Get(string(name))
	return owner
}

// ensure is find, made when it is missing.
func (o *owners) ensure(space uint32, name []byte) *Owner {
	if owner := o.find(space, name); owner != nil {
		return owner
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	byName := o.byName[space]
	if byName == nil {
		byName = &btree.Map[string, *Owner]{}
		o.byName[space] = byName
	}
	if owner, ok := byName.Get(string(name)); ok {
		return owner
	}
	owner := &Owner{space: space, name: string(name), secret: o.secretOf(space, name), records: newRecords(), index: recall.NewIndex()}
	byName.Set(owner.name, owner)
	return owner
}

// secretOf derives an owner's key for payload hashes from the store's secret.
func (o *owners) secretOf(space uint32, name []byte) (key memory.OwnerKey) {
	mac := hmac.New(sha256.New, o.options.Secret[:])
	mac.Write([]byte("owner\x00"))
	var n [4]byte
	binary.BigEndian.PutUint32(n[:], space)
	mac.Write(n[:])
	mac.Write(name)
	mac.Sum(key[:0])
	return key
}

// under lists the owners of a space whose names begin with prefix, ascending.
func (o *owners) under(space uint32, prefix string) []*Owner {
	o.mu.RLock()
	defer o.mu.RUnlock()
	byName := o.byName[space]
	if byName == nil {
		return nil
	}
	var list []*Owner
	byName.Ascend(prefix, func(name string, owner *Owner) bool {
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

// before is the lock order of owners.
func (o *Owner) before(other *Owner) bool {
	return o.space < other.space || o.space == other.space && o.name < other.name
}

// own locks an owner for the transaction. When only some shards are held, an
// owner that sorts before one already held must have been locked by LockKeys.
func (tx *Tx) own(owner *Owner) {
	for _, held := range tx.owned {
		if held == owner {
			return
		}
	}
	if n := len(tx.owned); n > 0 && tx.held != ^uint64(0) && owner.before(tx.owned[n-1]) {
		panic("engine: owners locked out of order")
	}
	owner.mu.Lock()
	tx.owned = append(tx.owned, owner)
}

// lockOwnersOf locks the owners of those keys that are records, in order.
func (tx *Tx) lockOwnersOf(keys [][]byte) {
	var found []*Owner
	space := tx.e.owners.space(tx.DB)
	for _, key := range keys {
		at := Locate(tx.DB, key)
		ks := tx.e.shards[at.shard].space(tx.DB)
		if ks == nil {
			continue
		}
		if x, ok := ks.keys.Get(at.hash, key); !ok || x.Kind() != kindMemory {
			continue
		}
		name := key[:tx.e.owners.options.Layout.OwnerLen(key)]
		found = append(found, tx.e.owners.ensure(space, name))
	}
	tx.ownAll(found)
}

// ownAll locks owners in order.
func (tx *Tx) ownAll(list []*Owner) {
	for i := 1; i < len(list); i++ {
		for j := i; j > 0 && list[j].before(list[j-1]); j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
	for _, owner := range list {
		tx.own(owner)
	}
}

// owner locks and gives the owner with this name in db, made when missing.
func (tx *Tx) owner(db int, name []byte) *Owner {
	owner := tx.e.owners.ensure(tx.e.owners.space(db), name)
	tx.own(owner)
	return owner
}

// server locks and gives the owner of the server's own chain.
func (tx *Tx) server() *Owner {
	owner := tx.e.owners.ensure(serverSpace, nil)
	tx.own(owner)
	return owner
}
