package commands

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"reminis/commands/reply"
	"reminis/commands/reply/redistest"
	"reminis/engine"
	"reminis/engine/memory"
)

// This file owns the tests of pub/sub that a transcript cannot show: the registry
// against a model, orders under concurrency, costs, and conversations with a real
// redis-server.

// listener is a peer that keeps what it is pushed.
type listener struct {
	Peer
	mu     sync.Mutex
	pushed []byte
	gates  []uint64
}

func (l *listener) Push(data []byte, seq uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pushed, l.gates = append(l.pushed, data...), append(l.gates, seq)
}

// TestRegistryAgainstModel: whoever is subscribed when a message is published
// hears it, by each of its subscriptions, and nobody else does.
func TestRegistryAgainstModel(t *testing.T) {
	const seed = 1
	random := rand.New(rand.NewPCG(seed, 0))
	var r registry
	r.open()
	type subscription struct {
		kind subscriptionKind
		name string
		who  int
	}
	model := map[subscription]bool{}
	peers := make([]*listener, 5)
	subscribers := make([]*subscriber, len(peers))
	for i := range peers {
		peers[i] = &listener{}
		subscribers[i] = &subscriber{peer: peers[i], proto: 2 + i%2}
	}
	names := [subscriptionKinds][]string{toChannel: {"a", "b", "ab"}, toPattern: {"*", "a*", "?", "x"}, toShardChannel: {"a", "b"}}
	for step := range 5000 {
		kind := subscriptionKind(random.IntN(int(subscriptionKinds)))
		name := names[kind][random.IntN(len(names[kind]))]
		who := random.IntN(len(peers))
		switch key := (subscription{kind, name, who}); {
		case random.IntN(2) == 0 && !model[key]:
			model[key] = true
			r.add(kind, []byte(name), subscribers[who])
		default:
			delete(model, key)
			r.remove(kind, []byte(name), subscribers[who])
		}
		kind = []subscriptionKind{toChannel, toShardChannel}[random.IntN(2)]
		name = names[kind][random.IntN(len(names[kind]))]
		receivers := r.publish(kind, []byte(name), []byte("m"), uint64(step))
		heard, want, distinct := make([]int, len(peers)), 0, map[subscription]bool{}
		for key := range model {
			distinct[subscription{key.kind, key.name, 0}] = true
			byPattern := kind == toChannel && key.kind == toPattern && memory.Match([]byte(key.name), []byte(name), false)
			if key.kind == kind && key.name == name || byPattern {
				heard[key.who]++
				want++
			}
		}
		if receivers != want {
			t.Fatalf("seed %d, step %d: %d receivers, want %d", seed, step, receivers, want)
		}
		for i, peer := range peers {
			if n := count(t, peer.pushed); n != heard[i] || len(peer.gates) != n || n > 0 && peer.gates[0] != uint64(step) {
				t.Fatalf("seed %d, step %d: peer %d heard %q behind %v, want %d messages", seed, step, i, peer.pushed, peer.gates, heard[i])
			}
			peer.pushed, peer.gates = nil, nil
		}
		counted := r.counts[toChannel].Load() + r.counts[toPattern].Load() + r.counts[toShardChannel].Load()
		if counted != int64(len(distinct)) {
			t.Fatalf("seed %d, step %d: %d names, want %d", seed, step, counted, len(distinct))
		}
	}
}

// TestPublishOrder: all subscribers of a channel, by name or pattern, hear the
// messages of several publishers in one order, and each publisher's in its own.
func TestPublishOrder(t *testing.T) {
	var r registry
	r.open()
	peers := make([]*listener, 4)
	for i := range peers {
		peers[i] = &listener{}
		kind, name := toChannel, "c"
		if i >= 2 {
			kind, name = toPattern, "c*"
		}
		r.add(kind, []byte(name), &subscriber{peer: peers[i], proto: 3})
	}
	const publishers, messages = 4, 200
	var running sync.WaitGroup
	for p := range publishers {
		running.Go(func() {
			for i := range messages {
				r.publish(toChannel, []byte("c"), fmt.Appendf(nil, "%d %d", p, i), 0)
			}
		})
	}
	running.Wait()
	first := payloads(t, peers[0].pushed)
	for _, peer := range peers[1:] {
		if other := payloads(t, peer.pushed); !slices.Equal(first, other) {
			t.Fatalf("two orders:\n%q\n%q", first, other)
		}
	}
	next := [publishers]int{}
	for _, payload := range first {
		var p, i int
		if _, err := fmt.Sscan(payload, &p, &i); err != nil || i != next[p] {
			t.Fatalf("%q after %d messages of it: %v", payload, next[p], err)
		}
		next[p]++
	}
	if next != [publishers]int{messages, messages, messages, messages} {
		t.Errorf("heard %v", next)
	}
}

// payloads are the last words of messages.
func payloads(t *testing.T, data []byte) []string {
	t.Helper()
	var all []string
	for _, message := range splitReplies(t, data) {
		words := strings.Split(message, "\r\n")
		all = append(all, words[len(words)-2])
	}
	return all
}

// deaf is a peer that keeps nothing.
type deaf struct{ Peer }

func (deaf) Push([]byte, uint64) {}

// TestPublishCost: a message is encoded once for each protocol, not for each
// subscriber, and that in memory that is used again.
func TestPublishCost(t *testing.T) {
	var r registry
	r.open()
	for i := range 100 {
		r.add(toChannel, []byte("c"), &subscriber{peer: deaf{}, proto: 2 + i%2})
		r.add(toPattern, []byte("*"), &subscriber{peer: deaf{}, proto: 2 + i%2})
	}
	channel, payload := []byte("c"), []byte("hello")
	// A collection may empty the pool.
	if n := testing.AllocsPerRun(100, func() { r.publish(toChannel, channel, payload, 0) }); n > 20 {
		t.Errorf("%v allocations for a message to 200 subscribers", n)
	}
}

// TestSubscriptionsEnd: a session that has ended leaves nothing behind, and hears
// nothing.
func TestSubscriptionsEnd(t *testing.T) {
	server, client := newTestClient(t)
	other := server.connect(3)
	for _, end := range []func(){func() { client.say("RESET") }, client.session.Close} {
		for _, line := range []string{"SUBSCRIBE a b", "PSUBSCRIBE *", "SSUBSCRIBE a"} {
			client.say(strings.Fields(line)...)
		}
		if channels, patterns, shards := client.session.Subscriptions(); channels != 2 || patterns != 1 || shards != 1 {
			t.Errorf("%d channels, %d patterns, %d shard channels", channels, patterns, shards)
		}
		if info := other.say("INFO", "stats"); !strings.Contains(info, "pubsub_channels:2\r\npubsub_patterns:1\r\npubsubshard_channels:1\r\n") {
			t.Errorf("have %q", info)
		}
		end()
		if have := other.say("PUBLISH", "a", "x") + other.say("SPUBLISH", "a", "x"); have != ":0\r\n:0\r\n" || len(client.pushed) > 0 {
			t.Errorf("%q hear, of them the client %q", have, client.pushed)
		}
		if info := other.say("INFO", "stats"); !strings.Contains(info, "pubsub_channels:0\r\npubsub_patterns:0\r\npubsubshard_channels:0\r\n") {
			t.Errorf("have %q", info)
		}
	}
}

// TestConversationsAsRedis: random subscribers and publishers read what they read
// from Redis. Where Redis goes by a hash table, the order of messages is free.
func TestConversationsAsRedis(t *testing.T) {
	first := redistest.Start(t)
	theirs := []*redistest.Conn{first, first.Dial(), first.Dial()}
	lines := []string{
		"SUBSCRIBE a", "SUBSCRIBE a b", "PSUBSCRIBE *", "PSUBSCRIBE a* b", "SSUBSCRIBE a", "SSUBSCRIBE b a",
		"UNSUBSCRIBE a", "UNSUBSCRIBE b a", "PUNSUBSCRIBE a*", "PUNSUBSCRIBE * b", "SUNSUBSCRIBE b",
		"PUBLISH a x", "PUBLISH b y", "SPUBLISH a z", "PUBLISH ab w", "PING", "PING hi", "RESET", "HELLO 3", "GET k",
		"PUBSUB NUMSUB a b", "PUBSUB SHARDNUMSUB a b", "PUBSUB NUMPAT", "PUBSUB CHANNELS ?", "PUBSUB", "SUBSCRIBE",
	}
	const seed = 7
	random := rand.New(rand.NewPCG(seed, 0))
	server := newTestServer(DefaultTable(), engine.Options{Pool: testPool()})
	ours := []*testClient{server.connect(2), server.connect(2), server.connect(2)}
	for step := range 4000 {
		who := random.IntN(len(ours))
		line := lines[random.IntN(len(lines))]
		have := []byte(ours[who].say(strings.Fields(line)...))
		theirs[who].Send(strings.Fields(line)...)
		var want []byte
		for range count(t, have) {
			want = append(want, theirs[who].Next()...)
		}
		if strings.HasPrefix(line, "HELLO") || strings.HasPrefix(line, "PUBSUB CHANNELS") {
			continue // ids and orders differ
		}
		if !slices.Equal(sortedReplies(t, have), sortedReplies(t, want)) {
			t.Fatalf("seed %d, step %d, client %d: %s\nours  %q\nredis %q", seed, step, who, line, have, want)
		}
	}
}

func sortedReplies(t *testing.T, data []byte) []string {
	t.Helper()
	all := splitReplies(t, data)
	slices.Sort(all)
	return all
}

// splitReplies are replies one by one.
func splitReplies(t *testing.T, data []byte) []string {
	t.Helper()
	var all []string
	for len(data) > 0 {
		rest, err := reply.Skip(data)
		if err != nil {
			t.Fatal(err)
		}
		all, data = append(all, string(data[:len(data)-len(rest)])), rest
	}
	return all
}
