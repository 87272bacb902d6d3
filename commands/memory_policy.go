package commands

import (
	"bytes"
	"slices"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
)

// This file owns MEM.POLICY: what holds for the records of a scope. Fields and
// their values are package memory's.

func memPolicyCommand() *Command {
	return container(memoryAdminDeclaration(Declaration{
		Name: "mem.policy", Complexity: "Depends on subcommand.",
		Summary: "A container for commands on policies of memory records",
	}), memPolicySetCommand(), memPolicyGetCommand(), memPolicyListCommand(), memPolicyDelCommand(), helpCommand("mem.policy",
		"DEL <scope>",
		"    Remove the policy of exactly this scope.",
		"GET <key>",
		"    Return what decides for a key, and which scope's policy says so.",
		"LIST",
		"    List all policies.",
		"SET <scope> <field> <value> [<field> <value> ...]",
		"    Set fields of a scope's policy; its other fields stay. Fields are",
		"    TTL.<kind>, HISTORY.<kind>, AUDIT, SCHEMA, HALFLIFE.<kind>, MAXRECORDS,",
		"    MAXBYTES, CONSENT, REDACT <path>, and ENCRYPT and INDEX, whose value is a path.",
	))
}

type memPolicyParams struct {
	scope    []byte
	settings [][]byte
}

// memPolicySetCommand: a policy holds for what is written from then on. Existing
// records change when they are written again.
func memPolicySetCommand() *Command {
	return onData(memoryAdminDeclaration(Declaration{
		Name: "set", Complexity: "O(N) where N is the number of policies",
		Summary: "Set fields of the policy of a scope",
		Flags:   Write | DenyOOM, Lock: LockAll,
		Reply: reply.OK(),
	}), grammar.Compile[memPolicyParams](
		ruleScopeNode(func(p *memPolicyParams) *[]byte { return &p.scope }),
		grammar.Rest("field-value", func(p *memPolicyParams) *[][]byte { return &p.settings }).Sample("AUDIT", "ALL"),
	), runMemPolicySet)
}

func runMemPolicySet(tx *engine.Tx, p *memPolicyParams, w *reply.Writer) error {
	scope, err := tx.Layout().ParseScope(bytes.Clone(p.scope))
	if err != nil {
		return err
	}
	settings, err := memory.ParseSettings(p.settings)
	if err != nil {
		return err
	}
	for i := range settings {
		if name := settings[i].SchemaName(); name != "" && tx.Rules().Schemas().Newest(name) == nil {
			return errNoSchema([]byte(name))
		}
	}
	policies := tx.Rules().Policies()
	old := policies.Find(scope.Text())
	if limit := memory.LimitPolicies(); old == nil && policies.Len() >= limit.Default {
		return memory.ErrTooLarge("server", policies.Len()+1, limit)
	}
	policy, err := old.Updated(scope, settings)
	if err != nil {
		return err
	}
	if old == nil || !slices.Equal(old.Settings, policy.Settings) {
		event := policyEvent(tx, "set ", scope.Text(), settings)
		tx.SetPolicy(policy, &event)
	}
	w.OK()
	return nil
}

// policyEvent says in the server's chain what was done to the policy of a scope.
func policyEvent(tx *engine.Tx, what string, scope []byte, settings []memory.Setting) memory.Event {
	event := tx.NewEvent()
	event.Op = memory.OpPolicy
	reason := append([]byte(what), scope...)
	for i := range settings {
		for _, word := range settings[i].AppendArgs(nil) {
			reason = append(append(reason, ' '), word...)
		}
	}
	event.Reason = reason
	return event
}

func memPolicyGetCommand() *Command {
	return onData(memoryAdminDeclaration(Declaration{
		Name: "get", Complexity: "O(N) where N is the number of policies",
		Summary: "Get what the policies decide for a key, by field",
		Flags:   ReadOnly, Lock: LockNone,
		Reply: reply.MapOf(reply.Bulk(), reply.Tuple(reply.Bulk(), reply.Bulk())),
	}), grammar.Compile[memPolicyParams](
		grammar.Key("key", func(p *memPolicyParams) *[]byte { return &p.scope }, grammar.RO),
	), runMemPolicyGet)
}

func runMemPolicyGet(tx *engine.Tx, p *memPolicyParams, w *reply.Writer) error {
	if _, err := tx.Layout().ParseKey(p.scope); err != nil {
		return err
	}
	var decided []memory.Decision
	if policy := tx.Policy(p.scope); policy != nil {
		decided = policy.Decided
	}
	w.Map(len(decided))
	for i := range decided {
		w.BulkString(decided[i].Field())
		w.Array(2)
		w.BulkString(decided[i].Value())
		w.Bulk(decided[i].Scope)
	}
	return nil
}

func memPolicyListCommand() *Command {
	return onData(memoryAdminDeclaration(Declaration{
		Name: "list", Complexity: "O(N) where N is the number of policies",
		Summary: "List all policies, those that decide first first",
		Flags:   ReadOnly, Lock: LockNone,
		Reply: reply.ArrayOf(reply.Record(
			reply.Field{Key: "scope", Value: reply.Bulk()},
			reply.Field{Key: "fields", Value: reply.MapOf(reply.Bulk(), reply.Bulk())})),
	}), grammar.Compile[noParams](), func(tx *engine.Tx, _ *noParams, w *reply.Writer) error {
		all := tx.Rules().Policies().All()
		w.Array(len(all))
		for _, policy := range all {
			w.Map(2)
			w.BulkString("scope")
			w.Bulk(policy.Scope.Text())
			w.BulkString("fields")
			w.Map(len(policy.Settings))
			for i := range policy.Settings {
				w.BulkString(policy.Settings[i].Field())
				w.BulkString(policy.Settings[i].Value())
			}
		}
		return nil
	})
}

func memPolicyDelCommand() *Command {
	return onData(memoryAdminDeclaration(Declaration{
		Name: "del", Complexity: "O(N) where N is the number of policies",
		Summary: "Remove the policy of a scope",
		Flags:   Write, Lock: LockAll,
		Reply: reply.Int(),
	}), grammar.Compile[memPolicyParams](
		ruleScopeNode(func(p *memPolicyParams) *[]byte { return &p.scope }),
	), func(tx *engine.Tx, p *memPolicyParams, w *reply.Writer) error {
		if _, err := tx.Layout().ParseScope(p.scope); err != nil {
			return err
		}
		if tx.Rules().Policies().Find(p.scope) == nil {
			w.Int(0)
			return nil
		}
		event := policyEvent(tx, "del ", p.scope, nil)
		tx.RemovePolicy(p.scope, &event)
		w.Int(1)
		return nil
	})
}

// ruleScopeNode declares the scope that a rule is for.
func ruleScopeNode[T any](field func(T) *[]byte) grammar.Node {
	return grammar.Key("scope", field, grammar.RW|grammar.Update|grammar.NotKey)
}
