package commands

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	"reminis/commands/reply"
	"reminis/engine"
)

// This file tests hashes by what must hold whatever their form: against a map,
// through every change of form, and for what is drawn at random.

// hashModel is a hash as a map, with Redis's rule for its encoding.
type hashModel struct {
	fields map[string]string
	table  bool // it passed a threshold since it was made
}

func (m *hashModel) set(field, value string) {
	m.fields[field] = value
	m.table = m.table || len(field) > 64 || len(value) > 64 || len(m.fields) > 512
}

func (m *hashModel) remove(field string) {
	delete(m.fields, field)
	if len(m.fields) == 0 {
		m.table = false
	}
}

func TestHashAgainstModel(t *testing.T) {
	r := seeded(t)
	for _, test := range []struct {
		fields, valueMax int
	}{{5, 10}, {40, 70}, {100, 70}, {600, 20}, {60, 400}} {
		s, c := newTestClient(t)
		m := &hashModel{fields: map[string]string{}}
		for step := range 3000 {
			field := "f" + strconv.Itoa(r.IntN(test.fields))
			switch r.IntN(8) {
			case 0, 1:
				_, there := m.fields[field]
				want := ":0\r\n"
				if there {
					want = ":1\r\n"
				}
				m.remove(field)
				if have := c.say("HDEL", "h", field); have != want {
					t.Fatalf("HDEL %s: %q, want %q", field, have, want)
				}
			case 2:
				n, err := strconv.Atoi(m.fields[field])
				if _, there := m.fields[field]; there && err != nil {
					continue
				}
				m.set(field, strconv.Itoa(n+7))
				if have := c.say("HINCRBY", "h", field, "7"); have != fmt.Sprintf(":%d\r\n", n+7) {
					t.Fatalf("HINCRBY %s: %q, want %d", field, have, n+7)
				}
			default:
				value := strings.Repeat("v", r.IntN(test.valueMax+1))
				if r.IntN(3) == 0 {
					value = strconv.Itoa(r.IntN(1000))
				}
				c.say("HSET", "h", field, value)
				m.set(field, value)
			}
			if step%50 == 0 {
				m.check(t, s, c)
			}
		}
		m.check(t, s, c)
		c.say("DEL", "h")
		if err := s.core.Engine.Check(); err != nil {
			t.Error(err)
		}
	}
}

// check compares what the commands say of the hash with the model.
func (m *hashModel) check(t *testing.T, s *testServer, c *testClient) {
	t.Helper()
	if have := c.say("HLEN", "h"); have != fmt.Sprintf(":%d\r\n", len(m.fields)) {
		t.Fatalf("HLEN: %q of %d", have, len(m.fields))
	}
	if have := pairsOf(t, c.say("HGETALL", "h")); !maps.Equal(have, m.fields) {
		t.Fatalf("HGETALL: %v, want %v", have, m.fields)
	}
	encoding := "listpack"
	if m.table {
		encoding = "hashtable"
	}
	if have := c.say("OBJECT", "ENCODING", "h"); len(m.fields) > 0 && !strings.Contains(have, encoding) {
		t.Fatalf("OBJECT ENCODING: %q, want %s", have, encoding)
	}
	for field, value := range m.fields {
		if have := c.say("HGET", "h", field); have != fmt.Sprintf("$%d\r\n%s\r\n", len(value), value) {
			t.Fatalf("HGET %s: %q, want %q", field, have, value)
		}
	}
	if err := s.core.Engine.Check(); err != nil {
		t.Fatal(err)
	}
}

// pairsOf reads a flat array of fields and values.
func pairsOf(t *testing.T, data string) map[string]string {
	t.Helper()
	list := textsOf(t, []byte(data))
	pairs := map[string]string{}
	for i := 0; i+1 < len(list); i += 2 {
		pairs[list[i]] = list[i+1]
	}
	if len(pairs)*2 != len(list) {
		t.Fatalf("a field comes twice, or without a value: %q", list)
	}
	return pairs
}

// textsOf reads all strings of a reply, however nested.
func textsOf(t testing.TB, data []byte) []string {
	t.Helper()
	var texts []string
	for len(data) > 0 {
		item, rest, err := reply.Read(data)
		if err != nil || item.Kind == reply.KindError {
			t.Fatalf("%v: %q", err, data)
		}
		if item.Kind == reply.KindBulk {
			texts = append(texts, string(item.Text))
		}
		data = rest
	}
	return texts
}

// TestScanSeesWhatStays scans while other fields and keys come and go, so that
// tables grow and shrink under the cursor.
func TestScanSeesWhatStays(t *testing.T) {
	r := seeded(t)
	for _, test := range []struct {
		name    string
		scan    []string
		add     func(c *testClient, name string)
		remove  func(c *testClient, name string)
		pairs   bool
		staying int
	}{
		{"HSCAN", []string{"HSCAN", "h"}, func(c *testClient, name string) { c.say("HSET", "h", name, "v") }, func(c *testClient, name string) { c.say("HDEL", "h", name) }, true, 1500},
		{"HSCAN of a packed hash", []string{"HSCAN", "h"}, func(c *testClient, name string) { c.say("HSET", "h", name, "v") }, func(c *testClient, name string) { c.say("HDEL", "h", name) }, true, 20},
		{"SSCAN", []string{"SSCAN", "s"}, func(c *testClient, name string) { c.say("SADD", "s", name) }, func(c *testClient, name string) { c.say("SREM", "s", name) }, false, 1500},
		{"SSCAN of a packed set", []string{"SSCAN", "s"}, func(c *testClient, name string) { c.say("SADD", "s", name) }, func(c *testClient, name string) { c.say("SREM", "s", name) }, false, 20},
		{"SCAN", []string{"SCAN"}, func(c *testClient, name string) { c.say("SET", name, "v") }, func(c *testClient, name string) { c.say("DEL", name) }, false, 3000},
		{"SCAN of few keys", []string{"SCAN"}, func(c *testClient, name string) { c.say("SET", name, "v") }, func(c *testClient, name string) { c.say("DEL", name) }, false, 3},
	} {
		_, c := newTestClient(t)
		for i := range test.staying {
			test.add(c, "stays"+strconv.Itoa(i))
		}
		seen := map[string]bool{}
		calls := 0
		for cursor := "0"; calls == 0 || cursor != "0"; calls++ {
			if calls > 100*test.staying+1000 {
				t.Fatalf("%s does not end", test.name)
			}
			list := textsOf(t, []byte(c.say(append(test.scan, cursor, "COUNT", "10")...)))
			cursor = list[0]
			for i := 1; i < len(list); i++ {
				seen[list[i]] = true
				if test.pairs {
					i++
				}
			}
			change := test.add
			if calls/40%2 == 1 {
				change = test.remove
			}
			for range 30 {
				change(c, "passes"+strconv.Itoa(r.IntN(4*test.staying)))
			}
		}
		for i := range test.staying {
			if !seen["stays"+strconv.Itoa(i)] {
				t.Errorf("%s misses stays%d", test.name, i)
			}
		}
	}
}

// TestHashMemory holds a hash of the usual size with one long value to a
// fraction of what a table takes.
func TestHashMemory(t *testing.T) {
	_, c := newTestClient(t)
	c.say("HSET", "h", "name", "Ada", "mail", "ada@example.org", "profile", strings.Repeat("x", 300))
	have := c.say("MEMORY", "USAGE", "h")
	if n, err := strconv.Atoi(strings.Trim(have, ":\r\n")); err != nil || n > 450 {
		t.Errorf("%q bytes for 330 bytes of fields and values", have)
	}
}

// TestKeyAllocations: commands on one key do not allocate in their handlers.
func TestKeyAllocations(t *testing.T) {
	e := engine.Open(engine.Options{Pool: testPool(), Clock: &fakeClock{testStartMs}})
	tx := e.Begin()
	key, field, long := []byte("h"), []byte("f1"), []byte("long")
	pair, locked := [][]byte{field, []byte("7")}, [][]byte{key, long}
	increment := &hIncrParams{}
	var w reply.Writer
	tx.LockKeys([][]byte{key, long})
	for i := range 20 {
		tx.HashSet(key, fmt.Appendf(nil, "f%d", i), []byte("100"))
	}
	for i := range 600 {
		tx.HashSet(long, fmt.Appendf(nil, "f%d", i), []byte("100"))
	}
	tx.Commit()
	out := make([]byte, 0, 1<<10)
	increase := func(key []byte) error {
		// Params are pooled.
		*increment = hIncrParams{key: key, field: field, amount: 1}
		return runHIncrBy(tx, increment, &w)
	}
	for name, run := range map[string]func() error{
		"HGET":            func() error { return runHGet(tx, &fieldParams{key: key, field: field}, &w) },
		"HGET of a table": func() error { return runHGet(tx, &fieldParams{key: long, field: field}, &w) },
		"HMGET":           func() error { return runHMGet(tx, &fieldsParams{key: key, fields: pair}, &w) },
		"HINCRBY":         func() error { return increase(key) },
		"HINCRBY, table":  func() error { return increase(long) },
		"HSET": func() error {
			_, err := setFields(tx, &fieldsParams{key: key, fields: pair})
			return err
		},
		"TTL":     func() error { return runTTL(tx, &keyParams{key: key}, &w, clockUnit{1000, true}) },
		"TYPE":    func() error { return runType(tx, &keyParams{key: key}, &w) },
		"PERSIST": func() error { return runPersist(tx, &keyParams{key: key}, &w) },
		"EXPIRE that fails": func() error {
			return runExpire(tx, &expireParams{key: key, amount: 9, xx: true}, &w, clockUnit{1, true})
		},
	} {
		once := func() {
			w.Reset(out)
			tx.LockKeys(locked)
			if err := run(); err != nil {
				t.Fatal(name, err)
			}
			tx.Commit()
		}
		once()
		if n := testing.AllocsPerRun(100, once); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	tx.Done()
}
