package engine

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"reminis/engine/memory"
	"reminis/engine/recall"
	"reminis/engine/schema"
)

// This file says what rules do to records in the engine, and that they are the
// same after a restart, from rows and from the journal.

func (w *recordWorld) withTx(what func(tx *Tx)) {
	tx := w.e.Begin()
	tx.LockAll()
	what(tx)
	tx.Commit()
	tx.Done()
}

func (w *recordWorld) setPolicy(scope string, words ...string) {
	w.t.Helper()
	args := make([][]byte, len(words))
	for i := range words {
		args[i] = []byte(words[i])
	}
	settings, err := memory.ParseSettings(args)
	if err != nil {
		w.t.Fatal(err)
	}
	w.withTx(func(tx *Tx) {
		parsed, err := tx.Layout().ParseScope([]byte(scope))
		if err != nil {
			w.t.Fatal(err)
		}
		p, err := tx.Rules().Policies().Find([]byte(scope)).Updated(parsed, settings)
		if err != nil {
			w.t.Fatal(err)
		}
		tx.SetPolicy(p, nil)
	})
}

func (w *recordWorld) write(key, value string, kind memory.Kind) {
	w.withTx(func(tx *Tx) {
		parsed, err := tx.Layout().ParseKey([]byte(key))
		if err != nil {
			w.t.Fatal(err)
		}
		event := tx.NewEvent()
		event.Op, event.Key, event.Version = memory.OpInit, parsed.Text, 1
		tx.PutRecord(parsed, &memory.Record{Value: []byte(value), Kind: kind, Version: 1, Confidence: 1}, &event, Retention{Versions: 10})
	})
}

func (w *recordWorld) view(owner string) (view *OwnerView) {
	w.withTx(func(tx *Tx) { view, _ = tx.OwnerView([]byte(owner)) })
	return view
}

// eachRestart runs what before a restart, after one from the journal, and after
// one from rows.
func (w *recordWorld) eachRestart(what func()) {
	what()
	w.restart()
	what()
	w.checkpoint()
	w.restart()
	what()
}

func TestRulesSurvive(t *testing.T) {
	w := newRecordWorld(t, 1, 1000, 0)
	first, err := schema.Compile("note", 1, []byte(`{"properties":{"a":{"type":"string"}}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := schema.Compile("note", 2, []byte(`{}`), []byte(`{"b":1}`))
	if err != nil {
		t.Fatal(err)
	}
	w.withTx(func(tx *Tx) { tx.SetSchema(first, nil) })
	w.withTx(func(tx *Tx) { tx.SetSchema(second, nil) })
	w.setPolicy("p", "TTL.profile", "5", "REDACT", "$['a b']", "HASH")
	w.setPolicy("p", "ENCRYPT", "$.x")
	w.setPolicy("q", "AUDIT", "ALL")
	w.setPolicy("p:u0:*", "SCHEMA", "note")
	w.withTx(func(tx *Tx) { tx.RemovePolicy([]byte("q"), nil) })
	w.withTx(func(tx *Tx) {
		tx.SetConsent([]byte("p:u0"), tx.Consent([]byte("p:u0")).With(memory.Profile, true).With(memory.Semantic, false), nil)
	})
	w.eachRestart(func() {
		rules := w.e.Rules()
		if rules.Schemas().Len() != 2 || rules.Policies().Len() != 2 {
			t.Fatalf("%d schemas, %d policies", rules.Schemas().Len(), rules.Policies().Len())
		}
		if got := rules.Schemas().Newest("note"); string(got.Document) != "{}" || string(got.Migrate) != `{"b":1}` {
			t.Errorf("the newest note is %s, from %s", got.Document, got.Migrate)
		}
		if rules.Schemas().Get("note", 1).Check([]byte(`{"a":1}`)) == nil {
			t.Error("note@1 checks nothing")
		}
		p := rules.Policies().Resolve([]byte("p:u0:s:k"))
		if p.Rule(memory.Profile).TTLMs != 5000 || p.Schema() != "note" || p.Redacted()[0].Path != "$['a b']" || p.Encrypted()[0] != "$.x" {
			t.Errorf("the policy is %+v", p.Decided)
		}
		w.withTx(func(tx *Tx) {
			consent := tx.Consent([]byte("p:u0"))
			if consent.Of(memory.Profile) != memory.ConsentGranted || consent.Of(memory.Semantic) != memory.ConsentRevoked || consent.Of(memory.Session) != memory.ConsentUnset {
				t.Errorf("consent is %+v", consent)
			}
		})
	})
}

// TestRevokedConsentHides: what a revoked consent covers is in no read, and is
// all there again once it is granted.
func TestRevokedConsentHides(t *testing.T) {
	w := newRecordWorld(t, 1, 1000, 0)
	const key = "p:u0:s:k0"
	w.write(key, `"green tea"`, memory.Profile)
	w.write("p:u0:s:k1", `"green room"`, memory.Session)
	said := func(granted bool) {
		w.withTx(func(tx *Tx) {
			tx.SetConsent([]byte("p:u0"), tx.Consent([]byte("p:u0")).With(memory.Profile, granted), nil)
		})
	}
	check := func(visible int) {
		t.Helper()
		view := w.view("p:u0")
		var listed, found, versions int
		view.Ascend(nil, func(Stored, uint64) bool { listed++; return true })
		var searcher recall.Searcher
		for _, hit := range searcher.Search(view.Index(), recall.Query{Text: "green", Limit: 10}).Hits {
			if _, ok := view.ByDoc(hit.ID); ok {
				found++
			}
		}
		if err := view.History([]byte(key), 0, ^uint64(0), false, func(Change) bool { versions++; return true }); err != nil {
			t.Fatal(err)
		}
		_, got := view.Get([]byte(key))
		_, _, at, err := view.At([]byte(key), memory.Moment{Set: true, TimeMs: w.clock.ms})
		_, version, errVersion := view.Version([]byte(key), 1)
		if err != nil || errVersion != nil {
			t.Fatal(err, errVersion)
		}
		var record, standing bool
		w.withTx(func(tx *Tx) {
			_, record, _ = tx.Record([]byte(key))
			_, standing, _ = tx.Standing([]byte(key))
		})
		all := visible == 2
		if listed != visible || found != visible || versions != visible-1 || got != all || at != all || version != all || record != all || !standing {
			t.Errorf("%d to be seen: %d listed, %d found, %d versions, get %t, at %t, version %t, record %t, standing %t",
				visible, listed, found, versions, got, at, version, record, standing)
		}
		if _, ok := view.Standing().Get([]byte(key)); !ok {
			t.Error("it does not stand for whoever ends it")
		}
	}
	w.eachRestart(func() { check(2) })
	said(false)
	w.eachRestart(func() { check(1) })
	said(true)
	w.eachRestart(func() { check(2) })
	said(false)
	w.withTx(func(tx *Tx) {
		if !tx.ForgetRecord([]byte(key), nil) {
			t.Error("what is hidden cannot be forgotten")
		}
	})
	if err := w.e.checkRecords(); err != nil {
		t.Error(err)
	}
}

func TestQuota(t *testing.T) {
	w := newRecordWorld(t, 1, 1000, 0)
	w.setPolicy("p", "MAXRECORDS", "2", "MAXBYTES", "400")
	w.write("p:u0:s:k0", `"a"`, memory.Profile)
	check := func(key, value, want string) {
		t.Helper()
		w.withTx(func(tx *Tx) {
			parsed, _ := tx.Layout().ParseKey([]byte(key))
			got := ""
			if err := tx.CheckQuota(tx.Policy(parsed.Text), parsed, &memory.Record{Value: []byte(value), Kind: memory.Profile, Version: 1}); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%s: %q, want %q", key, got, want)
			}
		})
	}
	large := `"` + string(make([]byte, 400)) + `"`
	w.eachRestart(func() {
		check("p:u0:s:k1", `"b"`, "")
		check("p:u0:s:k0", `"b"`, "")
		check("p:u1:s:k0", large, "QUOTA the owner would have 456 bytes, MAXBYTES of the policy of p is 400")
	})
	w.write("p:u0:s:k1", `"b"`, memory.Working)
	check("p:u0:s:k2", `"b"`, "QUOTA the owner would have 3 records, MAXRECORDS of the policy of p is 2")
	w.write("p:u0:s:k0", large, memory.Profile) // the policy came later, say
	check("p:u0:s:k0", `"less"`, "")
	check("q:u0:s:k0", large, "")
	if err := w.e.checkRecords(); err != nil {
		t.Error(err)
	}
}

// TestPolicyOfEventsAndAnchors: AUDIT NONE leaves no event, and what is
// encrypted or not indexed is not found.
func TestPolicyOfEventsAndAnchors(t *testing.T) {
	w := newRecordWorld(t, 1, 1000, 0)
	w.setPolicy("p", "AUDIT", "NONE", "ENCRYPT", "$.secret", "INDEX", "$.say", "INDEX", "$.secret")
	w.write("p:u0:s:k0", `{"secret":"apple","say":"pear","other":"plum"}`, memory.Profile)
	w.write("q:u0:s:k0", `{"secret":"apple","say":"pear","other":"plum"}`, memory.Profile)
	count := func(owner, word string) int {
		var searcher recall.Searcher
		return len(searcher.Search(w.view(owner).Index(), recall.Query{Text: word, Limit: 10}).Hits)
	}
	w.eachRestart(func() {
		for _, test := range []struct {
			owner, word string
			want        int
		}{{"p:u0", "apple", 0}, {"p:u0", "pear", 1}, {"p:u0", "plum", 0}, {"q:u0", "apple", 1}, {"q:u0", "plum", 1}} {
			if got := count(test.owner, test.word); got != test.want {
				t.Errorf("%s in %s: %d", test.word, test.owner, got)
			}
		}
		for owner, want := range map[string]int{"p:u0": 0, "q:u0": 1} {
			events := 0
			if err := w.view(owner).Events(0, ^uint64(0), false, func(uint64, []byte) bool { events++; return true }); err != nil || events != want {
				t.Errorf("%s: %d events, %v", owner, events, err)
			}
		}
	})
}

// TestRulesChangeUnderWrites: records are written and read while policies and
// consent change; run with the race detector.
func TestRulesChangeUnderWrites(t *testing.T) {
	e := Open(Options{})
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 3))
			for range 300 {
				owner := fmt.Sprintf("p:u%d", random.IntN(2))
				key, err := e.Layout().ParseKey([]byte(owner + ":s:" + string(rune('a'+random.IntN(4)))))
				if err != nil {
					t.Error(err)
				}
				tx := e.Begin()
				switch random.IntN(4) {
				case 0:
					scope, _ := e.Layout().ParseScope([]byte(owner))
					settings, _ := memory.ParseSettings([][]byte{[]byte("MAXRECORDS"), []byte(fmt.Sprint(1 + random.IntN(9))), []byte("INDEX"), []byte("$.a")})
					tx.LockAll()
					policy, _ := tx.Rules().Policies().Find(scope.Text()).Updated(scope, settings)
					tx.SetPolicy(policy, nil)
				case 1:
					tx.LockAll()
					tx.SetConsent([]byte(owner), tx.Consent([]byte(owner)).With(memory.Profile, random.IntN(2) == 0), nil)
				case 2:
					tx.LockRecords([][]byte{key.Text}, 0)
					r := memory.Record{Value: []byte(`{"a":"b"}`), Kind: memory.Profile, Version: 1}
					if tx.CheckQuota(tx.Policy(key.Text), key, &r) == nil {
						event := tx.NewEvent()
						event.Op, event.Key, event.Version = memory.OpInit, key.Text, 1
						tx.PutRecord(key, &r, &event, Retention{Versions: 10})
					}
				default:
					if view, ok := tx.OwnerView([]byte(owner)); ok {
						view.Ascend(nil, func(s Stored, _ uint64) bool { return s.Key != nil })
						view.Policy(key.Text).Rule(memory.Profile)
					}
				}
				tx.Commit()
				tx.Done()
			}
		})
	}
	group.Wait()
	if err := e.checkRecords(); err != nil {
		t.Error(err)
	}
}
