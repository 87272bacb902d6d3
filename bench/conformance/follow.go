package main

// This file owns the questions that are asked after a reply whose bytes may
// differ, so that no more is let through than must be.

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"reminis/bench/resp"
)

// scanCallsMax bounds an iteration; no data set of a case needs as many calls.
const scanCallsMax = 5000

// intsetMax is Redis's set-max-intset-entries.
const intsetMax = 512

// restoredKey holds the other server's value for the time of a comparison.
const restoredKey = "conformance:restored"

// ask sends one line to one server and returns a reply of the caller's own.
func ask(c *resp.Client, args ...[]byte) (resp.Reply, error) {
	c.QueueBytes(args...)
	if err := c.Flush(); err != nil {
		return resp.Reply{}, err
	}
	reply, err := c.Receive()
	if err != nil {
		return resp.Reply{}, err
	}
	return own(reply), nil
}

// own copies a reply out of its connection's buffer.
func own(reply resp.Reply) resp.Reply {
	copied, n, err := resp.Next(bytes.Clone(reply.Raw))
	if err != nil || n != len(reply.Raw) {
		panic(fmt.Sprintf("a reply that was parsed does not parse: %q", reply.Raw))
	}
	return copied
}

func text(words ...string) [][]byte {
	args := make([][]byte, len(words))
	for i, word := range words {
		args[i] = []byte(word)
	}
	return args
}

// followHash lets the order differ only where Redis keeps the hash in a table.
func followHash(s *session, l line, ours, peer resp.Reply) (bool, error) {
	encoding, err := ask(s.peer, []byte("OBJECT"), []byte("ENCODING"), l.args[1])
	if err != nil {
		return false, err
	}
	return encoding.Text() == "hashtable" && sameItems(ours, peer, stepOf(l)), nil
}

// followSet lets the order differ unless all sets that a line names are intsets in
// Redis. What SPOP has taken cannot be asked for any more.
func followSet(s *session, l line, ours, peer resp.Reply) (bool, error) {
	ordered := l.name() != "SPOP"
	for _, key := range l.args[1:] {
		encoding, err := ask(s.peer, []byte("OBJECT"), []byte("ENCODING"), key)
		if err != nil {
			return false, err
		}
		ordered = ordered && (encoding.Null || encoding.Text() == "intset")
	}
	// What is made of intsets is one only up to its bound.
	ordered = ordered && (len(peer.Items) <= intsetMax || l.name() != "SUNION")
	return !ordered && sameItems(ours, peer, 1), nil
}

// followSort lets replies differ where what is sorted has no order by itself or by
// what it is sorted by.
func followSort(s *session, l line, ours, peer resp.Reply) (bool, error) {
	encoding, err := ask(s.peer, []byte("OBJECT"), []byte("ENCODING"), l.args[1])
	if err != nil {
		return false, err
	}
	ordered := encoding.Text() != "hashtable" && (!tied(l) || len(behind(l, "LIMIT")) == 0)
	return !ordered && sameSorted(l, ours, peer), nil
}

// followScan carries an iteration that begins through to its end on both servers.
func followScan(s *session, l line, ours, peer resp.Reply) (bool, error) {
	at, step := 1, 1
	switch l.name() {
	case "HSCAN", "ZSCAN":
		at, step = 2, 2
	case "SSCAN":
		at = 2
	}
	if !sameShape(ours, peer) {
		return false, nil
	}
	if string(l.args[at]) != "0" {
		return true, nil
	}
	fromOurs, err := scanAll(s.ours, l, at, step, ours)
	if err != nil {
		return false, err
	}
	fromPeer, err := scanAll(s.peer, l, at, step, peer)
	return slices.Equal(fromOurs, fromPeer), err
}

// scanAll returns all elements of an iteration, each once and in order. An
// iteration without an end is an element of its own.
func scanAll(c *resp.Client, l line, at, step int, reply resp.Reply) ([]string, error) {
	all := groups(reply.Items[1].Items, step)
	args := slices.Clone(l.args)
	for range scanCallsMax {
		if reply.Items[0].Text() == "0" {
			slices.Sort(all)
			return slices.Compact(all), nil
		}
		args[at] = bytes.Clone(reply.Items[0].Data)
		var err error
		if reply, err = ask(c, args...); err != nil {
			return nil, err
		}
		if len(reply.Items) != 2 {
			return []string{fmt.Sprintf("cursor %s was answered with %q", args[at], reply.Raw)}, nil
		}
		all = append(all, groups(reply.Items[1].Items, step)...)
	}
	return []string{fmt.Sprintf("no end after %d calls", scanCallsMax)}, nil
}

// followRandom demands all the elements where as many were returned as there are.
func followRandom(s *session, l line, ours, peer resp.Reply) (bool, error) {
	if !sameNumber(ours, peer) {
		return false, nil
	}
	if l.name() == "RANDOMKEY" || len(l.args) < 3 || l.args[2][0] == '-' {
		return true, nil
	}
	step := 1
	if len(l.args) == 4 && peer.Kind == '*' && len(peer.Items) > 0 && peer.Items[0].Kind == '$' {
		step = 2 // RESP2 has names and values in turn, RESP3 a pair per field
	}
	sizeOf := map[string]string{"HRANDFIELD": "HLEN", "SRANDMEMBER": "SCARD", "ZRANDMEMBER": "ZCARD"}
	length, err := ask(s.peer, []byte(sizeOf[l.name()]), l.args[1])
	if err != nil {
		return false, err
	}
	if length.Text() != strconv.Itoa(len(peer.Items)/step) {
		return true, nil
	}
	return sameItems(ours, peer, step), nil
}

// followDump has each server restore what the other one serialised, and compares
// what they make of it.
func followDump(s *session, l line, ours, peer resp.Reply) (bool, error) {
	if !sameKind(ours, peer) || ours.Null {
		return sameKind(ours, peer), nil
	}
	atOurs, err := restored(s.ours, peer.Data)
	if err != nil {
		return false, err
	}
	atPeer, err := restored(s.peer, ours.Data)
	if err != nil {
		return false, err
	}
	original, err := describe(s.peer, l.args[1])
	return err == nil && slices.Equal(atOurs, original) && slices.Equal(atPeer, original), err
}

// restored describes the value that a payload stands for and removes it again.
func restored(c *resp.Client, payload []byte) ([]string, error) {
	reply, err := ask(c, []byte("RESTORE"), []byte(restoredKey), []byte("0"), payload, []byte("REPLACE"))
	if err != nil {
		return nil, err
	}
	if reply.IsError() {
		return []string{reply.Text()}, nil
	}
	description, err := describe(c, []byte(restoredKey))
	if err != nil {
		return nil, err
	}
	_, err = ask(c, text("DEL", restoredKey)...)
	return description, err
}

// describe returns a key's type and its elements in order.
func describe(c *resp.Client, key []byte) ([]string, error) {
	kind, err := ask(c, []byte("TYPE"), key)
	if err != nil {
		return nil, err
	}
	var value resp.Reply
	step := 1
	switch kind.Text() {
	case "string":
		value, err = ask(c, []byte("GET"), key)
		value.Items = []resp.Reply{value}
	case "hash":
		value, err = ask(c, []byte("HGETALL"), key)
		step = 2
	case "set":
		value, err = ask(c, []byte("SMEMBERS"), key)
	case "zset":
		value, err = ask(c, text("ZRANGE", string(key), "0", "-1", "WITHSCORES")...)
		step = max(1, len(value.Items)) // one item: its order counts
	case "list":
		value, err = ask(c, []byte("LRANGE"), key, []byte("0"), []byte("-1"))
		step = max(1, len(value.Items)) // one item: its order counts
	default:
		err = fmt.Errorf("values of type %q cannot be described", kind.Text())
	}
	return append([]string{kind.Text()}, groups(value.Items, step)...), err
}
