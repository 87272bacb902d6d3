package commands

import (
	"cmp"
	"math"
	"slices"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns intersection, union and difference of sets. It must not know how
// a set is stored.

type setsParams struct {
	target []byte // nil when the result is the reply
	keys   [][]byte
	limit  int64
}

func (p *setsParams) targetField() *[]byte { return &p.target }
func (p *setsParams) keysField() *[][]byte { return &p.keys }

// ofSets declares a command that answers what it makes of sets.
func ofSets(name, complexity, summary string, run func(tx *engine.Tx, p *setsParams, w *reply.Writer) error) *Command {
	return onData(Declaration{
		Name: name, Family: Sets, Since: "1.0.0", Complexity: complexity, Summary: summary,
		Flags: ReadOnly, Tips: []string{"nondeterministic_output_order"}, Reply: reply.SetOf(reply.Bulk()),
	}, grammar.Compile[setsParams](grammar.Keys("key", (*setsParams).keysField, grammar.RO|grammar.Access)), run)
}

// storingSets declares a command that stores what it makes of sets.
func storingSets(name, complexity, summary string, flags grammar.KeyFlags, run func(tx *engine.Tx, p *setsParams, w *reply.Writer) error) *Command {
	return onData(Declaration{
		Name: name, Family: Sets, Since: "1.0.0", Complexity: complexity, Summary: summary,
		Flags: Write | DenyOOM, Reply: reply.Int(),
	}, grammar.Compile[setsParams](
		grammar.Key("destination", (*setsParams).targetField, flags),
		grammar.Keys("key", (*setsParams).keysField, grammar.RO|grammar.Access),
	), run)
}

const (
	interComplexity = "O(N*M) worst case where N is the cardinality of the smallest set and M is the number of sets."
	unionComplexity = "O(N) where N is the total number of elements in all given sets."
)

func sInterCommand() *Command {
	return ofSets("sinter", interComplexity, "Intersect multiple sets", runSInter)
}

func sInterStoreCommand() *Command {
	return storingSets("sinterstore", interComplexity, "Intersect multiple sets and store the resulting set in a key", grammar.RW|grammar.Update,
		storing("sinterstore", intersect))
}

func sUnionCommand() *Command {
	return ofSets("sunion", unionComplexity, "Add multiple sets", answering(unite))
}

func sUnionStoreCommand() *Command {
	return storingSets("sunionstore", unionComplexity, "Add multiple sets and store the resulting set in a key", grammar.OW|grammar.Update,
		storing("sunionstore", unite))
}

func sDiffCommand() *Command {
	return ofSets("sdiff", unionComplexity, "Subtract multiple sets", answering(subtract))
}

func sDiffStoreCommand() *Command {
	return storingSets("sdiffstore", unionComplexity, "Subtract multiple sets and store the resulting set in a key", grammar.OW|grammar.Update,
		storing("sdiffstore", subtract))
}

func sInterCardCommand() *Command {
	return onData(Declaration{
		Name: "sintercard", Family: Sets, Since: "7.0.0", Complexity: interComplexity,
		Summary: "Intersect multiple sets and return the cardinality of the result",
		Flags:   ReadOnly,
		Reply:   reply.Int(),
	}, grammar.Compile[setsParams](
		grammar.NumKeys("numkeys", "key", (*setsParams).keysField, grammar.RO|grammar.Access).
			FailNumber("numkeys should be greater than 0").
			Fail(grammar.Missing, "Number of keys can't be greater than number of args"),
		grammar.Options(
			grammar.Int("limit", func(p *setsParams) *int64 { return &p.limit }).After("LIMIT").Range(0, math.MaxInt64).FailNumber("ERR LIMIT can't be negative"),
		),
	), runSInterCard)
}

// fewSets is how many sets a command reads without allocating.
const fewSets = 4

// operands looks up all sets, missing ones as empty sets. One that is missing may
// have expired, and was removed when it was looked up; what was read before is not
// valid then, and read again. They are appended to sets, which is empty.
func operands(tx *engine.Tx, sets []engine.Set, keys [][]byte) (_ []engine.Set, err error) {
	missing := false
	for _, key := range keys {
		s, err := setForRead(tx, key)
		if err != nil {
			return nil, err
		}
		sets = append(sets, s)
		missing = missing || s.Len() == 0
	}
	if !missing {
		return sets, nil
	}
	for i, key := range keys {
		if sets[i], err = tx.PeekSet(key); err != nil {
			return nil, err
		}
	}
	return sets, nil
}

// operation makes a set of sets, whose keys are given too.
type operation func(result *engine.SetResult, sets []engine.Set, keys [][]byte)

// answering is the handler of a command that answers the result of an operation.
func answering(run operation) func(tx *engine.Tx, p *setsParams, w *reply.Writer) error {
	return func(tx *engine.Tx, p *setsParams, w *reply.Writer) error {
		sets, err := operands(tx, make([]engine.Set, 0, len(p.keys)), p.keys)
		if err != nil {
			return err
		}
		result := tx.NewSetResult()
		defer result.Drop()
		run(result, sets, p.keys)
		writeSet(w, result.Set)
		return nil
	}
}

// storing is the handler of a command that stores the result of an operation; an
// empty one removes what is there.
func storing(event string, run operation) func(tx *engine.Tx, p *setsParams, w *reply.Writer) error {
	return func(tx *engine.Tx, p *setsParams, w *reply.Writer) error {
		sets, err := operands(tx, make([]engine.Set, 0, len(p.keys)), p.keys)
		if err != nil {
			return err
		}
		result := tx.NewSetResult()
		run(result, sets, p.keys)
		count := result.Len()
		w.Int(int64(count))
		if count == 0 {
			result.Drop()
			deleteKey(tx, p.target)
			return nil
		}
		tx.StoreSet(p.target, result)
		tx.Notify(engine.EventSet, event, p.target)
		return nil
	}
}

// common visits the members that all sets have, until visit returns false. It sorts
// the sets by size: the members of the smallest are looked up in the others.
func common(sets []engine.Set, visit func(member []byte) bool) {
	slices.SortStableFunc(sets, func(a, b engine.Set) int { return cmp.Compare(a.Len(), b.Len()) })
	engine.EachCommon(sets, visit)
}

func intersect(result *engine.SetResult, sets []engine.Set, _ [][]byte) {
	common(sets, func(member []byte) bool {
		result.Add(member)
		return true
	})
}

// runSInter writes members as they are found, in the order of the smallest set.
func runSInter(tx *engine.Tx, p *setsParams, w *reply.Writer) error {
	var few [fewSets]engine.Set
	sets, err := operands(tx, few[:0], p.keys)
	if err != nil {
		return err
	}
	list, count := w.DeferSet(0), 0
	common(sets, func(member []byte) bool {
		w.Bulk(member)
		count++
		return true
	})
	w.Close(list, count)
	return nil
}

func runSInterCard(tx *engine.Tx, p *setsParams, w *reply.Writer) error {
	var few [fewSets]engine.Set
	sets, err := operands(tx, few[:0], p.keys)
	if err != nil {
		return err
	}
	count := int64(0)
	common(sets, func([]byte) bool {
		count++
		return count != p.limit
	})
	w.Int(count)
	return nil
}

func unite(result *engine.SetResult, sets []engine.Set, _ [][]byte) {
	for _, s := range sets {
		result.Unite(s)
	}
}

// subtract takes the other sets from the first. It either looks its members up in
// the others or removes theirs from a copy of it, whichever is less work by Redis's
// measure: the form of the result shows the way (t_set.c sunionDiffGenericCommand).
func subtract(result *engine.SetResult, sets []engine.Set, keys [][]byte) {
	first, others := sets[0], sets[1:]
	for i := range others {
		if string(keys[i+1]) == string(keys[0]) {
			return
		}
	}
	lookUps, removals := 0, 0
	for _, s := range sets {
		if s.Len() > 0 {
			lookUps += first.Len()
			removals += s.Len()
		}
	}
	if lookUps/2 > removals {
		unite(result, sets[:1], nil)
		for _, other := range others {
			other.Each(func(member []byte) bool {
				result.Remove(member)
				return result.Len() > 0
			})
		}
		return
	}
	first.Each(func(member []byte) bool {
		if !slices.ContainsFunc(others, func(other engine.Set) bool { return other.Has(member) }) {
			result.Add(member)
		}
		return true
	})
}
