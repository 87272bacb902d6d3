package engine

import (
	"fmt"
	"strings"
	"testing"

	"reminis/engine/memory"
)

// TestLinksHaveALimit: a record has 1,000 links at most, and those that lead
// nowhere give way.
func TestLinksHaveALimit(t *testing.T) {
	e := Open(Options{Clock: &fakeClock{ms: 1000}})
	key := func(i int) memory.Key {
		k, err := e.Layout().ParseKey(fmt.Appendf(nil, "ai:u1:s:%d", i))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	change := func(keys []memory.Key, do func(tx *Tx)) {
		tx := e.Begin()
		var texts [][]byte
		for _, k := range keys {
			texts = append(texts, k.Text)
		}
		tx.LockRecords(texts, 0)
		do(tx)
		tx.Commit()
		tx.Done()
	}
	link := func(i int) (changed bool, err error) {
		change([]memory.Key{key(0), key(i)}, func(tx *Tx) {
			changed, err = tx.SetLink(key(0), Link{Relation: []byte("x"), To: key(i).Text, Weight: 1}, nil)
		})
		return changed, err
	}
	for i := range linksMax + 2 {
		change([]memory.Key{key(i)}, func(tx *Tx) {
			r := memory.Record{Value: []byte("1"), Kind: memory.Profile, Version: 1, CreatedMs: 1000, UpdatedMs: 1000, Confidence: 1}
			tx.PutRecord(key(i), &r, nil, Retention{Versions: 1})
		})
	}
	for i := 1; i <= linksMax; i++ {
		if changed, err := link(i); !changed || err != nil {
			t.Fatalf("link %d: %v, %v", i, changed, err)
		}
	}
	if _, err := link(linksMax + 1); err == nil || !strings.Contains(err.Error(), "limit mem-links is 1000") {
		t.Errorf("one link too many: %v", err)
	}
	change([]memory.Key{key(1)}, func(tx *Tx) { tx.ForgetRecord(key(1).Text, nil) })
	if changed, err := link(linksMax + 1); !changed || err != nil {
		t.Errorf("in the place of one that leads nowhere: %v, %v", changed, err)
	}
}
