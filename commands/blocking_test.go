package commands

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file shows how sessions wait, with a command that takes a string as soon as
// one of its keys is one, and may put it elsewhere.

type takeParams struct {
	keys    [][]byte
	to      []byte
	timeout []byte
}

func takeCommand() *Command {
	return onData(Declaration{
		Name: "test.take", Family: Strings, Since: "7.0.0", Complexity: "O(1)", Summary: "Take a string",
		Flags: Write | Blocking, Reply: reply.Nullable(reply.Bulk()),
	}, grammar.Compile[takeParams](
		grammar.Key("to", func(p *takeParams) *[]byte { return &p.to }, grammar.OW),
		grammar.Bytes("timeout", func(p *takeParams) *[]byte { return &p.timeout }),
		grammar.Keys("key", func(p *takeParams) *[][]byte { return &p.keys }, grammar.RW),
	), runTake)
}

func runTake(tx *engine.Tx, p *takeParams, w *reply.Writer) error {
	deadlineMs, err := deadlineAfter(tx, p.timeout)
	if err != nil {
		return err
	}
	for _, key := range p.keys {
		value, err := tx.StringForWrite(key)
		if err != nil {
			return err
		}
		if value == nil {
			continue
		}
		value = append([]byte(nil), value...)
		tx.Delete(key)
		if len(p.to) > 0 {
			tx.SetString(p.to, value, 0)
		}
		w.Bulk(value)
		return nil
	}
	pending := &wait{keys: p.keys, deadlineMs: deadlineMs, none: (*reply.Writer).Null}
	if len(p.to) > 0 {
		pending.reach = [][]byte{p.to}
	}
	return pending
}

func blockingServer() *testServer {
	table := NewTable(keyCommands(), stringCommands(), hashCommands(), databaseCommands(), transactionCommands(), connectionCommands(),
		serverCommands(), []*Command{takeCommand()})
	return newTestServer(table, engine.Options{Pool: testPool()})
}

// waits says a line that must wait.
func (c *testClient) waits(t *testing.T, words ...string) {
	t.Helper()
	if got := c.say(words...); got != "" || !c.blocks {
		t.Fatalf("%v answered %q at once", words, got)
	}
}

// reads holds what a client that waited reads now.
func (c *testClient) reads(t *testing.T, want string) {
	t.Helper()
	if got := string(c.awake()); got != want {
		t.Fatalf("client %d reads %q, not %q", c.id, got, want)
	}
}

func TestWaitersAreServedInOrderOfArrival(t *testing.T) {
	s := blockingServer()
	first, second, third, other := s.connect(2), s.connect(3), s.connect(2), s.connect(2)
	first.waits(t, "test.take", "", "0", "a")
	second.waits(t, "test.take", "", "0", "b", "a")
	third.waits(t, "test.take", "", "0", "a")
	other.say("SET", "a", "1")
	first.reads(t, "$1\r\n1\r\n")
	second.reads(t, "")
	if got := other.say("EXISTS", "a"); got != ":0\r\n" {
		t.Fatalf("what was served is still there: %q", got)
	}
	other.say("SET", "b", "2")
	second.reads(t, "$1\r\n2\r\n")
	other.say("SET", "a", "3")
	third.reads(t, "$1\r\n3\r\n")
	if n := len(s.core.blocked.byID); n != 0 {
		t.Fatalf("%d sessions still wait", n)
	}
}

func TestWaitersSeeWhatATransactionLeaves(t *testing.T) {
	s := blockingServer()
	waiter, other := s.connect(2), s.connect(2)
	waiter.waits(t, "test.take", "", "0", "a", "b")
	for _, line := range [][]string{{"MULTI"}, {"SET", "a", "1"}, {"DEL", "a"}} {
		other.say(line...)
	}
	before := other.session.gateSeq
	other.say("EXEC")
	waiter.reads(t, "")
	for _, line := range [][]string{{"MULTI"}, {"SET", "b", "2"}, {"SET", "a", "1"}, {"test.take", "", "0", "c"}} {
		other.say(line...)
	}
	if got := other.say("EXEC"); got != "*3\r\n+OK\r\n+OK\r\n$-1\r\n" {
		t.Fatalf("EXEC answered %q", got)
	}
	waiter.reads(t, "$1\r\n1\r\n")
	if got := other.say("EXISTS", "a", "b"); got != ":1\r\n" || before > other.session.gateSeq {
		t.Fatalf("left: %q", got)
	}
}

// A key that comes by RENAME, MOVE, COPY, SWAPDB or RESTORE is as good as any.
func TestWaitersAreServedByEveryWayToMakeAKey(t *testing.T) {
	for name, lines := range map[string][][]string{
		"RENAME": {{"SET", "x", "1"}, {"RENAME", "x", "a"}},
		"COPY":   {{"SET", "x", "1"}, {"COPY", "x", "a"}},
		"MOVE":   {{"SELECT", "1"}, {"SET", "a", "1"}, {"MOVE", "a", "0"}},
		"SWAPDB": {{"SELECT", "1"}, {"SET", "a", "1"}, {"SWAPDB", "0", "1"}},
		"FLUSH":  {{"FLUSHALL"}, {"SET", "a", "1"}},
		"APPEND": {{"APPEND", "a", "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := blockingServer()
			waiter, other := s.connect(2), s.connect(2)
			waiter.waits(t, "test.take", "", "0", "a")
			for _, line := range lines {
				if got := other.say(line...); got[0] == '-' {
					t.Fatalf("%v: %s", line, got)
				}
			}
			waiter.reads(t, "$1\r\n1\r\n")
		})
	}
}

// What one waiter puts elsewhere serves the next, across shards.
func TestWaitersServeEachOther(t *testing.T) {
	s := blockingServer()
	const chain = 40
	waiters := make([]*testClient, chain)
	for i := range waiters {
		waiters[i] = s.connect(2)
		waiters[i].waits(t, "test.take", fmt.Sprintf("key%d", i+1), "0", fmt.Sprintf("key%d", i))
	}
	other := s.connect(2)
	other.say("SET", "key0", "x")
	for _, w := range waiters {
		w.reads(t, "$1\r\nx\r\n")
	}
	if got := other.say("GET", fmt.Sprintf("key%d", chain)); got != "$1\r\nx\r\n" {
		t.Fatalf("at the end of the chain: %q", got)
	}
	if n := s.core.Engine.Check(); n != nil {
		t.Fatal(n)
	}
}

func TestWaitsEnd(t *testing.T) {
	s := blockingServer()
	late, timeout, failed, killed, gone, other := s.connect(2), s.connect(3), s.connect(2), s.connect(2), s.connect(2), s.connect(2)
	late.waits(t, "test.take", "", "0.0101", "a")
	for _, c := range []*testClient{timeout, failed, killed, gone} {
		c.waits(t, "test.take", "", "0", "a")
	}
	s.clock.nowMs += 10
	s.core.Engine.WaitersLate()
	late.reads(t, "")
	s.clock.nowMs++
	if next := s.core.Engine.WaitersLate(); next < 1<<61 {
		t.Fatalf("a deadline is left: %d", next)
	}
	late.reads(t, "$-1\r\n")

	unblock := func(c *testClient, how ...string) string {
		return other.say(append([]string{"CLIENT", "UNBLOCK", fmt.Sprint(c.id)}, how...)...)
	}
	if got := unblock(timeout) + unblock(timeout) + unblock(other) + unblock(failed, "ERROR"); got != ":1\r\n:0\r\n:0\r\n:1\r\n" {
		t.Fatalf("UNBLOCK: %q", got)
	}
	timeout.reads(t, "_\r\n")
	failed.reads(t, "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n")

	other.say("CLIENT", "KILL", "ID", fmt.Sprint(killed.id))
	gone.session.Close()
	other.say("SET", "a", "1")
	killed.reads(t, "")
	gone.reads(t, "")
	if got := other.say("GET", "a"); got != "$1\r\n1\r\n" {
		t.Fatalf("who is gone took the value: %q", got)
	}
}

func TestTimeoutsAsRedis(t *testing.T) {
	s := blockingServer()
	c := s.connect(2)
	for text, want := range map[string]string{
		"x": "-ERR timeout is not a float or out of range\r\n", "nan": "-ERR timeout is not a float or out of range\r\n",
		"-1": "-ERR timeout is negative\r\n", "1e300": "-ERR timeout is negative\r\n", "inf": "-ERR timeout is negative\r\n",
		"9223372036854776": "-ERR timeout is negative\r\n", "-0.00001": "", "9223372036854775": "", "0.0001": "",
	} {
		if got := c.say("test.take", "", text, "a"); got != want {
			t.Errorf("timeout %s: %q, not %q", text, got, want)
		}
		if c.blocks {
			s.core.endWait(c.id).giveUp(nil)
			c.awake()
		}
	}
}

// TestNothingIsLostBetweenWaiters has clients bring and take at once, some of them
// giving up: each value is taken by one, or is still there.
func TestNothingIsLostBetweenWaiters(t *testing.T) {
	s := blockingServer()
	const keys, takers, brought = 3, 8, 400
	var done atomic.Bool
	var group sync.WaitGroup
	clients := make([]*testClient, takers)
	taken := make([][]string, takers)
	for i := range clients {
		clients[i] = s.connect(2)
	}
	for i, c := range clients {
		group.Go(func() {
			for n := 0; !done.Load(); n++ {
				got := c.say("test.take", fmt.Sprint("out", i%2*i), "0", fmt.Sprint("k", (i+n)%keys), fmt.Sprint("k", (i+n+1)%keys))
				if c.blocks {
					got = string((<-c.resumed)(nil))
				}
				if got != "$-1\r\n" {
					taken[i] = append(taken[i], got)
				}
			}
		})
	}
	bringer := s.connect(2)
	want := map[string]bool{}
	for n := range brought {
		value := fmt.Sprint("v", n)
		for bringer.say("SETNX", fmt.Sprint("k", n%keys), value) == ":0\r\n" {
			runtime.Gosched()
		}
		want[fmt.Sprintf("$%d\r\n%s\r\n", len(value), value)] = true
		if n%7 == 0 {
			bringer.say("CLIENT", "UNBLOCK", fmt.Sprint(clients[n%takers].id))
		}
	}
	done.Store(true)
	ended := make(chan struct{})
	go func() {
		group.Wait()
		close(ended)
	}()
	for running := true; running; {
		select {
		case <-ended:
			running = false
		default:
			for _, c := range clients {
				bringer.say("CLIENT", "UNBLOCK", fmt.Sprint(c.id))
			}
		}
	}
	have := slices.Concat(taken...)
	for k := range keys {
		if left := bringer.say("GET", fmt.Sprint("k", k)); left != "$-1\r\n" {
			have = append(have, left)
		}
	}
	for _, value := range have {
		if !want[value] {
			t.Errorf("%q was taken twice, or never brought", value)
		}
		delete(want, value)
	}
	if len(want) > 0 {
		t.Errorf("lost: %v", want)
	}
}
