package persistence

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"reminis/engine/effect"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// world is a store beside the toy that says what must be in it.
type world struct {
	t    testing.TB
	seed uint64
	fs   vfs.FS
	opts Options
	s    *Store
	toyWorld
}

func newWorld(t testing.TB, seed uint64, fs vfs.FS, opts Options) *world {
	w := &world{t: t, seed: seed, fs: fs, opts: opts, toyWorld: toyWorld{rng: rand.New(rand.NewPCG(seed, 1)), toy: newToy()}}
	w.s = mustOpen(t, fs, "store", opts)
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("seed %d: %v", w.seed, err)
	}
}

func (w *world) append() {
	var b effect.Batch
	seq, timeMs := w.seq+1, w.timeMs+int64(w.rng.IntN(3))
	w.batch(&b, seq, timeMs)
	gotSeq, gotMs := w.s.Append(&b)
	if gotSeq != seq || gotMs != timeMs {
		w.t.Fatalf("seed %d: batch %d at %d was given %d at %d", w.seed, seq, timeMs, gotSeq, gotMs)
	}
}

// verify recovers the store and compares it with the toy.
func (w *world) verify(when string) {
	w.t.Helper()
	got := newToy()
	w.must(w.s.Recover(got))
	if got.keysText() != w.keysText() {
		w.t.Fatalf("seed %d: %s: got keys\n%s\nwant\n%s", w.seed, when, got.keysText(), w.keysText())
	}
	if got.headsText() != w.headsText() {
		w.t.Fatalf("seed %d: %s: got heads\n%s\nwant\n%s", w.seed, when, got.headsText(), w.headsText())
	}
}

// verifyArchive compares history and events with the toy; everything must be in
// a checkpoint.
func (w *world) verifyArchive(when string) {
	w.t.Helper()
	for name, want := range w.history {
		var space uint32
		var key string
		if n, _ := fmt.Sscanf(name, "%d %s", &space, &key); n != 2 || w.toyWorld.history[name] == nil {
			continue
		}
		for _, reverse := range []bool{false, true} {
			var got []string
			w.must(w.s.History(space, []byte(key), 0, ^uint64(0), reverse, func(seq uint64, timeMs int64, e *effect.Effect) bool {
				got = append(got, changeText(e, seq, timeMs))
				return true
			}))
			if reverse {
				slices.Reverse(got)
			}
			var texts []string
			for _, c := range want {
				texts = append(texts, c.text)
			}
			missing := len(texts) - len(got)
			if missing < 0 || !slices.Equal(got, texts[missing:]) || !mayMiss(want, missing, w.timeMs) || mustMiss(want, missing) {
				w.t.Fatalf("seed %d: %s: history of %s reverse %v at %d:\ngot  %q\nwant %q", w.seed, when, name, reverse, w.timeMs, got, texts)
			}
			w.verifyItems(when, space, key, want, missing)
		}
	}
	for name, want := range w.events {
		var space uint32
		var owner string
		_, _ = fmt.Sscanf(name, "%d %s", &space, &owner)
		from, to := w.someRange(want)
		var got, texts []string
		w.must(w.s.Events(space, []byte(owner), from, to, false, func(seq uint64, timeMs int64, event []byte) bool {
			got = append(got, fmt.Sprintf("%d %d %s", seq, timeMs, event))
			return true
		}))
		for _, e := range want {
			if e.seq >= from && e.seq <= to {
				texts = append(texts, e.text)
			}
		}
		if !slices.Equal(got, texts) {
			w.t.Fatalf("seed %d: %s: events of %s from %d to %d:\ngot  %q\nwant %q", w.seed, when, name, from, to, got, texts)
		}
	}
}

// verifyItems compares the items of each retained version that is a list, and
// says whether what is no longer needed is gone.
func (w *world) verifyItems(when string, space uint32, key string, list []toyChange, missing int) {
	w.t.Helper()
	pruned, err := w.s.Pruned(space, []byte(key))
	w.must(err)
	if (pruned > 0) != (missing > 0) {
		w.t.Fatalf("seed %d: %s: history of %s is pruned up to %d, %d changes are missing", w.seed, when, key, pruned, missing)
	}
	for _, c := range list[missing:] {
		var got []string
		visit := func(number uint64, item []byte) { got = append(got, fmt.Sprintf("%d %s", number, item)) }
		if c.list == 0 {
			continue
		}
		var first, next uint64
		_, _ = fmt.Sscanf(c.items[0], "%d", &first)
		_, _ = fmt.Sscanf(c.items[len(c.items)-1], "%d", &next)
		w.must(w.s.Items(space, []byte(key), c.list, first, next+1, visit))
		if !slices.Equal(got, c.items) {
			w.t.Fatalf("seed %d: %s: items of %s, %s:\ngot  %q\nwant %q", w.seed, when, key, c.text, got, c.items)
		}
	}
	// What comes before the oldest version that is left belongs to none.
	if len(list) == missing || list[missing].list == 0 {
		return
	}
	stale := 0
	oldest := list[missing]
	var first uint64
	_, _ = fmt.Sscanf(oldest.items[0], "%d", &first)
	w.must(w.s.rows.scan(itemSpan(space, []byte(key), itemPlace{}, itemPlace{oldest.list, first}), func([]byte, []byte) (bool, error) {
		stale++
		return true, nil
	}))
	if stale > 0 {
		w.t.Fatalf("seed %d: %s: %d items of %s are kept for no version", w.seed, when, stale, key)
	}
}

func (w *world) someRange(events []toyEvent) (from, to uint64) {
	if w.rng.IntN(2) == 0 {
		return 0, ^uint64(0)
	}
	a, b := events[w.rng.IntN(len(events))].seq, events[w.rng.IntN(len(events))].seq
	return min(a, b), max(a, b)
}

func (w *world) reopen(clean bool) {
	if clean {
		mustClose(w.t, w.s)
	} else {
		// Flush may leave it to a later call while an fsync is under way.
		w.must(w.s.journal.writeAll())
		w.fs = crash(w.t, w.fs, w.s)
	}
	w.s = mustOpen(w.t, w.fs, "store", w.opts)
}

func TestStoreAgainstModel(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 4 // with the race detector one takes 5 to 8 seconds
	}
	for round := range rounds {
		seed := rand.Uint64()
		opts := testOptions(t)
		if round%2 == 1 {
			opts.CheckpointBytes = 20 << 10 // several rounds in a checkpoint
		}
		w := newWorld(t, seed, vfs.NewCrashableMem(), opts)
		for range 12 {
			for range w.rng.IntN(60) {
				w.append()
				switch w.rng.IntN(20) {
				case 0:
					w.must(w.s.Flush())
				case 1:
					w.must(w.s.Sync())
				}
			}
			switch w.rng.IntN(6) {
			case 0, 1, 2:
				w.must(w.s.Checkpoint())
				w.verifyArchive("after a checkpoint")
			case 3:
				w.reopen(true)
				w.verifyArchive("after closing")
			case 4:
				w.reopen(false)
			}
			w.verify("after a step")
		}
		w.must(w.s.Checkpoint())
		w.verifyArchive("at the end")
		w.verify("at the end")
		mustClose(t, w.s)
		if report, err := Check(w.fs, "store"); err != nil || report.CheckpointSeq != w.seq {
			t.Fatalf("seed %d: check: %+v %v", seed, report, err)
		}
	}
}

func TestCheckpointKeepsNothingDead(t *testing.T) {
	opts := testOptions(t)
	w := newWorld(t, 7, vfs.NewCrashableMem(), opts)
	for range 6 {
		for range 80 {
			w.append()
		}
		w.must(w.s.Checkpoint())
	}
	var b effect.Batch
	for db := range uint32(3) {
		b.Add(&effect.Effect{Kind: effect.DBFlush, DB: db})
		w.apply(&effect.Effect{Kind: effect.DBFlush, DB: db}, w.seq+1, w.timeMs, false)
	}
	b.TimeMs = w.timeMs
	w.seq, _ = w.s.Append(&b)
	w.must(w.s.Checkpoint())
	left := map[byte]int{}
	w.must(w.s.rows.scan(span{[]byte{0}, []byte{0xff}}, func(row, _ []byte) (bool, error) {
		left[row[0]]++
		return true, nil
	}))
	if left[prefixKey]+left[prefixElement] != 0 {
		t.Fatalf("rows left after flushing every database: %v", left)
	}
	for _, prefix := range []byte{prefixEvent, prefixHistory, prefixHead, prefixCommand} {
		if left[prefix] == 0 {
			t.Fatalf("rows of kind %c went with a flush: %v", prefix, slices.Collect(maps.Keys(left)))
		}
	}
	w.verify("after flushing")
	mustClose(t, w.s)
}
