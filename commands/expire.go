package commands

import (
	"math"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns the commands on deadlines. Whether one has passed is the
// engine's to say.

type expireParams struct {
	key            []byte
	amount         int64
	nx, xx, gt, lt bool
}

// clockUnit is what the number of an EXPIRE or the answer of a TTL counts, and
// from when.
type clockUnit struct {
	ms       int64 // milliseconds in one
	relative bool  // from now, not from 1970
}

func expireGrammar(amount string, unit clockUnit) *grammar.Grammar {
	number := grammar.Int(amount, func(p *expireParams) *int64 { return &p.amount }).Defer()
	if !unit.relative {
		number = grammar.UnixTime(amount, func(p *expireParams) *int64 { return &p.amount }).Defer()
	}
	return grammar.Compile[expireParams](
		grammar.Key("key", func(p *expireParams) *[]byte { return &p.key }, grammar.RW|grammar.Update),
		// Redis judges the words together, once each is known to be one, and only
		// then reads the number.
		grammar.Check(checkExpireOptions).Defer(),
		number,
		grammar.Options(
			grammar.OneOf("condition",
				grammar.Token("NX", func(p *expireParams) *bool { return &p.nx }),
				grammar.Token("XX", func(p *expireParams) *bool { return &p.xx }),
				grammar.Token("GT", func(p *expireParams) *bool { return &p.gt }),
				grammar.Token("LT", func(p *expireParams) *bool { return &p.lt }),
			).Together().Since("7.0.0"),
		).Fail(grammar.Syntax, "Unsupported option {argument}"),
	)
}

func checkExpireOptions(p *expireParams) *grammar.Error {
	if p.nx && (p.xx || p.gt || p.lt) {
		return grammar.Fail(grammar.Other, "NX and XX, GT or LT options at the same time are not compatible")
	}
	if p.gt && p.lt {
		return grammar.Fail(grammar.Other, "GT and LT options at the same time are not compatible")
	}
	return nil
}

func defineExpire(name, since, amount, summary string, unit clockUnit) *Command {
	return onData(Declaration{
		Name: name, Family: Generic, Since: since, Complexity: "O(1)", Summary: summary,
		Flags:   Write | Fast,
		History: []Change{{"7.0.0", "Added options: `NX`, `XX`, `GT` and `LT`."}},
		Reply:   reply.Int(),
	}, expireGrammar(amount, unit), func(tx *engine.Tx, p *expireParams, w *reply.Writer) error {
		return runExpire(tx, p, w, unit)
	})
}

func expireCommand() *Command {
	return defineExpire("expire", "1.0.0", "seconds", "Set a key's time to live in seconds", clockUnit{1000, true})
}

func pExpireCommand() *Command {
	return defineExpire("pexpire", "2.6.0", "milliseconds", "Set a key's time to live in milliseconds", clockUnit{1, true})
}

func expireAtCommand() *Command {
	return defineExpire("expireat", "1.2.0", "unix-time-seconds", "Set the expiration for a key as a UNIX timestamp", clockUnit{1000, false})
}

func pExpireAtCommand() *Command {
	return defineExpire("pexpireat", "2.6.0", "unix-time-milliseconds", "Set the expiration for a key as a UNIX timestamp specified in milliseconds", clockUnit{1, false})
}

// runExpire: no allocation.
func runExpire(tx *engine.Tx, p *expireParams, w *reply.Writer, unit clockUnit) error {
	when := p.amount
	if when > math.MaxInt64/unit.ms || when < math.MinInt64/unit.ms {
		return errExpireTime()
	}
	when *= unit.ms
	if unit.relative {
		if when > math.MaxInt64-tx.NowMs() {
			return errExpireTime()
		}
		when += tx.NowMs()
	}
	t, current := tx.Use(p.key)
	has := current != 0
	switch {
	case t == engine.TypeNone,
		p.nx && has,
		p.xx && !has,
		p.gt && (!has || when <= current),
		p.lt && has && when >= current:
		w.Int(0)
		return nil
	}
	if when <= tx.NowMs() {
		// 0 would mean no deadline, and what is past deletes (expire.c
		// checkAlreadyExpired).
		tx.Delete(p.key)
		tx.Notify(engine.EventGeneric, "del", p.key)
	} else {
		tx.SetDeadline(p.key, when)
		tx.Notify(engine.EventGeneric, "expire", p.key)
	}
	w.Int(1)
	return nil
}

func defineTTL(name, since, summary string, unit clockUnit) *Command {
	d := Declaration{
		Name: name, Family: Generic, Since: since, Complexity: "O(1)", Summary: summary,
		Flags: ReadOnly | Fast,
		Reply: reply.Int(),
	}
	if unit.relative {
		d.Tips = []string{nondeterministicOutput}
		d.History = []Change{{"2.8.0", "Added the -2 reply."}}
	}
	return onData(d, grammar.Compile[keyParams](grammar.Key("key", (*keyParams).keyField, grammar.RO|grammar.Access)),
		func(tx *engine.Tx, p *keyParams, w *reply.Writer) error { return runTTL(tx, p, w, unit) })
}

func ttlCommand() *Command {
	return defineTTL("ttl", "1.0.0", "Get the time to live for a key in seconds", clockUnit{1000, true})
}

func pTTLCommand() *Command {
	return defineTTL("pttl", "2.6.0", "Get the time to live for a key in milliseconds", clockUnit{1, true})
}

func expireTimeCommand() *Command {
	return defineTTL("expiretime", "7.0.0", "Get the expiration Unix timestamp for a key", clockUnit{1000, false})
}

func pExpireTimeCommand() *Command {
	return defineTTL("pexpiretime", "7.0.0", "Get the expiration Unix timestamp for a key in milliseconds", clockUnit{1, false})
}

// runTTL answers -2 for no key and -1 for no deadline; seconds are rounded to
// the nearest. Not even the last deadline of all overflows then, as it does not in
// Redis (expire.c ttlGenericCommand).
func runTTL(tx *engine.Tx, p *keyParams, w *reply.Writer, unit clockUnit) error {
	t, deadlineMs := tx.Peek(p.key)
	switch {
	case t == engine.TypeNone:
		w.Int(-2)
		return nil
	case deadlineMs == 0:
		w.Int(-1)
		return nil
	}
	if unit.relative {
		deadlineMs -= tx.NowMs()
	}
	w.Int(int64((uint64(max(deadlineMs, 0)) + uint64(unit.ms/2)) / uint64(unit.ms)))
	return nil
}

func persistCommand() *Command {
	return onData(Declaration{
		Name: "persist", Family: Generic, Since: "2.2.0", Complexity: "O(1)",
		Summary: "Remove the expiration from a key",
		Flags:   Write | Fast,
		Reply:   reply.Int(),
	}, grammar.Compile[keyParams](grammar.Key("key", (*keyParams).keyField, grammar.RW|grammar.Update)), runPersist)
}

func runPersist(tx *engine.Tx, p *keyParams, w *reply.Writer) error {
	if _, deadlineMs := tx.Use(p.key); deadlineMs == 0 {
		w.Int(0)
		return nil
	}
	tx.SetDeadline(p.key, 0)
	tx.Notify(engine.EventGeneric, "persist", p.key)
	w.Int(1)
	return nil
}
