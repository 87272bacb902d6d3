package engine

import (
	"strings"

	"reminis/engine/memory"
)

// This file owns grants as facets of the server, and which of them hold. It must
// not know what a reader may do without them.

// facetGrant is "grant/", the user, a space, and the scope: names of users have
// no spaces.
const facetGrant = "grant/"

func grantName(user string, scope []byte) []byte {
	return append([]byte(facetGrant+user+" "), scope...)
}

// Grants are all grants, those that have ended too.
func (r *Rules) Grants() *memory.GrantSet {
	if r == nil {
		return nil
	}
	return r.grants
}

// GrantsOf are the grants to a user that hold now.
func (e *Engine) GrantsOf(user string) []*memory.Grant {
	all := e.Rules().Grants().Of(user)
	if len(all) == 0 {
		return nil
	}
	nowMs := e.NowMs()
	var holding []*memory.Grant
	for _, g := range all {
		if !past(g.UntilMs, nowMs) {
			holding = append(holding, g)
		}
	}
	return holding
}

// SetGrant makes g the grant of its scope to its user.
func (tx *Tx) SetGrant(g *memory.Grant, event *memory.Event) {
	tx.SetFacet(nil, grantName(g.User, g.Scope.Text()), g.Encode(), event)
}

// RemoveGrant ends a grant.
func (tx *Tx) RemoveGrant(g *memory.Grant, event *memory.Event) {
	tx.SetFacet(nil, grantName(g.User, g.Scope.Text()), nil, event)
}

func withGrant(all *memory.GrantSet, layout memory.Layout, name string, encoded []byte) *memory.GrantSet {
	user, text, _ := strings.Cut(name, " ")
	if len(encoded) == 0 {
		return all.Without(user, []byte(text))
	}
	scope, err := layout.ParseScope([]byte(text))
	mustRead(name, err)
	g, err := memory.DecodeGrant(user, scope, encoded)
	mustRead(name, err)
	return all.With(g)
}
