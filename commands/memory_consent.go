package commands

import (
	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
)

// This file owns MEM.CONSENT: what an owner lets be kept. What follows from it
// for writes is memory_rules.go's, for reads the engine's.

func memConsentCommand() *Command {
	return container(memoryAdminDeclaration(Declaration{
		Name: "mem.consent", Complexity: "Depends on subcommand.",
		Summary: "A container for commands on what owners consent to",
	}), memConsentGrantCommand(), memConsentRevokeCommand(), memConsentGetCommand(), helpCommand("mem.consent",
		"GET <owner>",
		"    Return what the owner said of every kind of record.",
		"GRANT <owner> [KINDS <numkinds> <kind> [<kind> ...]]",
		"    Let records of these kinds be written and read; by default profile and",
		"    semantic ones.",
		"REVOKE <owner> [KINDS <numkinds> <kind> [<kind> ...]]",
		"    Refuse to write records of these kinds, and hide those there are.",
	))
}

type memConsentParams struct {
	owner []byte
	kinds [][]byte
}

func memConsentGrantCommand() *Command {
	return onData(memoryAdminDeclaration(consentChange("grant", "Record an owner's consent")), consentGrammar(),
		func(tx *engine.Tx, p *memConsentParams, w *reply.Writer) error { return p.say(tx, true, w) })
}

// memConsentRevokeCommand: what is hidden is still there for MEM.FORGET, and for
// reads once consent is granted again.
func memConsentRevokeCommand() *Command {
	return onData(memoryAdminDeclaration(consentChange("revoke", "Withdraw an owner's consent; hide what it covered")), consentGrammar(),
		func(tx *engine.Tx, p *memConsentParams, w *reply.Writer) error { return p.say(tx, false, w) })
}

func consentChange(name, summary string) Declaration {
	return Declaration{
		Name: name, Complexity: "O(K) where K is the number of kinds",
		Summary: summary,
		Flags:   Write, Lock: LockAll,
		Reply: reply.Int(),
	}
}

func consentGrammar() *grammar.Grammar {
	return grammar.Compile[memConsentParams](
		ownerNode(func(p *memConsentParams) *[]byte { return &p.owner }, grammar.RW|grammar.Update),
		grammar.Options(
			grammar.Counted("numkinds", "kind", func(p *memConsentParams) *[][]byte { return &p.kinds }).After("KINDS").Sample("1", "profile"),
		),
	)
}

// say changes the consent and replies how many kinds it changed.
func (p *memConsentParams) say(tx *engine.Tx, granted bool, w *reply.Writer) error {
	if err := tx.Layout().ParseOwner(p.owner); err != nil {
		return err
	}
	kinds := memory.ConsentKinds()
	if len(p.kinds) > 0 {
		kinds = kinds[:0]
	}
	for _, name := range p.kinds {
		kind, err := memory.ParseKind(name)
		if err != nil {
			return err
		}
		kinds = append(kinds, kind)
	}
	state := memory.ConsentRevoked
	if granted {
		state = memory.ConsentGranted
	}
	before := tx.Consent(p.owner)
	after, changed := before, int64(0)
	reason := []byte(state.String())
	for _, kind := range kinds {
		if after.Of(kind) != state {
			after = after.With(kind, granted)
			reason = append(append(reason, ' '), kind.String()...)
			changed++
		}
	}
	if changed > 0 {
		event := tx.NewEvent()
		event.Op, event.Key, event.Reason = memory.OpConsent, p.owner, reason
		tx.SetConsent(p.owner, after, &event)
	}
	w.Int(changed)
	return nil
}

func memConsentGetCommand() *Command {
	return onData(memoryAdminDeclaration(Declaration{
		Name: "get", Complexity: "O(1)",
		Summary: "Get what an owner consented to, by kind of record",
		Flags:   ReadOnly, Lock: LockNone,
		Reply: reply.MapOf(reply.Bulk(), reply.Bulk()),
	}), grammar.Compile[memConsentParams](
		ownerNode(func(p *memConsentParams) *[]byte { return &p.owner }, grammar.RW|grammar.Update),
	), runMemConsentGet)
}

func runMemConsentGet(tx *engine.Tx, p *memConsentParams, w *reply.Writer) error {
	if err := tx.Layout().ParseOwner(p.owner); err != nil {
		return err
	}
	consent := memory.Consent{}
	if view, ok := tx.OwnerView(p.owner); ok {
		consent = view.Consent()
	}
	kinds := []memory.Kind{memory.Working, memory.Session, memory.Profile, memory.Semantic}
	w.Map(len(kinds))
	for _, kind := range kinds {
		w.BulkString(kind.String())
		w.BulkString(consent.Of(kind).String())
	}
	return nil
}
