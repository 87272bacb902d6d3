package engine

import (
	"testing"

	"reminis/engine/memory"
	"reminis/engine/vector"
)

// This file owns the tests of vectors that are made for records.

// TestEmbeddingFollowsTheRecord: a vector is of the text that it was made of, or
// of nothing.
func TestEmbeddingFollowsTheRecord(t *testing.T) {
	e := Open(Options{})
	var offered []Unembedded
	room := true
	e.UseEmbedder(Embedder{Offer: func(u Unembedded) bool {
		if room {
			offered = append(offered, u)
		}
		return room
	}})
	put := func(name, text string, v []byte) {
		tx := e.Begin()
		defer tx.Done()
		defer tx.Commit()
		key, err := e.Layout().ParseKey([]byte("p:u:s:" + name))
		if err != nil {
			t.Fatal(err)
		}
		tx.LockRecords([][]byte{key.Text}, 0)
		tx.PutRecord(key, &memory.Record{Value: []byte(text), Text: true, Kind: memory.Semantic, Version: 1, Vector: v}, nil, Retention{Versions: 5})
	}
	found := func() (names []string) {
		tx := e.Begin()
		defer tx.Done()
		view, _ := tx.OwnerView([]byte("p:u"))
		if view.Vectors() == nil {
			return nil
		}
		for _, hit := range view.Vectors().Search(vector.Query{Vector: []float32{1, 0}, Limit: 10}).Hits {
			s, ok := view.ByDoc(hit.ID)
			if !ok {
				t.Fatal("a vector of no record")
			}
			names = append(names, string(s.Key[len("p:u:s:"):]))
		}
		return names
	}
	put("a", "tea", nil)
	put("b", "coffee", nil)
	put("own", "milk", []byte{0, 0, 128, 63, 0, 0, 0, 0})
	if len(offered) != 2 || offered[0].Text != "tea" {
		t.Fatalf("%+v", offered)
	}
	tea, coffee := offered[0], offered[1]
	put("b", "water", nil)
	other := tea
	other.Text = "coffee"
	for i, c := range []struct {
		u    Unembedded
		v    []float32
		want bool
	}{
		{tea, []float32{1, 1, 1}, false}, // another dimension
		{tea, nil, false},
		{coffee, []float32{1, 0}, false}, // written over meanwhile
		{other, []float32{1, 0}, false},
		{Unembedded{Owner: "p:nobody", Doc: 1, Text: "tea"}, []float32{1, 0}, false},
		{tea, []float32{1, 1}, true},
	} {
		if got := e.Embed(c.u, c.v); got != c.want {
			t.Errorf("%d: %t", i, got)
		}
	}
	if got := found(); len(got) != 2 || got[0] != "own" || got[1] != "a" {
		t.Errorf("%v", got)
	}
	offered = nil
	e.OfferAll()
	if len(offered) != 1 || offered[0].Text != "water" {
		t.Errorf("%+v", offered)
	}
	put("a", "juice", nil)
	if got := found(); len(got) != 1 || got[0] != "own" {
		t.Errorf("%v", got)
	}
	room = false
	e.OfferAll()
}
