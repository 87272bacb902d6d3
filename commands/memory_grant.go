package commands

import (
	"bytes"
	"strconv"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
)

// This file owns MEM.GRANT and MEM.REVOKE: what one user lets another read. How
// grants are judged is rights.go's.

type memGrantParams struct {
	scope  []byte
	user   []byte
	fields [][]byte
	until  int64
}

// memGrantCommand: who grants must be able to read the scope. A grant is to a
// name: it stays when the user is deleted, and is there for the next of that name.
func memGrantCommand() *Command {
	return onData(memoryAdminDeclaration(Declaration{
		Name: "mem.grant", Complexity: "O(N) where N is the number of grants",
		Summary: "Let a user read a scope, or some members of its values",
		Flags:   Write | DenyOOM, Lock: LockAll,
		Reply: reply.Int(),
	}), grammar.Compile[memGrantParams](
		scopeNode("scope", func(p *memGrantParams) *[]byte { return &p.scope }),
		grammar.Bytes("user", func(p *memGrantParams) *[]byte { return &p.user }).After("TO"),
		grammar.Options(
			grammar.Counted("numfields", "path", func(p *memGrantParams) *[][]byte { return &p.fields }).After("FIELDS").Sample("1", "$.a"),
			timeNode("until", "UNTIL", func(p *memGrantParams) *int64 { return &p.until }),
		),
	), runMemGrant)
}

func runMemGrant(tx *engine.Tx, p *memGrantParams, w *reply.Writer) error {
	g, err := p.grant(tx)
	if err != nil {
		return err
	}
	grants := tx.Rules().Grants()
	old := grants.Find(g.User, g.Scope.Text())
	if old != nil && old.Equal(g) {
		w.Int(0)
		return nil
	}
	if limit := memory.LimitGrants(); old == nil && grants.Len() >= limit.Default {
		return memory.ErrTooLarge("server", grants.Len()+1, limit)
	}
	event := grantEvent(tx, "grant", "to", g)
	tx.SetGrant(g, &event)
	w.Int(1)
	return nil
}

func (p *memGrantParams) grant(tx *engine.Tx) (*memory.Grant, error) {
	scope, err := tx.Layout().ParseScope(bytes.Clone(p.scope))
	if err != nil {
		return nil, err
	}
	if len(p.user) == 0 || bytes.ContainsAny(p.user, " \t\n\v\f\r\x00") {
		return nil, errGrantUser
	}
	if limit := memory.LimitName(); len(p.user) > limit.Default {
		return nil, memory.ErrTooLarge("user", len(p.user), limit)
	}
	if tx.Past(p.until) {
		return nil, errGrantPast
	}
	g := &memory.Grant{User: string(p.user), Scope: scope, UntilMs: p.until}
	if limit := memory.LimitGrantMembers(); len(p.fields) > limit.Default {
		return nil, memory.ErrTooLarge("grant", len(p.fields), limit)
	}
	for _, text := range p.fields {
		path, err := memory.ParseMemberPath(text)
		if err != nil {
			return nil, err
		}
		g.Members = append(g.Members, path)
	}
	return g, nil
}

// grantEvent says in the server's chain what was granted or revoked.
func grantEvent(tx *engine.Tx, what, preposition string, g *memory.Grant) memory.Event {
	event := tx.NewEvent()
	event.Op = memory.OpGrant
	reason := []byte(what + " " + string(g.Scope.Text()) + " " + preposition + " " + g.User)
	for _, path := range g.Members {
		reason = append(reason, " "+path.String()...)
	}
	if g.UntilMs != 0 {
		reason = strconv.AppendInt(append(reason, " until "...), g.UntilMs, 10)
	}
	event.Reason = reason
	return event
}

// memRevokeCommand ends the grant of exactly this scope.
func memRevokeCommand() *Command {
	return onData(memoryAdminDeclaration(Declaration{
		Name: "mem.revoke", Complexity: "O(N) where N is the number of grants",
		Summary: "End what a user was granted",
		Flags:   Write, Lock: LockAll,
		Reply: reply.Int(),
	}), grammar.Compile[memGrantParams](
		scopeNode("scope", func(p *memGrantParams) *[]byte { return &p.scope }),
		grammar.Bytes("user", func(p *memGrantParams) *[]byte { return &p.user }).After("FROM"),
	), func(tx *engine.Tx, p *memGrantParams, w *reply.Writer) error {
		g := tx.Rules().Grants().Find(string(p.user), p.scope)
		if g == nil {
			w.Int(0)
			return nil
		}
		event := grantEvent(tx, "revoke", "from", g)
		tx.RemoveGrant(g, &event)
		w.Int(1)
		return nil
	})
}
