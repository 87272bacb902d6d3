package main

// This file owns one conversation with two servers: sending lines, receiving
// pairs of replies, and saying whether they are equal.

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"reminis/bench/resp"
)

// replyLimit is how long a reply may take; no command generated blocks.
const replyLimit = time.Minute

// difference is a pair of replies that had to be equal.
type difference struct {
	at         int // the index of its line
	line       line
	ours, peer string // the replies' bytes, quoted, or what came in place of one
}

// signature is equal for differences that are probably the same fault.
func (d *difference) signature() string {
	if ours := firstWords(d.ours); ours == "-ERR unknown command" {
		return d.line.name() + " " + ours
	}
	return d.line.name() + " " + firstWords(d.ours) + " " + firstWords(d.peer)
}

// firstWords is the part of a quoted reply that says what kind it is.
func firstWords(quoted string) string {
	words := strings.SplitN(strings.Trim(quoted, `"`), " ", 4)
	return strings.Join(words[:min(3, len(words))], " ")
}

// session is one connection to each server.
type session struct {
	ours, peer *resp.Client
	open       bool   // between MULTI and its end
	queued     []line // in the open transaction
}

// outcome is a reply, or what came in place of one.
type outcome struct {
	reply resp.Reply
	fault string
}

func (o outcome) String() string {
	if o.fault != "" {
		return o.fault
	}
	return strconv.Quote(string(o.reply.Raw))
}

const closed = "(connection closed)"

// comparator runs cases against two servers.
type comparator struct {
	ours, peer string // addresses
	protocol   int    // 2 or 3
	relax      []relaxation
	observe    func(l line, peer resp.Reply) // is told of every pair found equal
	letThrough func(relaxation string)       // is told of every pair that only a relaxation let through
}

// run sends the lines on fresh connections to two emptied servers, depth of them
// at a time, and returns the first difference or nil. The error says that a
// server could not be reached.
func (c *comparator) run(lines []line, depth int) (*difference, error) {
	for _, addr := range []string{c.ours, c.peer} {
		if err := empty(addr); err != nil {
			return nil, err
		}
	}
	var open [sessions]*session
	defer func() {
		for _, s := range open {
			if s != nil {
				s.close()
			}
		}
	}()
	for at := 0; at < len(lines); {
		number := lines[at].session
		if open[number] == nil {
			s, err := c.connect()
			if err != nil {
				return nil, err
			}
			open[number] = s
		}
		count := c.batch(lines[at:], depth)
		found, alive, err := c.exchange(open[number], lines[at:at+count])
		if err != nil {
			return nil, err
		}
		if found != nil {
			found.at += at
			return found, nil
		}
		if !alive {
			open[number].close()
			open[number] = nil
		}
		at += count
	}
	return nil, nil
}

// batch is the number of lines to send at once: of one session, and up to the
// first after which the servers may have to be asked for more.
func (c *comparator) batch(lines []line, depth int) int {
	for i, l := range lines[:min(depth, len(lines))] {
		if l.session != lines[0].session {
			return i
		}
		if r := c.relaxation(l); r != nil && r.follow != nil || l.name() == "QUIT" {
			return i + 1
		}
	}
	return min(depth, len(lines))
}

// empty deletes everything in a server.
func empty(addr string) error {
	client, err := resp.Dial(addr, replyLimit)
	if err != nil {
		return err
	}
	reply, err := client.Do("FLUSHALL")
	if err == nil && reply.IsError() {
		err = errors.New(reply.Text())
	}
	if err != nil {
		err = fmt.Errorf("emptying %s: %w", addr, err)
	}
	return errors.Join(err, client.Close())
}

func (c *comparator) connect() (*session, error) {
	ours, err := resp.Dial(c.ours, replyLimit)
	if err != nil {
		return nil, err
	}
	peer, err := resp.Dial(c.peer, replyLimit)
	if err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	s := &session{ours: ours, peer: peer}
	if c.protocol == 2 {
		return s, nil
	}
	for _, client := range []*resp.Client{ours, peer} {
		reply, err := client.Do("HELLO", strconv.Itoa(c.protocol))
		if err == nil && reply.IsError() {
			err = errors.New(reply.Text())
		}
		if err != nil {
			s.close()
			return nil, fmt.Errorf("switching to protocol %d: %w", c.protocol, err)
		}
	}
	return s, nil
}

// close ignores errors: a server may have closed its end before, and has been
// compared in that.
func (s *session) close() {
	_ = s.ours.Close()
	_ = s.peer.Close()
}

// exchange sends lines of one session and compares their replies. Not alive says
// that both servers closed the connection.
func (c *comparator) exchange(s *session, lines []line) (found *difference, alive bool, err error) {
	for _, l := range lines {
		s.ours.QueueBytes(l.args...)
		s.peer.QueueBytes(l.args...)
	}
	// A connection that was closed shows when it is read.
	_, _ = s.ours.Flush(), s.peer.Flush()
	for i, l := range lines {
		ours, peer := receive(s.ours), receive(s.peer)
		if ours.fault == closed && peer.fault == closed {
			return nil, false, nil
		}
		equal := ours.fault == "" && peer.fault == ""
		if equal && !bytes.Equal(ours.reply.Raw, peer.reply.Raw) {
			// Asking for more overwrites the connections' buffers.
			ours.reply, peer.reply = own(ours.reply), own(peer.reply)
			if equal, err = c.equal(s, l, ours.reply, peer.reply); err != nil {
				ours.fault, equal = ours.String()+" and then "+err.Error(), false
			}
		}
		if !equal {
			return &difference{at: i, line: l, ours: ours.String(), peer: peer.String()}, true, nil
		}
		if c.observe != nil {
			c.observe(l, peer.reply)
		}
		s.track(l, peer.reply)
	}
	if lines[len(lines)-1].name() != "QUIT" {
		return nil, true, nil
	}
	ours, peer := receive(s.ours), receive(s.peer)
	if ours.fault != peer.fault {
		return &difference{at: len(lines) - 1, line: lines[len(lines)-1], ours: "after its reply " + ours.String(), peer: "after its reply " + peer.String()}, true, nil
	}
	return nil, ours.fault != closed, nil
}

// receive returns the next reply or what came in place of it.
func receive(client *resp.Client) outcome {
	reply, err := client.Receive()
	switch {
	case err == nil:
		return outcome{reply: reply}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return outcome{fault: fmt.Sprintf("(no reply within %v; %q received)", replyLimit, client.Pending())}
	case len(client.Pending()) > 0:
		return outcome{fault: "(" + err.Error() + ")"}
	}
	return outcome{fault: closed}
}

// track follows the session's transaction.
func (s *session) track(l line, reply resp.Reply) {
	switch {
	case reply.Kind == '+' && reply.Text() == "QUEUED":
		s.queued = append(s.queued, l)
	case l.name() == "MULTI" && !reply.IsError():
		s.open, s.queued = true, nil
	case l.name() == "EXEC" || len(l.args) == 1 && slices.Contains([]string{"DISCARD", "RESET"}, l.name()):
		// An EXEC that is refused for its arguments ends the transaction, too.
		s.open, s.queued = false, nil
	}
}

// equal decides over replies whose bytes differ.
func (c *comparator) equal(s *session, l line, ours, peer resp.Reply) (bool, error) {
	if s.open {
		return l.name() == "EXEC" && c.equalTransaction(s.queued, ours, peer), nil
	}
	r := c.relaxation(l)
	if r == nil || ours.IsError() || peer.IsError() {
		return false, nil
	}
	equal, err := r.equal(l, ours, peer), error(nil)
	if r.follow != nil {
		equal, err = r.follow(s, l, ours, peer)
	}
	if equal {
		c.letThrough(r.name)
	}
	return equal, err
}

// equalTransaction compares the replies within that of EXEC one by one.
func (c *comparator) equalTransaction(queued []line, ours, peer resp.Reply) bool {
	if ours.Kind != '*' || !sameKind(ours, peer) || len(ours.Items) != len(queued) || len(peer.Items) != len(queued) {
		return false
	}
	for i, l := range queued {
		a, b := ours.Items[i], peer.Items[i]
		if bytes.Equal(a.Raw, b.Raw) {
			continue
		}
		r := c.relaxation(l)
		if r == nil || a.IsError() || b.IsError() || !r.equal(l, a, b) {
			return false
		}
		c.letThrough(r.name)
	}
	return true
}

func (c *comparator) relaxation(l line) *relaxation {
	for i := range c.relax {
		if c.relax[i].applies(l) {
			return &c.relax[i]
		}
	}
	return nil
}
