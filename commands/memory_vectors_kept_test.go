package commands

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"reminis/engine"
	"reminis/engine/vector"
)

// This file owns the tests that vectors which were made outlive a restart, and end
// with what they are of.

// vectorWorld is a server with an embedder that the test acts for.
type vectorWorld struct {
	filterWorld
	name    string
	offered []engine.Unembedded
}

func (w *vectorWorld) restart() {
	w.start()
	w.offered = nil
	w.s.core.Engine.UseEmbedder(engine.Embedder{Name: w.name, Offer: func(u engine.Unembedded) bool {
		w.offered = append(w.offered, u)
		return true
	}})
	w.s.core.Engine.OfferAll()
}

// missing are the texts without a vector, by OfferAll.
func (w *vectorWorld) missing() (texts []string) {
	before := w.offered
	w.offered = nil
	w.s.core.Engine.OfferAll()
	for _, u := range w.offered {
		texts = append(texts, u.Text)
	}
	w.offered = before
	slices.Sort(texts)
	return texts
}

// embed makes the vectors of what was offered.
func (w *vectorWorld) embed(share int) {
	for _, u := range w.offered {
		if w.r.IntN(100) >= share {
			continue
		}
		h := fnv.New64a()
		h.Write([]byte(u.Text))
		r := rand.New(rand.NewPCG(h.Sum64(), 1))
		v := make([]float32, 8)
		for i := range v {
			v[i] = float32(r.NormFloat64())
		}
		w.s.core.Engine.Embed(u, v)
	}
	w.offered = nil
}

// found is what a recall by vector answers.
func (w *vectorWorld) found() string {
	blob := string(vector.Append(nil, []float32{1, 2, 3, 4, 5, 6, 7, 8}))
	return w.say("MEM.RECALL", "ai:u", "VECTOR", blob, "TOPK", "1000")
}

// kept is how many vectors are kept, and how many the owner has that were made.
func (w *vectorWorld) kept() (facets, embedded int) {
	w.Helper()
	tx := w.s.core.Engine.Begin()
	defer tx.Done()
	if view, ok := tx.OwnerView([]byte("ai:u")); ok {
		view.Facets("vector/", func(string, []byte) bool {
			facets++
			return true
		})
	}
	_, after, _ := strings.Cut(w.say("MEM.STATS", "ai:u"), "embedded\r\n:")
	if _, err := fmt.Sscan(after, &embedded); err != nil {
		w.Fatal(err)
	}
	return facets, embedded
}

func (w *vectorWorld) change() {
	text := fmt.Sprintf("%s %d", w.pick("tea", "coffee", "milk"), w.r.IntN(1000))
	key := fmt.Sprintf("ai:u:s:%d", w.r.IntN(12))
	turns := w.pick("ai:u:s:turns", "ai:u:s:more")
	switch w.r.IntN(18) {
	case 0:
		w.say("MEM.FORGET", "KEYS", "1", w.pick(key, turns))
	case 1, 2, 3:
		w.say("MEM.APPEND", turns, "MAXLEN", "6", "KIND", "semantic", "ITEMS", "2", `"`+text+`"`, `"and more"`)
	case 4:
		w.c.say("RENAME", w.pick(key, turns), w.pick("ai:u:s:3", "ai:u:s:new"))
	case 5:
		w.say("MEM.APPLY", "ai:u", fmt.Sprintf(`[{"action":"upsert","key":%q,"payload":%q},{"action":"delete","key":%q}]`, key, text, "ai:u:s:1"))
	case 6:
		w.c.say("MEM.APPLY", "ai:u", fmt.Sprintf(`[{"action":"upsert","key":%q,"payload":%q},{"action":"delete","key":%q,"ifversion":99}]`, key, text, key))
	case 7:
		w.say("MEM.SET", turns, `["one","two"]`, "KIND", "semantic")
	case 8:
		w.say("EXPIRE", w.pick(key, turns), "1")
		w.s.clock.nowMs += 400
	case 9:
		w.c.say("MEM.ROLLBACK", turns, "VERSION", fmt.Sprint(1+w.r.IntN(4)))
	case 10, 11:
		w.say("MEM.APPEND", w.pick("ai:u:a:turns", "ai:u:b:turns"), "MAXLEN", "6", "KIND", "session", "ITEMS", "1", `"`+text+`"`)
	case 12:
		w.say("MEM.SESSION", "MERGE", "ai:u", "a", "b")
	case 13:
		switch w.r.IntN(12) {
		case 0:
			w.say("MEM.ERASE", w.pick("ai:u", "ai:u:s:turns", "ai:u:s:2"))
		case 1:
			w.say("FLUSHALL")
		}
	default:
		w.say("MEM.SET", key, text, "TEXT", "KIND", w.pick("semantic", "profile", "session"))
	}
}

func TestMadeVectorsOutliveRestarts(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			w := &vectorWorld{filterWorld: filterWorld{T: t, r: rand.New(rand.NewPCG(seed, 11)), tape: &tape{}}, name: "first"}
			w.restart()
			most := 0
			for range 12 {
				for range 25 {
					w.change()
					w.embed(w.r.IntN(101))
				}
				w.say("MEM.FORGET", "SCOPE", "ai:u:s:none") // what has expired goes
				w.say("KEYS", "*")
				facets, embedded := w.kept()
				if most = max(most, embedded); facets != embedded {
					t.Fatalf("%d vectors are kept of %d", facets, embedded)
				}
				found, missing := w.found(), w.missing()
				w.restart()
				if got := w.found(); got != found {
					t.Fatalf("after a restart\n got %q\nwant %q", got, found)
				}
				if got := w.missing(); !slices.Equal(got, missing) {
					t.Fatalf("after a restart vectors are missing of %q, before of %q", got, missing)
				}
			}
			if most < 5 {
				t.Errorf("at most %d vectors at once", most)
			}
		})
	}
}

// TestMadeVectorsOfAnother: what another embedder made, or of another text, is made
// again; working records leave nothing.
func TestMadeVectorsOfAnother(t *testing.T) {
	w := &vectorWorld{filterWorld: filterWorld{T: t, r: rand.New(rand.NewPCG(1, 1)), tape: &tape{}}, name: "first"}
	w.restart()
	w.say("MEM.SET", "ai:u:s:plain", `{"a":"tea"}`)
	w.say("MEM.SET", "ai:u:s:secret", `{"a":"tea","b":"milk"}`)
	w.say("MEM.SET", "ai:u:s:step", `{"a":"coffee"}`, "KIND", "working")
	w.embed(100)
	if facets, embedded := w.kept(); facets != 2 || embedded != 3 {
		t.Errorf("%d vectors are kept of %d", facets, embedded)
	}
	check := func(want ...string) {
		t.Helper()
		if got := w.missing(); !slices.Equal(got, want) {
			t.Errorf("missing %q, want %q", got, want)
		}
	}
	w.restart()
	check()
	w.say("MEM.POLICY", "SET", "ai:u", "ENCRYPT", "$.b")
	w.restart()
	check("tea")
	w.name = "second"
	w.restart()
	check("tea", "tea")
	w.embed(100)
	w.restart()
	check()
}
