package commands

import (
	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns the commands on members of one set, and SMOVE. Members chosen at
// random are in sets_random.go, several sets at once in sets_algebra.go. It must
// not know how a set is stored.

func setCommands() []*Command {
	return []*Command{
		sAddCommand(), sRemCommand(), sMoveCommand(), sPopCommand(), sRandMemberCommand(),
		sIsMemberCommand(), sMIsMemberCommand(), sCardCommand(), sMembersCommand(), sScanCommand(),
		sInterCommand(), sInterStoreCommand(), sInterCardCommand(),
		sUnionCommand(), sUnionStoreCommand(), sDiffCommand(), sDiffStoreCommand(),
	}
}

type membersParams struct {
	key     []byte
	members [][]byte
}

func membersGrammar(flags grammar.KeyFlags) *grammar.Grammar {
	return grammar.Compile[membersParams](
		grammar.Key("key", func(p *membersParams) *[]byte { return &p.key }, flags),
		grammar.Rest("member", func(p *membersParams) *[][]byte { return &p.members }),
	)
}

// setForRead reads the set of a command that only reads, and counts the hit, which
// a key of another type is too.
func setForRead(tx *engine.Tx, key []byte) (engine.Set, error) {
	s, err := tx.Set(key)
	tx.CountHit(key, err != nil || s.Len() > 0)
	return s, err
}

func sAddCommand() *Command {
	return onData(Declaration{
		Name: "sadd", Family: Sets, Since: "1.0.0",
		Complexity: "O(1) for each element added, so O(N) to add N elements when the command is called with multiple arguments.",
		Summary:    "Add one or more members to a set",
		Flags:      Write | DenyOOM | Fast,
		History:    []Change{{"2.4.0", "Accepts multiple `member` arguments."}},
		Reply:      reply.Int(),
	}, membersGrammar(grammar.RW|grammar.Insert), runSAdd)
}

func runSAdd(tx *engine.Tx, p *membersParams, w *reply.Writer) error {
	if _, err := tx.Set(p.key); err != nil {
		return err
	}
	added := tx.SetAdd(p.key, p.members)
	if added > 0 {
		tx.Notify(engine.EventSet, "sadd", p.key)
	}
	w.Int(int64(added))
	return nil
}

func sRemCommand() *Command {
	return onData(Declaration{
		Name: "srem", Family: Sets, Since: "1.0.0", Complexity: "O(N) where N is the number of members to be removed.",
		Summary: "Remove one or more members from a set",
		Flags:   Write | Fast,
		History: []Change{{"2.4.0", "Accepts multiple `member` arguments."}},
		Reply:   reply.Int(),
	}, membersGrammar(grammar.RW|grammar.Delete), runSRem)
}

func runSRem(tx *engine.Tx, p *membersParams, w *reply.Writer) error {
	if _, err := tx.Set(p.key); err != nil {
		return err
	}
	w.Int(int64(removeMembers(tx, p.key, p.members)))
	return nil
}

// removeMembers removes members of a set, and tells of it.
func removeMembers(tx *engine.Tx, key []byte, members [][]byte) int {
	removed := tx.SetRemove(key, members)
	if removed > 0 {
		tx.Notify(engine.EventSet, "srem", key)
		tellIfGone(tx, key)
	}
	return removed
}

// tellIfGone tells of a key that the loss of its last element has ended.
func tellIfGone(tx *engine.Tx, key []byte) {
	if !tx.Exists(key) {
		tx.Notify(engine.EventGeneric, "del", key)
	}
}

type moveMemberParams struct{ source, target, member []byte }

func sMoveCommand() *Command {
	return onData(Declaration{
		Name: "smove", Family: Sets, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Move a member from one set to another",
		Flags:   Write | Fast,
		Reply:   reply.Int(),
	}, grammar.Compile[moveMemberParams](
		grammar.Key("source", func(p *moveMemberParams) *[]byte { return &p.source }, grammar.RW|grammar.Access|grammar.Delete),
		grammar.Key("destination", func(p *moveMemberParams) *[]byte { return &p.target }, grammar.RW|grammar.Insert),
		grammar.Bytes("member", func(p *moveMemberParams) *[]byte { return &p.member }),
	), runSMove)
}

// runSMove: both keys are looked up, but what the target is matters only when
// there is a source.
func runSMove(tx *engine.Tx, p *moveMemberParams, w *reply.Writer) error {
	source, err := tx.Set(p.source)
	// The source is not valid any more once the target was looked up.
	there, has := source.Len() > 0, source.Has(p.member)
	_, targetErr := tx.Set(p.target)
	switch {
	case err != nil:
		return err
	case there && targetErr != nil:
		return targetErr
	}
	if has && string(p.source) != string(p.target) {
		member := [1][]byte{p.member}
		removeMembers(tx, p.source, member[:])
		if tx.SetAdd(p.target, member[:]) > 0 {
			tx.Notify(engine.EventSet, "sadd", p.target)
		}
	}
	w.Int(intOf(has))
	return nil
}

type memberParams struct{ key, member []byte }

func sIsMemberCommand() *Command {
	return onData(Declaration{
		Name: "sismember", Family: Sets, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Determine if a given value is a member of a set",
		Flags:   ReadOnly | Fast,
		Reply:   reply.Int(),
	}, grammar.Compile[memberParams](
		grammar.Key("key", func(p *memberParams) *[]byte { return &p.key }, grammar.RO),
		grammar.Bytes("member", func(p *memberParams) *[]byte { return &p.member }),
	), runSIsMember)
}

func runSIsMember(tx *engine.Tx, p *memberParams, w *reply.Writer) error {
	s, err := setForRead(tx, p.key)
	if err != nil {
		return err
	}
	w.Int(intOf(s.Has(p.member)))
	return nil
}

func sMIsMemberCommand() *Command {
	return onData(Declaration{
		Name: "smismember", Family: Sets, Since: "6.2.0", Complexity: "O(N) where N is the number of elements being checked for membership",
		Summary: "Returns the membership associated with the given elements for a set",
		Flags:   ReadOnly | Fast,
		Reply:   reply.ArrayOf(reply.Int()),
	}, membersGrammar(grammar.RO|grammar.Access), func(tx *engine.Tx, p *membersParams, w *reply.Writer) error {
		s, err := setForRead(tx, p.key)
		if err != nil {
			return err
		}
		w.Array(len(p.members))
		for _, member := range p.members {
			w.Int(intOf(s.Has(member)))
		}
		return nil
	})
}

func sCardCommand() *Command {
	return onData(Declaration{
		Name: "scard", Family: Sets, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Get the number of members in a set",
		Flags:   ReadOnly | Fast,
		Reply:   reply.Int(),
	}, grammar.Compile[keyParams](grammar.Key("key", (*keyParams).keyField, grammar.RO)), func(tx *engine.Tx, p *keyParams, w *reply.Writer) error {
		s, err := setForRead(tx, p.key)
		if err != nil {
			return err
		}
		w.Int(int64(s.Len()))
		return nil
	})
}

func sMembersCommand() *Command {
	return onData(Declaration{
		Name: "smembers", Family: Sets, Since: "1.0.0", Complexity: "O(N) where N is the set cardinality.",
		Summary: "Get all the members in a set",
		Flags:   ReadOnly, Tips: []string{"nondeterministic_output_order"},
		Reply: reply.SetOf(reply.Bulk()),
	}, grammar.Compile[keyParams](grammar.Key("key", (*keyParams).keyField, grammar.RO|grammar.Access)), func(tx *engine.Tx, p *keyParams, w *reply.Writer) error {
		s, err := setForRead(tx, p.key)
		if err != nil {
			return err
		}
		writeSet(w, s)
		return nil
	})
}

func writeSet(w *reply.Writer, s engine.Set) {
	w.Set(s.Len())
	s.Each(func(member []byte) bool {
		w.Bulk(member)
		return true
	})
}

func sScanCommand() *Command {
	return onData(Declaration{
		Name: "sscan", Family: Sets, Since: "2.8.0",
		Complexity: "O(1) for every call. O(N) for a complete iteration, including enough command calls for the cursor to return back to 0. N is the number of elements inside the collection..",
		Summary:    "Incrementally iterate Set elements",
		Flags:      ReadOnly, Tips: []string{nondeterministicOutput},
		Reply: reply.Tuple(reply.Bulk(), reply.ArrayOf(reply.Bulk())),
	}, elementScanGrammar(), runSScan)
}

func runSScan(tx *engine.Tx, p *elementScanParams, w *reply.Writer) error {
	s, err := setForRead(tx, p.key)
	if err != nil {
		return err
	}
	if s.Len() > 0 && p.err != nil {
		return p.err
	}
	var found scanned
	next := s.Scan(p.cursor, p.step(), func(member []byte) {
		if p.accepts(member) {
			found.add(member)
		}
	})
	found.reply(w, next)
	return nil
}
