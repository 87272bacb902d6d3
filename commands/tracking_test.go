package commands

import (
	"fmt"
	"sync"
	"testing"
)

// This file shows what transcripts cannot: bounds, clients that are gone, and that no
// change of what a client has read stays untold.

const invalidateA = ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n"

func TestTrackedKeysAreBounded(t *testing.T) {
	s, c := newTestClient(t)
	c.say("HELLO", "3")
	s.core.LimitTracked(10)
	c.say("CLIENT", "TRACKING", "ON")
	heard := 0
	for i := range 30 {
		heard += count(t, []byte(c.say("GET", fmt.Sprint("k", i)))) - 1
	}
	heard += count(t, c.pushed)
	if keys, items, _ := s.core.tracker.figures(); keys != 10 || items != 10 {
		t.Errorf("%d keys and %d items are remembered", keys, items)
	}
	if heard != 20 {
		t.Errorf("of 20 keys that had to be forgotten it heard of %d", heard)
	}
	c.say("CLIENT", "TRACKING", "OFF")
	if s.core.tracker.clients.Load() != 0 {
		t.Error("a client still tracks")
	}
}

func TestRedirectionToNobody(t *testing.T) {
	s, c := newTestClient(t)
	other, writer := s.connect(3), s.connect(2)
	c.say("HELLO", "3")
	c.say("CLIENT", "TRACKING", "ON", "REDIRECT", fmt.Sprint(other.id))
	c.say("GET", "a")
	writer.say("SET", "a", "1")
	if string(other.pushed) != invalidateA {
		t.Errorf("the other client heard %q", other.pushed)
	}
	other.session.Close()
	c.say("GET", "a")
	writer.say("SET", "a", "1")
	if want := fmt.Sprintf(">2\r\n$21\r\ntracking-redir-broken\r\n:%d\r\n", other.id); string(c.pushed) != want {
		t.Errorf("the client heard %q, not %q", c.pushed, want)
	}
	if _, _, broken, _ := c.session.Tracking(); !broken {
		t.Error("the redirection is not said to be broken")
	}
	c.session.Close()
	writer.say("SET", "a", "1")
}

// TestNoChangeIsMissed has one client cache a counter that others count up: what it
// has is the truth whenever it was not told that it is not.
func TestNoChangeIsMissed(t *testing.T) {
	s, c := newTestClient(t)
	c.say("HELLO", "3")
	c.say("CLIENT", "TRACKING", "ON")
	const writers, each = 4, 200
	var group sync.WaitGroup
	for range writers {
		w := s.connect(2)
		group.Go(func() {
			for range each {
				w.say("INCR", "a")
			}
		})
	}
	cached := ""
	for range writers * each {
		if got := c.say("GET", "a"); got[0] != '>' || cached == "" {
			cached = got
		} else {
			cached = got[len(invalidateA):]
		}
	}
	group.Wait()
	if truth := s.connect(2).say("GET", "a"); cached != truth && string(c.pushed) != invalidateA {
		t.Errorf("cached %q, is %q, told %q", cached, truth, c.pushed)
	}
}
