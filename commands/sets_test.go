package commands

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"reminis/commands/reply"
	"reminis/engine"
)

// This file tests sets by what must hold whatever their form: against maps, through
// every change of form, alone and several at once.

// setModel is a set as a map, with Redis's rule for its encoding.
type setModel struct {
	members map[string]bool
	table   bool // it passed a threshold since it was made
}

func newSetModel() *setModel { return &setModel{members: map[string]bool{}} }

func (m *setModel) add(member string) {
	n, err := strconv.ParseInt(member, 10, 64)
	isInt := err == nil && strconv.FormatInt(n, 10) == member
	m.members[member] = true
	m.table = m.table || !isInt || len(m.members) > 512
}

func (m *setModel) remove(member string) {
	delete(m.members, member)
	m.table = m.table && len(m.members) > 0
}

func (m *setModel) sorted() []string { return slices.Sorted(maps.Keys(m.members)) }

// member draws an integer of some width, or now and then a text.
func randomMember(r *rand.Rand, of int, texts bool) string {
	n := r.IntN(of)
	if texts && n%7 == 0 {
		return strings.Repeat("m", n%90) + strconv.Itoa(n)
	}
	return strconv.Itoa((n - of/2) << (n % 5 * 12))
}

func TestSetAgainstModel(t *testing.T) {
	r := seeded(t)
	for _, test := range []struct {
		members int
		texts   bool
	}{{5, false}, {40, true}, {60, false}, {120, true}, {800, false}, {800, true}} {
		s, c := newTestClient(t)
		m := newSetModel()
		for step := range 3000 {
			member := randomMember(r, test.members, test.texts)
			switch r.IntN(8) {
			case 0, 1:
				want := fmt.Sprintf(":%d\r\n", intOf(m.members[member]))
				m.remove(member)
				if have := c.say("SREM", "s", member); have != want {
					t.Fatalf("SREM %s: %q, want %q", member, have, want)
				}
			case 2:
				if have := c.say("SISMEMBER", "s", member); have != fmt.Sprintf(":%d\r\n", intOf(m.members[member])) {
					t.Fatalf("SISMEMBER %s: %q", member, have)
				}
			case 3:
				if len(m.members) == 0 || r.IntN(4) != 0 {
					continue
				}
				popped := textsOf(t, []byte(c.say("SPOP", "s")))
				if len(popped) != 1 || !m.members[popped[0]] {
					t.Fatalf("SPOP: %q", popped)
				}
				m.remove(popped[0])
			default:
				want := fmt.Sprintf(":%d\r\n", intOf(!m.members[member]))
				m.add(member)
				if have := c.say("SADD", "s", member); have != want {
					t.Fatalf("SADD %s: %q, want %q", member, have, want)
				}
			}
			if step%50 == 0 {
				m.check(t, s, c)
			}
		}
		m.check(t, s, c)
		c.say("DEL", "s")
		if err := s.core.Engine.Check(); err != nil {
			t.Error(err)
		}
	}
}

// check compares what the commands say of the set with the model.
func (m *setModel) check(t *testing.T, s *testServer, c *testClient) {
	t.Helper()
	if have := c.say("SCARD", "s"); have != fmt.Sprintf(":%d\r\n", len(m.members)) {
		t.Fatalf("SCARD: %q of %d", have, len(m.members))
	}
	members := textsOf(t, []byte(c.say("SMEMBERS", "s")))
	encoding := "hashtable"
	if !m.table {
		encoding = "intset"
		if !slices.IsSortedFunc(members, func(a, b string) int {
			x, _ := strconv.Atoi(a)
			y, _ := strconv.Atoi(b)
			return x - y
		}) {
			t.Fatalf("integers out of order: %q", members)
		}
	}
	slices.Sort(members)
	if !slices.Equal(members, m.sorted()) {
		t.Fatalf("SMEMBERS: %q, want %q", members, m.sorted())
	}
	if have := c.say("OBJECT", "ENCODING", "s"); len(members) > 0 && !strings.Contains(have, encoding) {
		t.Fatalf("OBJECT ENCODING: %q, want %s", have, encoding)
	}
	if err := s.core.Engine.Check(); err != nil {
		t.Fatal(err)
	}
}

// TestSetsAgainstModel makes sets of all forms out of each other.
func TestSetsAgainstModel(t *testing.T) {
	r := seeded(t)
	s, c := newTestClient(t)
	sets := map[string]map[string]bool{}
	keys := []string{"a", "b", "c", "d"}
	for range 600 {
		key := keys[r.IntN(len(keys))]
		of, texts := 1+r.IntN(1000), r.IntN(2) == 0
		line, set := []string{"SADD", key}, map[string]bool{}
		for range 1 + r.IntN(of) {
			member := randomMember(r, of, texts)
			line, set[member] = append(line, member), true
		}
		c.say("DEL", key)
		c.say(line...)
		sets[key] = set
		var operands []string
		for range 1 + r.IntN(4) {
			operands = append(operands, keys[r.IntN(len(keys))])
		}
		target := keys[r.IntN(len(keys))]
		name, want := "SINTER", maps.Clone(sets[operands[0]])
		switch r.IntN(3) {
		case 0:
			maps.DeleteFunc(want, func(member string, _ bool) bool {
				return slices.ContainsFunc(operands, func(key string) bool { return !sets[key][member] })
			})
			card := append([]string{"SINTERCARD", strconv.Itoa(len(operands))}, operands...)
			if have := c.say(card...); have != fmt.Sprintf(":%d\r\n", len(want)) {
				t.Fatalf("%q: %q, want %d", card, have, len(want))
			}
		case 1:
			name = "SUNION"
			if want == nil {
				want = map[string]bool{}
			}
			for _, key := range operands {
				maps.Copy(want, sets[key])
			}
		case 2:
			name = "SDIFF"
			maps.DeleteFunc(want, func(member string, _ bool) bool {
				return slices.ContainsFunc(operands[1:], func(key string) bool { return sets[key][member] })
			})
		}
		members := textsOf(t, []byte(c.say(append([]string{name}, operands...)...)))
		slices.Sort(members)
		if !slices.Equal(members, slices.Sorted(maps.Keys(want))) {
			t.Fatalf("%s %q: %d members, want %d", name, operands, len(members), len(want))
		}
		if have := c.say(append([]string{name + "STORE", target}, operands...)...); have != fmt.Sprintf(":%d\r\n", len(want)) {
			t.Fatalf("%sSTORE %s %q: %q, want %d", name, target, operands, have, len(want))
		}
		members = textsOf(t, []byte(c.say("SMEMBERS", target)))
		if sets[target] = want; len(members) != len(want) {
			t.Fatalf("%sSTORE leaves %d members, want %d", name, len(members), len(want))
		}
		if err := s.core.Engine.Check(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOperandsExpire has a key in the middle of a line expire while the line runs:
// what was read of the keys before it is read again.
func TestOperandsExpire(t *testing.T) {
	s, c := newTestClient(t)
	c.say("SADD", "{t}a", "1", "2", "x")
	c.say("SADD", "{t}b", "3", "y")
	c.say("PEXPIRE", "{t}b", "10")
	s.clock.nowMs += 11
	have := textsOf(t, []byte(c.say("SUNION", "{t}a", "{t}b", "{t}a")))
	slices.Sort(have)
	if !slices.Equal(have, []string{"1", "2", "x"}) {
		t.Errorf("%q", have)
	}
}

// TestSetMemory holds small sets to what they need.
func TestSetMemory(t *testing.T) {
	for _, test := range []struct {
		name, prefix string
		limit        int
	}{{"integers", "", 80}, {"texts", "member:", 170}} {
		_, c := newTestClient(t)
		for i := range 10 {
			c.say("SADD", "s", test.prefix+strconv.Itoa(i))
		}
		have := c.say("MEMORY", "USAGE", "s")
		if n, err := strconv.Atoi(strings.Trim(have, ":\r\n")); err != nil || n > test.limit {
			t.Errorf("%q bytes for ten %s, %d are allowed", have, test.name, test.limit)
		}
	}
}

// TestSetAllocations: commands on a member do not allocate in their handlers.
func TestSetAllocations(t *testing.T) {
	e := engine.Open(engine.Options{Pool: testPool(), Clock: &fakeClock{testStartMs}})
	tx := e.Begin()
	defer tx.Done()
	var w reply.Writer
	out := make([]byte, 0, 1<<10)
	key := []byte("s")
	locked := [][]byte{key}
	for _, form := range []struct {
		name, prefix string
		members      int
	}{{"integers", "", 50}, {"packed", "m", 50}, {"table", "m", 600}} {
		var members [][]byte
		for i := range form.members {
			members = append(members, fmt.Appendf(nil, "%s%d", form.prefix, i))
		}
		tx.LockKeys(locked)
		tx.Delete(key)
		tx.SetAdd(key, members)
		tx.Commit()
		p := &membersParams{key, members[7:8]}
		for name, run := range map[string]func() error{
			"SISMEMBER": func() error { return runSIsMember(tx, &memberParams{key, p.members[0]}, &w) },
			"SREM, SADD": func() error {
				if err := runSRem(tx, p, &w); err != nil {
					return err
				}
				return runSAdd(tx, p, &w)
			},
			"SRANDMEMBER": func() error { return runSRandMember(tx, &countParams{key: key}, &w) },
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
				t.Errorf("%s of %s: %v allocations", name, form.name, n)
			}
		}
	}
}
