package commands

import (
	"fmt"
	"testing"

	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/effect"
)

// This file tests what transcripts cannot show of strings: allocations, costs,
// and the longest common subsequence against the textbook's table.

// sizeJournal counts the bytes of the values that it is given.
type sizeJournal struct {
	seq       uint64
	sizeBytes int
}

func (j *sizeJournal) Ready() error { return nil }

func (j *sizeJournal) Append(batch *effect.Batch) (uint64, int64) {
	j.seq++
	j.sizeBytes += batch.SizeBytes()
	return j.seq, batch.TimeMs
}

func TestHotHandlersDoNotAllocate(t *testing.T) {
	e := engine.Open(engine.Options{Pool: testPool(), Clock: &fakeClock{testStartMs}})
	tx := e.Begin()
	key, number, value := []byte("key"), []byte("number"), []byte("a value of some 30 bytes length")
	keys := [][]byte{key, number}
	pairs := [][]byte{key, value, number, []byte("1")}
	incremented, bit := &incrParams{key: number}, &setBitParams{key: key, offset: 7}
	var w reply.Writer
	out := make([]byte, 0, 1024)
	for name, run := range map[string]func() error{
		"get":  func() error { return runGet(tx, &keyParams{key: key}, &w) },
		"set":  func() error { return runSet(tx, &setParams{key: key, value: value}, &w) },
		"mget": func() error { return runMGet(tx, &mGetParams{keys: keys}, &w) },
		"mset": func() error { return runMSet(tx, &pairsParams{pairs: pairs}, &w) },
		"incr": func() error { return incremented.add(tx, 1, &w) },
		"setbit": func() error {
			bit.bit ^= 1
			return runSetBit(tx, bit, &w)
		},
	} {
		once := func() {
			w.Reset(out)
			tx.LockKeys(keys)
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

// TestAppendIsAmortised appends one byte at a time and counts how often the
// value moved: about once per doubling, not once per call.
func TestAppendIsAmortised(t *testing.T) {
	e := engine.Open(engine.Options{Pool: testPool(), Clock: &fakeClock{testStartMs}})
	tx := e.Begin()
	defer tx.Done()
	p := &keyValueParams{key: []byte("k"), value: []byte("x")}
	var w reply.Writer
	moves := 0
	var at *byte
	for range 100_000 {
		w.Reset(nil)
		tx.LockKeys([][]byte{p.key})
		if err := runAppend(tx, p, &w); err != nil {
			t.Fatal(err)
		}
		value, _ := tx.String(p.key)
		if &value[0] != at {
			at = &value[0]
			moves++
		}
		tx.Commit()
	}
	if moves > 60 {
		t.Errorf("100,000 bytes appended one by one moved %d times", moves)
	}
}

// textbook is the table of lengths of common subsequences as textbooks fill it.
func textbook(a, b []byte) [][]int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
		for j := range table[i] {
			switch {
			case i == 0 || j == 0:
			case a[i-1] == b[j-1]:
				table[i][j] = table[i-1][j-1] + 1
			default:
				table[i][j] = max(table[i-1][j], table[i][j-1])
			}
		}
	}
	return table
}

func TestLCSAsTextbook(t *testing.T) {
	r := seeded(t)
	text := func() []byte {
		out := make([]byte, r.IntN(200))
		letters := 1 + r.IntN(5)
		for i := range out {
			out[i] = 'a' + byte(r.IntN(letters))
		}
		return out
	}
	for range 300 {
		a, b := text(), text()
		table := textbook(a, b)
		var want, have []string
		size := 0
		for i, j := len(a), len(b); i > 0 && j > 0; {
			if a[i-1] == b[j-1] {
				if size++; i == 1 || j == 1 {
					want = append(want, fmt.Sprint(i-1, j-1, size))
				}
				i, j = i-1, j-1
				continue
			}
			if size > 0 {
				want, size = append(want, fmt.Sprint(i, j, size)), 0
			}
			if table[i-1][j] > table[i][j-1] {
				i--
			} else {
				j--
			}
		}
		l := newLCS(a, b, true)
		l.walk(func(i, j, size int) { have = append(have, fmt.Sprint(i, j, size)) })
		if l.length != table[len(a)][len(b)] || fmt.Sprint(have) != fmt.Sprint(want) {
			t.Fatalf("%s\n%s\nwant %d %v\nhave %d %v", a, b, table[len(a)][len(b)], want, l.length, have)
		}
		if length := newLCS(a, b, false).length; length != l.length {
			t.Fatalf("%s\n%s\nlength alone: %d", a, b, length)
		}
	}
}
