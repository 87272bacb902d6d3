package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// This file owns the model's commands on streams: ids of the form N-*, one group g
// with consumers. It must not know anything of the engine. Streams are never
// changed in place: a copied key has the same one.

type modelStream struct {
	entries []modelEntry
	lastMs  int
	lastSeq int
	grouped bool
	read    modelEntry // the last one that the group was given
	pending []modelPending
}

type modelEntry struct {
	ms, seq int
	value   string
}

type modelPending struct {
	ms, seq  int
	consumer string
}

func (e modelEntry) id() string { return fmt.Sprintf("%d-%d", e.ms, e.seq) }

func (p modelPending) id() string { return fmt.Sprintf("%d-%d", p.ms, p.seq) }

func (e modelEntry) beyond(other modelEntry) bool {
	return e.ms > other.ms || e.ms == other.ms && e.seq > other.seq
}

// onStream finds a stream to change; there says whether it is one already.
func (m *model) onStream(key string) (v modelKey, s modelStream, there, ok bool) {
	v, exists := m.find(m.db, key)
	if !exists {
		return v, s, false, true
	}
	if v.stream == nil {
		return v, s, false, false
	}
	return v, *v.stream, true, true
}

func (m *model) putStream(key string, v modelKey, s modelStream) {
	v.stream = &s
	m.put(key, v)
}

// xAdd is XADD key MAXLEN = n N-* f value.
func (m *model) xAdd(args []string) string {
	v, s, _, ok := m.onStream(args[0])
	if !ok {
		return modelWrongType
	}
	ms, _ := strconv.Atoi(strings.TrimSuffix(args[4], "-*"))
	e := modelEntry{ms: ms, value: args[6]}
	if ms == s.lastMs {
		e.seq = s.lastSeq + 1
	}
	if !e.beyond(modelEntry{ms: s.lastMs, seq: s.lastSeq}) {
		return "-ERR The ID specified in XADD is equal or smaller than the target stream top item\r\n"
	}
	s.entries = append(slices.Clone(s.entries), e)
	s.lastMs, s.lastSeq = e.ms, e.seq
	s.entries = s.entries[max(0, len(s.entries)-int(integer(args[3]))):]
	m.putStream(args[0], v, s)
	return bulk(e.id())
}

func (m *model) xDel(args []string) string {
	v, s, there, ok := m.onStream(args[0])
	switch {
	case !ok:
		return modelWrongType
	case !there:
		return number(0)
	}
	before := len(s.entries)
	s.entries = slices.DeleteFunc(slices.Clone(s.entries), func(e modelEntry) bool { return slices.Contains(args[1:], e.id()) })
	m.putStream(args[0], v, s)
	return number(int64(before - len(s.entries)))
}

func (m *model) xLen(args []string) string {
	_, s, _, ok := m.onStream(args[0])
	if !ok {
		return modelWrongType
	}
	return number(int64(len(s.entries)))
}

// xGroup is XGROUP CREATE key g 0 MKSTREAM.
func (m *model) xGroup(args []string) string {
	v, s, _, ok := m.onStream(args[1])
	switch {
	case !ok:
		return modelWrongType
	case s.grouped:
		return "-BUSYGROUP Consumer Group name already exists\r\n"
	}
	s.grouped = true
	m.putStream(args[1], v, s)
	return modelOK
}

// xReadGroup is XREADGROUP GROUP g consumer COUNT n STREAMS key >.
func (m *model) xReadGroup(args []string) string {
	key, consumer := args[6], args[2]
	v, s, _, ok := m.onStream(key)
	switch {
	case !ok:
		return modelWrongType
	case !s.grouped:
		return fmt.Sprintf("-NOGROUP No such key '%s' or consumer group 'g' in XREADGROUP with GROUP option\r\n", key)
	}
	out, n := "", int64(0)
	s.pending = slices.Clone(s.pending)
	for _, e := range s.entries {
		if n == integer(args[4]) || !e.beyond(s.read) {
			continue
		}
		s.read = e
		s.pending = append(s.pending, modelPending{e.ms, e.seq, consumer})
		out += "*2\r\n" + bulk(e.id()) + "*2\r\n" + bulk("f") + bulk(e.value)
		n++
	}
	if n == 0 {
		return "*-1\r\n"
	}
	m.putStream(key, v, s)
	return fmt.Sprintf("*1\r\n*2\r\n%s*%d\r\n%s", bulk(key), n, out)
}

func (m *model) xAck(args []string) string {
	v, s, there, ok := m.onStream(args[0])
	switch {
	case !ok:
		return modelWrongType
	case !there:
		return number(0)
	}
	before := len(s.pending)
	s.pending = slices.DeleteFunc(slices.Clone(s.pending), func(p modelPending) bool { return slices.Contains(args[2:], p.id()) })
	m.putStream(args[0], v, s)
	return number(int64(before - len(s.pending)))
}

// streamText prints a stream as world.dump reads it from the server.
func (s *modelStream) text() string {
	var entries, pending []string
	for _, e := range s.entries {
		entries = append(entries, e.id(), "f", e.value)
	}
	perConsumer := map[string]int{}
	for _, p := range s.pending {
		perConsumer[p.consumer]++
	}
	if s.grouped {
		pending = []string{fmt.Sprint(len(s.pending)), "", "", ""}
		if n := len(s.pending); n > 0 {
			pending[1], pending[2] = s.pending[0].id(), s.pending[n-1].id()
			pending = pending[:3]
			for _, consumer := range streamConsumers() {
				if count := perConsumer[consumer]; count > 0 {
					pending = append(pending, consumer, fmt.Sprint(count))
				}
			}
		}
	}
	return streamText(entries, pending)
}

func streamText(entries, pending []string) string {
	return fmt.Sprintf("stream %q pending %q", entries, pending)
}

// streamConsumers are the consumers of generated lines, in order.
func streamConsumers() []string { return []string{"c", "d"} }
