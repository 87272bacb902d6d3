package commands

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns client side caching: which client may hold which key, and how it
// hears that the key has changed (tracking.c). It must not know the commands that
// turn it on.
//
// What a client read is remembered while its shard is locked, and who changes a key
// tells after the locks are released: so a client hears of every change of what it
// read, and now and then of one that it has seen already.

// endpoint is a session as others address it.
type endpoint struct {
	peer    Peer
	proto   atomic.Int32
	listens atomic.Bool // it is subscribed to something
}

// endpoints are all sessions by the id of their client.
type endpoints struct {
	mu   sync.Mutex
	byID map[int64]*endpoint
}

func (x *endpoints) add(id int64, e *endpoint) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.byID == nil {
		x.byID = map[int64]*endpoint{}
	}
	x.byID[id] = e
}

func (x *endpoints) remove(id int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.byID, id)
}

func (x *endpoints) find(id int64) *endpoint {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.byID[id]
}

// trackingMode is what CLIENT TRACKING turned on.
type trackingMode struct {
	broadcast, optIn, optOut, quiet bool
	redirect                        int64 // 0: none
	prefixes                        []string
}

// tracked is a session that tracks keys.
type tracked struct {
	trackingMode
	id     int64
	end    *endpoint
	bytes  int         // of the prefixes
	broken atomic.Bool // what it redirects to is gone
}

// holder is a client that may hold a key, since the turn at which it read it; last is
// when it read it last. Of changes before, which may come to be told later, it knows.
type holder struct {
	id          int64
	since, last uint64
}

// tracker is the state of all tracking.
//
// Lock order: shards of data, then mu, then what Peer.Push takes.
type tracker struct {
	endpoints endpoints
	clients   atomic.Int64
	most      atomic.Int64 // keys that are remembered, 0 for any number

	mu         sync.Mutex
	all        map[int64]*tracked // by the id of the client
	keys       map[string][]holder
	items      int // of all keys
	broadcasts []*tracked
}

// trackedKeysDefault is Redis's tracking-table-max-keys.
const trackedKeysDefault = 1_000_000

func (t *tracker) open() {
	t.most.Store(trackedKeysDefault)
	t.all, t.keys = map[int64]*tracked{}, map[string][]holder{}
}

// add begins to tell c of changes.
func (t *tracker) add(c *tracked) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all[c.id] = c
	if c.broadcast {
		t.broadcasts = append(t.broadcasts, c)
	}
	t.clients.Store(int64(len(t.all)))
}

// remove ends it. What c read is forgotten as those keys change; if it begins again
// before, it hears of them.
func (t *tracker) remove(c *tracked) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, c.id)
	if i := slices.Index(t.broadcasts, c); i >= 0 {
		t.broadcasts = slices.Delete(t.broadcasts, i, i+1)
	}
	t.clients.Store(int64(len(t.all)))
}

// figures are the numbers of keys, of pairs of a key and a client, and of prefixes.
func (t *tracker) figures() (keys, items, prefixes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	distinct := map[string]struct{}{}
	for _, c := range t.broadcasts {
		for _, prefix := range c.prefixes {
			distinct[prefix] = struct{}{}
		}
	}
	return len(t.keys), t.items, len(distinct)
}

// remember notes that c may hold keys. Their shards are locked.
func (t *tracker) remember(c *tracked, keys [][]byte, turn uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range keys {
		holders := t.keys[string(key)]
		if i := slices.IndexFunc(holders, func(h holder) bool { return h.id == c.id }); i >= 0 {
			holders[i].last = turn
			continue
		}
		t.keys[string(key)] = append(holders, holder{c.id, turn, turn})
		t.items++
	}
	t.trim()
}

// LimitTracked sets how many keys are remembered for clients that track them
// (tracking-table-max-keys), 0 for any number. What is beyond is told as if it had
// changed.
func (k *Core) LimitTracked(most int64) {
	k.tracker.most.Store(most)
	k.tracker.mu.Lock()
	defer k.tracker.mu.Unlock()
	k.tracker.trim()
}

// trim forgets keys beyond the limit.
func (t *tracker) trim() {
	most := t.most.Load()
	for key := range t.keys {
		if most == 0 || int64(len(t.keys)) <= most {
			break
		}
		t.invalidate(key, ^uint64(0), 0, 0)
	}
}

// invalidate tells who may hold key since before it changed, and forgets that.
func (t *tracker) invalidate(key string, turn uint64, by int64, seq uint64) {
	holders := t.keys[key]
	kept := holders[:0]
	for _, h := range holders {
		if h.last >= turn {
			kept = append(kept, holder{h.id, max(h.since, turn), h.last})
		} else {
			t.items--
		}
		if h.since >= turn {
			continue
		}
		if c := t.all[h.id]; c != nil && !c.broadcast && !(c.quiet && h.id == by) {
			t.tell(c, []string{key}, seq)
		}
	}
	if len(kept) == 0 {
		delete(t.keys, key)
	} else {
		t.keys[key] = kept
	}
}

// changed tells of a transaction's changes.
func (t *tracker) changed(x *engine.Changes) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x.Flushed {
		clear(t.keys)
		t.items = 0
		for _, c := range t.all {
			t.tell(c, nil, x.Seq)
		}
		return
	}
	for i, key := range x.Keys {
		t.invalidate(key, x.Turns[i], x.By, x.Seq)
	}
	for _, c := range t.broadcasts {
		if c.quiet && c.id == x.By {
			continue
		}
		for _, prefix := range c.prefixes {
			if keys := under(prefix, x.Keys); len(keys) > 0 {
				t.tell(c, keys, x.Seq)
			}
		}
	}
}

// under are the keys that begin with prefix, in order, each once.
func under(prefix string, keys []string) []string {
	var some []string
	for _, key := range keys {
		if strings.HasPrefix(key, prefix) {
			some = append(some, key)
		}
	}
	slices.Sort(some)
	return slices.Compact(some)
}

// tell sends c, or what it redirects to, the keys that have changed; nil stands for
// all keys.
func (t *tracker) tell(c *tracked, keys []string, seq uint64) {
	var w reply.Writer
	to := c.end
	if c.redirect != 0 {
		if to = t.endpoints.find(c.redirect); to == nil {
			c.broken.Store(true)
			if c.end.proto.Load() == 3 {
				w.SetProto(3)
				w.Push(2)
				w.BulkString("tracking-redir-broken")
				w.Int(c.redirect)
				c.end.peer.Push(w.Bytes(), seq)
			}
			return
		}
	}
	switch {
	case to.proto.Load() == 3:
		w.SetProto(3)
		w.Push(2)
		w.BulkString("invalidate")
	case c.redirect != 0 && to.listens.Load():
		w.Push(3)
		w.BulkString("message")
		w.BulkString("__redis__:invalidate")
	default:
		return // a client of RESP2 hears only through another one
	}
	if keys == nil {
		w.Null()
	} else {
		w.Array(len(keys))
		for _, key := range keys {
			w.BulkString(key)
		}
	}
	to.peer.Push(w.Bytes(), seq)
}

// noteRead remembers what a command of the session read, if the session tracks that.
// The command's locks are held.
func (s *Session) noteRead(c *Command, args [][]byte) {
	t := s.tracking
	if t == nil || !c.is(ReadOnly) || t.broadcast || t.optIn && !s.caching || t.optOut && s.caching {
		return
	}
	keys := [][]byte(nil)
	if s.script != nil {
		keys = s.script.declared // whatever it reads (server.c call)
	} else if at := c.grammar.LoneKey(args); at >= 0 {
		keys = args[at : at+1]
	} else {
		keys, _ = keysOf(c.grammar, args)
	}
	if len(keys) > 0 {
		s.Core.tracker.remember(t, keys, s.Core.Engine.Turn())
	}
}

// endCaching ends what CLIENT CACHING said once the command after it has run, or,
// inside MULTI, the transaction.
// The other commands of CLIENT do not count (networking.c resetClient).
func (s *Session) endCaching(c *Command) {
	if s.caching && !s.multi.open && c != nil && c.Parent != s.cachingOf {
		s.caching = false
	}
}

// endTracking ends what CLIENT TRACKING began.
func (s *Session) endTracking() {
	if s.tracking != nil {
		s.Core.tracker.remove(s.tracking)
		s.tracking, s.caching = nil, false
	}
}

// Tracking is what others are shown of the session's tracking; redirect is -1 while
// there is none.
func (s *Session) Tracking() (on, broadcast, broken bool, redirect int64) {
	if s.tracking == nil {
		return false, false, false, -1
	}
	return true, s.tracking.broadcast, s.tracking.broken.Load(), s.tracking.redirect
}
