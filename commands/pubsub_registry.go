package commands

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"reminis/commands/acl"
	"reminis/commands/reply"
	"reminis/engine/memory"
)

// This file owns who listens to which channel, and how a message reaches them.
// It must not know commands or sockets.

// registry is the subscriptions of all sessions. A message is handed to its
// subscribers under the lock of its channel's part, so that all of them, those
// by pattern too, see the messages of a channel in one order. Publishers of
// other channels and other parts do not meet.
//
// Lock order: parts ascending, then patterns, then what Peer.Push takes. Shards of data
// may be held (EXEC), so nothing here locks data.
type registry struct {
	seed     maphash.Seed
	parts    [registryParts]part
	patterns patterns
	// counts are the channels, patterns and shard channels that have subscribers;
	// without any of the kind, publishing takes no lock.
	counts   [subscriptionKinds]atomic.Int64
	messages sync.Pool
}

// registryParts is how many locks the channels share: far more than threads.
const registryParts = 32

// subscriptionKind is what a subscription names.
type subscriptionKind uint8

const (
	toChannel subscriptionKind = iota
	toPattern
	toShardChannel
	subscriptionKinds
)

// kindWords are the first words of what a subscriber reads.
type kindWords struct{ subscribe, unsubscribe, message string }

func (k subscriptionKind) words() kindWords {
	return [...]kindWords{
		toChannel:      {"subscribe", "unsubscribe", "message"},
		toPattern:      {"psubscribe", "punsubscribe", "pmessage"},
		toShardChannel: {"ssubscribe", "sunsubscribe", "smessage"},
	}[k]
}

// part is the channels and shard channels of one lock, by name.
type part struct {
	mu            sync.Mutex
	channels      map[string]*audience
	shardChannels map[string]*audience
}

// audience is who gets the messages of one name: in order, and found at once.
type audience struct {
	all []*subscriber
	at  map[*subscriber]int
}

// patterns are found by their glob; a message tries all of them.
type patterns struct {
	mu     sync.RWMutex
	byGlob map[string]*pattern
	all    []*pattern
}

type pattern struct {
	glob     []byte
	at       int // its place in patterns.all
	audience audience
}

// subscriber is a session as publishers see it. proto is read with any part
// locked and set with all of them, so that nothing is pushed in the old protocol
// once it is set.
type subscriber struct {
	peer  Peer
	proto int
	// account is who the session is, for who takes back the right to listen.
	account atomic.Pointer[acl.User]
}

func (r *registry) open() {
	r.seed = maphash.MakeSeed()
	for i := range r.parts {
		r.parts[i].channels, r.parts[i].shardChannels = map[string]*audience{}, map[string]*audience{}
	}
	r.patterns.byGlob = map[string]*pattern{}
	r.messages.New = func() any { return new(message) }
}

// partOf is the part that a channel belongs to.
func (r *registry) partOf(channel []byte) *part {
	return &r.parts[maphash.Bytes(r.seed, channel)%registryParts]
}

// of is the channels of a kind. The part is locked.
func (p *part) of(kind subscriptionKind) map[string]*audience {
	if kind == toShardChannel {
		return p.shardChannels
	}
	return p.channels
}

// add makes s hear what is sent to name.
func (r *registry) add(kind subscriptionKind, name []byte, s *subscriber) {
	if kind == toPattern {
		r.addPattern(name, s)
		return
	}
	p := r.partOf(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.of(kind)[string(name)]
	if a == nil {
		a = &audience{}
		p.of(kind)[string(name)] = a
		r.counts[kind].Add(1)
	}
	a.add(s)
}

// remove ends it. Once it has returned, nothing more is pushed to s.
func (r *registry) remove(kind subscriptionKind, name []byte, s *subscriber) {
	if kind == toPattern {
		r.removePattern(name, s)
		return
	}
	p := r.partOf(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.of(kind)[string(name)]; a != nil && a.remove(s) {
		delete(p.of(kind), string(name))
		r.counts[kind].Add(-1)
	}
}

func (r *registry) addPattern(glob []byte, s *subscriber) {
	p := &r.patterns
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.byGlob[string(glob)]
	if known == nil {
		known = &pattern{glob: slices.Clone(glob), at: len(p.all)}
		p.byGlob[string(glob)] = known
		p.all = append(p.all, known)
		r.counts[toPattern].Add(1)
	}
	known.audience.add(s)
}

func (r *registry) removePattern(glob []byte, s *subscriber) {
	p := &r.patterns
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.byGlob[string(glob)]
	if known == nil || !known.audience.remove(s) {
		return
	}
	delete(p.byGlob, string(glob))
	last := len(p.all) - 1
	p.all[known.at] = p.all[last]
	p.all[known.at].at = known.at
	p.all[last] = nil
	p.all = p.all[:last]
	r.counts[toPattern].Add(-1)
}

func (a *audience) add(s *subscriber) {
	if a.at == nil {
		a.at = map[*subscriber]int{}
	}
	a.at[s] = len(a.all)
	a.all = append(a.all, s)
}

// remove says whether nobody is left. The last one takes the place of s.
func (a *audience) remove(s *subscriber) (empty bool) {
	at, ok := a.at[s]
	if !ok {
		return false
	}
	last := len(a.all) - 1
	a.all[at] = a.all[last]
	a.at[a.all[at]] = at
	a.all[last] = nil
	a.all = a.all[:last]
	delete(a.at, s)
	return last == 0
}

// setProto has s addressed in another protocol.
func (r *registry) setProto(s *subscriber, proto int) {
	for i := range r.parts {
		r.parts[i].mu.Lock()
	}
	s.proto = proto
	for i := range r.parts {
		r.parts[i].mu.Unlock()
	}
}

// publish hands a message to everybody who listens to channel, and returns how
// often. It leaves once the journal is durable up to seq.
func (r *registry) publish(kind subscriptionKind, channel, payload []byte, seq uint64) int {
	if r.counts[kind].Load() == 0 && (kind != toChannel || r.counts[toPattern].Load() == 0) {
		return 0
	}
	m := r.messages.Get().(*message)
	defer m.release(&r.messages)
	m.seq = seq
	p := r.partOf(channel)
	p.mu.Lock()
	defer p.mu.Unlock()
	receivers := 0
	if a := p.of(kind)[string(channel)]; a != nil {
		m.compose(kind.words().message, nil, channel, payload)
		receivers += m.send(a)
	}
	if kind == toChannel {
		receivers += r.patterns.publish(m, channel, payload)
	}
	return receivers
}

func (p *patterns) publish(m *message, channel, payload []byte) int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	receivers := 0
	for _, known := range p.all {
		if memory.Match(known.glob, channel, false) {
			m.compose(toPattern.words().message, known.glob, channel, payload)
			receivers += m.send(&known.audience)
		}
	}
	return receivers
}

// subscribers counts those of a channel or shard channel.
func (r *registry) subscribers(kind subscriptionKind, name []byte) int {
	p := r.partOf(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.of(kind)[string(name)]; a != nil {
		return len(a.all)
	}
	return 0
}

// names are the channels or shard channels that have subscribers and that glob
// matches, nil for all of them, in order.
func (r *registry) names(kind subscriptionKind, glob []byte) []string {
	var names []string
	for i := range r.parts {
		p := &r.parts[i]
		p.mu.Lock()
		for name := range p.of(kind) {
			if glob == nil || memory.Match(glob, []byte(name), false) {
				names = append(names, name)
			}
		}
		p.mu.Unlock()
	}
	slices.Sort(names)
	return names
}

// message is one message while it is published. It is encoded once for each
// protocol that a subscriber speaks.
type message struct {
	word                      string
	pattern, channel, payload []byte
	seq                       uint64
	encoded                   [2]reply.Writer // by protocol, from 2
}

// messageKeepBytes is the largest encoding whose memory is kept for the next
// message.
const messageKeepBytes = 64 << 10

// compose begins a message; pattern is nil for one that is not sent by pattern.
func (m *message) compose(word string, pattern, channel, payload []byte) {
	m.word, m.pattern, m.channel, m.payload = word, pattern, channel, payload
	for i := range m.encoded {
		m.encoded[i].Truncate(0)
	}
}

// send pushes the message to everybody of an audience and returns how many they
// are. Its part is locked.
func (m *message) send(to *audience) int {
	for _, s := range to.all {
		s.peer.Push(m.in(s.proto), m.seq)
	}
	return len(to.all)
}

// in is the message in a protocol.
func (m *message) in(proto int) []byte {
	w := &m.encoded[proto-2]
	if w.Mark() > 0 {
		return w.Bytes()
	}
	w.SetProto(proto)
	if m.pattern != nil {
		w.Push(4)
		w.BulkString(m.word)
		w.Bulk(m.pattern)
	} else {
		w.Push(3)
		w.BulkString(m.word)
	}
	w.Bulk(m.channel)
	w.Bulk(m.payload)
	return w.Bytes()
}

// release gives the message back to be composed again.
func (m *message) release(to *sync.Pool) {
	m.pattern, m.channel, m.payload = nil, nil, nil
	for i := range m.encoded {
		if cap(m.encoded[i].Bytes()) > messageKeepBytes {
			m.encoded[i].Reset(nil)
		}
	}
	to.Put(m)
}

// each visits every subscription, with the locks of its name held.
func (r *registry) each(visit func(kind subscriptionKind, name []byte, s *subscriber)) {
	for i := range r.parts {
		p := &r.parts[i]
		p.mu.Lock()
		for _, kind := range []subscriptionKind{toChannel, toShardChannel} {
			for name, a := range p.of(kind) {
				for _, s := range a.all {
					visit(kind, []byte(name), s)
				}
			}
		}
		p.mu.Unlock()
	}
	r.patterns.mu.RLock()
	defer r.patterns.mu.RUnlock()
	for _, p := range r.patterns.all {
		for _, s := range p.audience.all {
			visit(toPattern, p.glob, s)
		}
	}
}
