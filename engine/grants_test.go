package engine

import (
	"testing"

	"reminis/engine/memory"
)

// TestGrantsSurvive: grants are the same after a restart, those that were revoked
// are gone, and those that have ended do not hold.
func TestGrantsSurvive(t *testing.T) {
	w := newRecordWorld(t, 1, 1000, 0)
	endMs := w.e.NowMs() + 1000
	for _, g := range []struct {
		user, scope string
		untilMs     int64
	}{{"eve", "ai:bob", 0}, {"eve", "ai:a b", endMs}, {"eve", "ai:gone", 0}, {"amy", "ai:bob", 0}} {
		w.withTx(func(tx *Tx) {
			scope, err := tx.Layout().ParseScope([]byte(g.scope))
			if err != nil {
				t.Fatal(err)
			}
			path, err := memory.ParseMemberPath([]byte("$.a"))
			if err != nil {
				t.Fatal(err)
			}
			tx.SetGrant(&memory.Grant{User: g.user, Scope: scope, UntilMs: g.untilMs, Members: []memory.MemberPath{path}}, nil)
		})
	}
	w.withTx(func(tx *Tx) { tx.RemoveGrant(tx.Rules().Grants().Find("eve", []byte("ai:gone")), nil) })
	want := 2
	check := func() {
		if n := w.e.Rules().Grants().Len(); n != 3 {
			t.Errorf("%d grants are kept", n)
		}
		holding := w.e.GrantsOf("eve")
		if len(holding) != want || holding[len(holding)-1].Members[0].String() != "$.a" || len(w.e.GrantsOf("joe")) != 0 {
			t.Errorf("%d grants hold, want %d", len(holding), want)
		}
	}
	w.eachRestart(check)
	w.clock.ms = endMs
	check()
	w.clock.ms++
	want = 1
	w.eachRestart(check)
}
