package commands

import (
	"math"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns what is popped off a sorted set, also by clients that wait for
// it, and what is drawn at random.

// popEnd is the end of a sorted set that is popped.
type popEnd uint8

const (
	popMin popEnd = 1 + iota
	popMax
)

func (e popEnd) event() string {
	if e == popMax {
		return "zpopmax"
	}
	return "zpopmin"
}

// popScored removes up to count members of z, the sorted set key, from an end, and
// visits each after head has been told how many.
func popScored(tx *engine.Tx, key []byte, z engine.SortedSet, end popEnd, count int64, head func(count int), visit func(member []byte, score float64)) {
	n := int(min(count, int64(z.Len())))
	head(n)
	from, to := 0, n
	if end == popMax {
		from, to = z.Len()-n, z.Len()
	}
	removeSpan(tx, key, from, to, end == popMax, visit)
	tx.Notify(engine.EventSortedSet, end.event(), key)
	tellIfGone(tx, key)
}

func zPopMinCommand() *Command {
	return zPop("zpopmin", "Remove and return members with the lowest scores in a sorted set", popMin)
}

func zPopMaxCommand() *Command {
	return zPop("zpopmax", "Remove and return members with the highest scores in a sorted set", popMax)
}

func zPop(name, summary string, end popEnd) *Command {
	return onData(Declaration{
		Name: name, Family: SortedSets, Since: "5.0.0",
		Complexity: "O(log(N)*M) with N being the number of elements in the sorted set, and M being the number of elements popped.",
		Summary:    summary,
		Flags:      Write | Fast,
		Reply:      reply.OneOf(reply.Tuple(), reply.Tuple(reply.Bulk(), reply.Double()), scoredReply()),
	}, grammar.Compile[countParams](
		grammar.Key("key", (*countParams).keyField, grammar.RW|grammar.Access|grammar.Delete),
		grammar.Opt(grammar.Int("count", (*countParams).countField).Defer().NonNegative().FailAs(grammar.NotInteger, grammar.NotPositive).
			Present(grammar.BoolOf((*countParams).presentField))),
	).WithArity(-2, "what follows the count is a syntax error, not an arity error"),
		func(tx *engine.Tx, p *countParams, w *reply.Writer) error { return runZPop(tx, p, w, end) })
}

// runZPop answers pairs in RESP3 only when a count is given.
func runZPop(tx *engine.Tx, p *countParams, w *reply.Writer, end popEnd) error {
	z, err := tx.SortedSet(p.key)
	if err != nil {
		return err
	}
	count := int64(1)
	if p.hasCount {
		count = p.count
	}
	if z.Len() == 0 || count == 0 {
		w.Array(0)
		return nil
	}
	scores := scoreWriter{w, true}
	if p.hasCount {
		popScored(tx, p.key, z, end, count, scores.head, scores.write)
		return nil
	}
	popScored(tx, p.key, z, end, 1, func(int) { w.Array(2) }, func(member []byte, score float64) {
		w.Bulk(member)
		w.Double(score)
	})
	return nil
}

type zMPopParams struct {
	keys    [][]byte
	timeout []byte
	end     popEnd
	count   int64
}

func (p *zMPopParams) keysField() *[][]byte { return &p.keys }

const zMPopComplexity = "O(K) + O(M*log(N)) where K is the number of provided keys, N being the number of elements in the sorted set, and M being the number of elements popped."

func zMPopNodes() []grammar.Node {
	return []grammar.Node{
		grammar.NumKeys("numkeys", "key", (*zMPopParams).keysField, grammar.RW|grammar.Access|grammar.Delete).
			FailNumber("numkeys should be greater than 0"),
		grammar.Enum("where", func(p *zMPopParams) *popEnd { return &p.end }, "MIN", "MAX"),
		grammar.Opt(grammar.Int("count", func(p *zMPopParams) *int64 { return &p.count }).After("COUNT").Default(1).
			Range(1, math.MaxInt64).FailNumber("count should be greater than 0")),
	}
}

func zMPopReply() reply.Shape {
	return reply.OneOf(reply.NullArray(), reply.Tuple(reply.Bulk(), reply.ArrayOf(reply.Tuple(reply.Bulk(), reply.Double()))))
}

func zMPopCommand() *Command {
	return onData(Declaration{
		Name: "zmpop", Family: SortedSets, Since: "7.0.0", Complexity: zMPopComplexity,
		Summary: "Remove and return members with scores in a sorted set",
		Flags:   Write,
		Reply:   zMPopReply(),
	}, grammar.Compile[zMPopParams](zMPopNodes()...), func(tx *engine.Tx, p *zMPopParams, w *reply.Writer) error {
		popped, err := popFirst(tx, p.keys, popMany(tx, p, w))
		if err == nil && !popped {
			w.NullArray()
		}
		return err
	})
}

// popMany is what pops off the first of several keys that has something, for ZMPOP
// and BZMPOP.
func popMany(tx *engine.Tx, p *zMPopParams, w *reply.Writer) func(key []byte, z engine.SortedSet) {
	return func(key []byte, z engine.SortedSet) {
		w.Array(2)
		w.Bulk(key)
		popScored(tx, key, z, p.end, p.count, w.Array, func(member []byte, score float64) {
			w.Array(2)
			w.Bulk(member)
			w.Double(score)
		})
	}
}

// popFirst pops off the first of keys that exists and reports whether one does. A
// client that waited is not served by a key of another type (blocked.c
// serveClientsBlockedOnSortedSetKey).
func popFirst(tx *engine.Tx, keys [][]byte, pop func(key []byte, z engine.SortedSet)) (popped bool, err error) {
	for _, key := range awaited(tx, keys) {
		z, err := tx.SortedSet(key)
		switch {
		case err != nil && tx.Woken() == nil:
			return false, err
		case err == nil && z.Len() > 0:
			pop(key, z)
			return true, nil
		}
	}
	return false, nil
}

// popOrWait is popFirst for clients that wait.
func popOrWait(tx *engine.Tx, keys [][]byte, timeout []byte, pop func(key []byte, z engine.SortedSet)) error {
	deadlineMs, err := deadlineAfter(tx, timeout)
	if err != nil {
		return err
	}
	if popped, err := popFirst(tx, keys, pop); popped || err != nil {
		return err
	}
	return &wait{keys: keys, deadlineMs: deadlineMs, none: (*reply.Writer).NullArray}
}

func bzPopMinCommand() *Command {
	return bzPop("bzpopmin", "Remove and return the member with the lowest score from one or more sorted sets, or block until one is available", popMin)
}

func bzPopMaxCommand() *Command {
	return bzPop("bzpopmax", "Remove and return the member with the highest score from one or more sorted sets, or block until one is available", popMax)
}

func bzPop(name, summary string, end popEnd) *Command {
	return onData(Declaration{
		Name: name, Family: SortedSets, Since: "5.0.0", Complexity: "O(log(N)) with N being the number of elements in the sorted set.", Summary: summary,
		Flags:   Write | NoScript | Fast | Blocking,
		History: []Change{{"6.0.0", timeoutIsDouble}},
		Reply:   reply.OneOf(reply.NullArray(), reply.Tuple(reply.Bulk(), reply.Bulk(), reply.Double())),
	}, grammar.Compile[blockingPopParams](
		grammar.Keys("key", func(p *blockingPopParams) *[][]byte { return &p.keys }, grammar.RW|grammar.Access|grammar.Delete),
		timeoutNode(func(p *blockingPopParams) *[]byte { return &p.timeout }),
	), func(tx *engine.Tx, p *blockingPopParams, w *reply.Writer) error {
		return popOrWait(tx, p.keys, p.timeout, func(key []byte, z engine.SortedSet) {
			w.Array(3)
			w.Bulk(key)
			popScored(tx, key, z, end, 1, func(int) {}, func(member []byte, score float64) {
				w.Bulk(member)
				w.Double(score)
			})
		})
	})
}

func bzMPopCommand() *Command {
	return onData(Declaration{
		Name: "bzmpop", Family: SortedSets, Since: "7.0.0", Complexity: zMPopComplexity,
		Summary: "Remove and return members with scores in a sorted set or block until one is available",
		Flags:   Write | Blocking,
		Reply:   zMPopReply(),
	}, grammar.Compile[zMPopParams](append([]grammar.Node{timeoutNode(func(p *zMPopParams) *[]byte { return &p.timeout })}, zMPopNodes()...)...),
		func(tx *engine.Tx, p *zMPopParams, w *reply.Writer) error {
			return popOrWait(tx, p.keys, p.timeout, popMany(tx, p, w))
		})
}

type zRandParams struct {
	key        []byte
	count      int64
	hasCount   bool
	withScores bool
}

func zRandMemberCommand() *Command {
	return onData(Declaration{
		Name: "zrandmember", Family: SortedSets, Since: "6.2.0", Complexity: "O(N) where N is the number of elements returned",
		Summary: "Get one or multiple random elements from a sorted set",
		Flags:   ReadOnly, Tips: []string{nondeterministicOutput},
		Reply: reply.OneOf(reply.Nullable(reply.Bulk()), reply.ArrayOf(reply.Bulk()), scoredReply()),
	}, grammar.Compile[zRandParams](
		grammar.Key("key", func(p *zRandParams) *[]byte { return &p.key }, grammar.RO|grammar.Access),
		grammar.Opt(grammar.Block("options",
			grammar.Int("count", func(p *zRandParams) *int64 { return &p.count }).
				Range(-math.MaxInt64, math.MaxInt64).
				Fail(grammar.OutOfRange, "value is out of range, value must between -9223372036854775807 and 9223372036854775807").
				Present(grammar.BoolOf(func(p *zRandParams) *bool { return &p.hasCount })),
			grammar.Opt(grammar.Token("WITHSCORES", func(p *zRandParams) *bool { return &p.withScores })),
		)),
	).WithArity(-2, "what follows WITHSCORES is a syntax error, not an arity error"), runZRandMember)
}

func runZRandMember(tx *engine.Tx, p *zRandParams, w *reply.Writer) error {
	if p.withScores && (p.count < -math.MaxInt64/2 || p.count > math.MaxInt64/2) {
		return ErrOutOfRange
	}
	z, err := sortedSetForRead(tx, p.key)
	if err != nil {
		return err
	}
	scores := scoreWriter{w, p.withScores}
	switch {
	case !p.hasCount && z.Len() == 0:
		w.Null()
	case !p.hasCount:
		z.Random(scores.write)
	case p.count == 0 || z.Len() == 0:
		w.Array(0)
	case p.count < 0 || p.count == 1:
		return scores.repeated(z, max(p.count, -p.count))
	case p.count >= int64(z.Len()):
		// The whole comes from its end (t_zset.c zuiInitIterator).
		scores.head(z.Len())
		z.Range(0, z.Len(), true, func(member []byte, score float64) bool {
			scores.write(member, score)
			return true
		})
	default:
		scores.head(int(p.count))
		z.Choose(int(p.count), scores.write)
	}
	return nil
}

// repeated writes count members, each drawn from all.
func (s scoreWriter) repeated(z engine.SortedSet, count int64) error {
	drawn, err := beginDraws(s.w, count)
	if err != nil {
		return err
	}
	s.head(int(count))
	for ; count > 0 && drawn.fits(); count-- {
		z.Random(s.write)
	}
	return drawn.end()
}
