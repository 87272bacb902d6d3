// This file owns the proof that pub/sub works through sockets: orders across
// connections, what others are told of subscribers, and subscribers that do not
// read. It must not know how messages are found.

package server

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// withHosts runs a test with commands on each driver.
func withHosts(t *testing.T, test func(h *hosted)) {
	for _, loops := range []string{"0", "1", "2"} {
		t.Run(loops+" loops", func(t *testing.T) {
			h := newHosted(t, "--io-threads", loops)
			h.T = t
			test(h)
		})
	}
}

// subscription is what confirms a subscription in RESP2.
func subscription(word, name string, count int) string {
	return fmt.Sprintf("*3\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n:%d\r\n", len(word), word, len(name), name, count)
}

func message(channel, payload string) string {
	return request("message", channel, payload)
}

// TestPubSubOrder: whoever has the answer of a PUBLISH knows that every subscriber
// reads the message before the answer to anything it sends from then on; and a
// channel that was left says nothing more.
func TestPubSubOrder(t *testing.T) {
	withHosts(t, func(h *hosted) {
		publisher, first, second := h.dial(), h.dial(), h.dial()
		for _, c := range []*client{first, second} {
			c.send(request("SUBSCRIBE", "c"))
			c.expect(subscription("subscribe", "c", 1))
		}
		for i := range 200 {
			payload := fmt.Sprint(i)
			publisher.asks(":2", "PUBLISH", "c", payload)
			first.send(request("PING"))
			first.expect(message("c", payload) + request("pong", ""))
		}
		for i := range 200 {
			second.expect(message("c", fmt.Sprint(i)))
		}
		publisher.asks(":2", "PUBLISH", "c", "last")
		first.send(request("UNSUBSCRIBE", "c") + request("PING"))
		first.expect(message("c", "last") + subscription("unsubscribe", "c", 0) + "+PONG\r\n")
		publisher.asks(":1", "PUBLISH", "c", "unheard")
		first.send(request("PING"))
		first.expect("+PONG\r\n")
	})
}

// TestPubSubPipelines: messages of a pipeline are all there, in order, on both
// sides of what the subscriber asks meanwhile.
func TestPubSubPipelines(t *testing.T) {
	withHosts(t, func(h *hosted) {
		publisher, subscriber := h.dial(), h.dial()
		subscriber.send(request("SUBSCRIBE", "c"))
		subscriber.expect(subscription("subscribe", "c", 1))
		var sent, want, answers strings.Builder
		for i := range 3000 {
			payload := fmt.Sprint(i)
			sent.WriteString(request("PUBLISH", "c", payload))
			want.WriteString(message("c", payload))
			answers.WriteString(":1\r\n")
		}
		publisher.sendAside(sent.String())
		publisher.expect(answers.String())
		subscriber.send(request("PING", "end"))
		subscriber.expect(want.String() + request("pong", "end"))
	})
}

// TestSubscriberSeen: CLIENT LIST counts subscriptions, and knows subscribers by
// their type.
func TestSubscriberSeen(t *testing.T) {
	h := newHosted(t)
	c, subscriber := h.dial(), h.dial()
	subscriber.send(request("SUBSCRIBE", "a", "b") + request("PSUBSCRIBE", "p*") + request("SSUBSCRIBE", "s"))
	subscriber.expect(subscription("subscribe", "a", 1) + subscription("subscribe", "b", 2) + subscription("psubscribe", "p*", 3) + subscription("ssubscribe", "s", 1))
	want := regexp.MustCompile(`^id=2 .* flags=P db=0 sub=2 psub=1 ssub=1 .* cmd=ssubscribe user=default redir=-1 resp=2\n$`)
	if have := c.ask("CLIENT", "LIST", "TYPE", "pubsub"); !want.MatchString(have) {
		t.Errorf("have %q", have)
	}
	subscriber.send(request("SUNSUBSCRIBE") + request("PUNSUBSCRIBE") + request("UNSUBSCRIBE", "a", "b"))
	subscriber.expect(subscription("sunsubscribe", "s", 0) + subscription("punsubscribe", "p*", 2) + subscription("unsubscribe", "a", 1) + subscription("unsubscribe", "b", 0))
	subscriber.asks("+PONG", "PING")
	if have := c.ask("CLIENT", "LIST", "ID", "2"); !strings.Contains(have, " flags=N db=0 sub=0 psub=0 ssub=0 ") {
		t.Errorf("have %q", have)
	}
	subscriber.send(request("SUBSCRIBE", "a"))
	subscriber.expect(subscription("subscribe", "a", 1))
	c.asks(":1", "CLIENT", "KILL", "TYPE", "pubsub")
	subscriber.expectGone()
	h.eventually("nobody is subscribed", func() bool { return c.ask("PUBLISH", "a", "x") == ":0" })
}

// TestKeyspaceEvents: the directive says what is told, at the start and later.
func TestKeyspaceEvents(t *testing.T) {
	h := newHosted(t, "--notify-keyspace-events", "KE$")
	c, ear := h.dial(), h.dial()
	ear.send(request("SUBSCRIBE", "__keyspace@0__:k", "__keyevent@0__:set", "__keyevent@0__:del"))
	ear.expect(subscription("subscribe", "__keyspace@0__:k", 1) + subscription("subscribe", "__keyevent@0__:set", 2) + subscription("subscribe", "__keyevent@0__:del", 3))
	c.asks("+OK", "SET", "k", "v")
	ear.expect(message("__keyspace@0__:k", "set") + message("__keyevent@0__:set", "k"))
	c.asks(":1", "DEL", "k") // class g is not among them
	c.asks("+OK", "CONFIG", "SET", "notify-keyspace-events", "Eg")
	c.asks("+OK", "SET", "k", "v")
	c.asks(":1", "DEL", "k")
	ear.expect(message("__keyevent@0__:del", "k"))
	if have := c.ask("CONFIG", "SET", "notify-keyspace-events", "KEA$d"); have != "+OK" {
		t.Errorf("have %q", have)
	}
	c.send(request("CONFIG", "GET", "notify-keyspace-events"))
	c.expect(request("notify-keyspace-events", "AKE"))
}

// TestSlowSubscriber: one that does not read is closed at its limit; publishers
// never wait for it, and another subscriber misses nothing.
func TestSlowSubscriber(t *testing.T) {
	withHosts(t, func(h *hosted) {
		publisher, slow, quick := h.dial(), h.dial(), h.dial()
		publisher.asks("+OK", "CONFIG", "SET", "client-output-buffer-limit", "pubsub 1mb 0 0")
		for _, c := range []*client{slow, quick} {
			c.send(request("SUBSCRIBE", "c"))
			c.expect(subscription("subscribe", "c", 1))
		}
		payload := strings.Repeat("x", 100_000)
		messages := 0
		for publisher.ask("PUBLISH", "c", payload) == ":2" {
			quick.expect(message("c", payload))
			if messages++; messages > 1000 {
				t.Fatal("100 MB wait for a subscriber that may have 1 MB")
			}
		}
		quick.expect(message("c", payload))
		publisher.asks(":1", "PUBLISH", "c", "after")
		quick.expect(message("c", "after"))
		if have := publisher.ask("INFO", "stats"); !strings.Contains(have, "client_output_buffer_limit_disconnections:1\r\n") {
			t.Errorf("have %q", have)
		}
	})
}
