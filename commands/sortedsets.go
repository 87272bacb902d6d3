package commands

import (
	"math"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns the commands on single members of a sorted set. Ranges are in
// sortedsets_range.go, several sets at once in sortedsets_combine.go, what is
// popped or drawn in sortedsets_pop.go. It must not know how a sorted set is
// stored.

func sortedSetCommands() []*Command {
	return []*Command{
		zAddCommand(), zIncrByCommand(), zRemCommand(), zCardCommand(), zScoreCommand(), zMScoreCommand(),
		zRankCommand(), zRevRankCommand(), zScanCommand(),
		zRangeCommand(), zRangeByScoreCommand(), zRangeByLexCommand(),
		zRevRangeCommand(), zRevRangeByScoreCommand(), zRevRangeByLexCommand(), zRangeStoreCommand(),
		zCountCommand(), zLexCountCommand(),
		zRemRangeByRankCommand(), zRemRangeByScoreCommand(), zRemRangeByLexCommand(),
		zUnionCommand(), zUnionStoreCommand(), zInterCommand(), zInterStoreCommand(), zInterCardCommand(),
		zDiffCommand(), zDiffStoreCommand(),
		zPopMinCommand(), zPopMaxCommand(), zMPopCommand(), bzPopMinCommand(), bzPopMaxCommand(), bzMPopCommand(),
		zRandMemberCommand(),
	}
}

// sortedSetForRead reads the sorted set of a command that only reads, and counts
// the hit, which a key of another type is too.
func sortedSetForRead(tx *engine.Tx, key []byte) (engine.SortedSet, error) {
	z, err := tx.SortedSet(key)
	tx.CountHit(key, err != nil || z.Len() > 0)
	return z, err
}

func scoreOrNull(w *reply.Writer, score float64, ok bool) {
	if !ok {
		w.Null()
		return
	}
	w.Double(score)
}

type zAddParams struct {
	key                []byte
	ifNew, ifExists    bool
	ifGreater, ifLess  bool
	countUpdates, incr bool
	pairs              [][]byte // scores and members
}

func zAddCommand() *Command {
	return onData(Declaration{
		Name: "zadd", Family: SortedSets, Since: "1.2.0",
		Complexity: "O(log(N)) for each item added, where N is the number of elements in the sorted set.",
		Summary:    "Add one or more members to a sorted set, or update its score if it already exists",
		Flags:      Write | DenyOOM | Fast,
		History: []Change{
			{"2.4.0", "Accepts multiple elements."},
			{"3.0.2", "Added the `XX`, `NX`, `CH` and `INCR` options."},
			{"6.2.0", "Added the `GT` and `LT` options."},
		},
		Reply: reply.OneOf(reply.Int(), reply.Nullable(reply.Double())),
	}, grammar.Compile[zAddParams](
		grammar.Key("key", func(p *zAddParams) *[]byte { return &p.key }, grammar.RW|grammar.Update),
		grammar.Options(
			grammar.OneOf("condition",
				grammar.Token("NX", func(p *zAddParams) *bool { return &p.ifNew }),
				grammar.Token("XX", func(p *zAddParams) *bool { return &p.ifExists }),
			).Together().Since("3.0.2"),
			grammar.OneOf("comparison",
				grammar.Token("GT", func(p *zAddParams) *bool { return &p.ifGreater }),
				grammar.Token("LT", func(p *zAddParams) *bool { return &p.ifLess }),
			).Together().Since("6.2.0"),
			grammar.Token("CH", func(p *zAddParams) *bool { return &p.countUpdates }).Named("change").Since("3.0.2"),
			grammar.Token("INCR", func(p *zAddParams) *bool { return &p.incr }).Named("increment").Since("3.0.2"),
		),
		grammar.Pairs("score_member", "score", "member", func(p *zAddParams) *[][]byte { return &p.pairs }).
			FailAs(grammar.Arity, grammar.Syntax).DocumentedAs(
			grammar.Block("score_member",
				grammar.Float[*zAddParams]("score", nil),
				grammar.Bytes[*zAddParams]("member", nil),
			).Multiple()),
		grammar.Check((*zAddParams).check),
	), runZAdd)
}

// check is the rule between the options (t_zset.c zaddGenericCommand).
func (p *zAddParams) check() *grammar.Error {
	switch {
	case p.ifNew && p.ifExists:
		return grammar.Fail(grammar.Other, "XX and NX options at the same time are not compatible")
	case p.ifGreater && p.ifNew, p.ifLess && p.ifNew, p.ifGreater && p.ifLess:
		return grammar.Fail(grammar.Other, "ERR GT, LT, and/or NX options at the same time are not compatible")
	case p.incr && len(p.pairs) > 2:
		return grammar.Fail(grammar.Other, "ERR INCR option supports a single increment-element pair")
	}
	return nil
}

// runZAdd: no allocation for up to eight members.
func runZAdd(tx *engine.Tx, p *zAddParams, w *reply.Writer) error {
	var buf [8]float64
	scores := buf[:0]
	for i := 0; i < len(p.pairs); i += 2 {
		score, ok := grammar.ParseFloat(p.pairs[i])
		if !ok {
			return ErrNotFloat
		}
		scores = append(scores, score)
	}
	return p.run(tx, scores, func(i int) []byte { return p.pairs[2*i+1] }, w)
}

// run gives members their scores, and replies.
func (p *zAddParams) run(tx *engine.Tx, scores []float64, member func(i int) []byte, w *reply.Writer) error {
	edit, err := tx.EditSortedSet(p.key)
	if err != nil {
		return err
	}
	var last scoring
	added, updated := 0, 0
	for i, score := range scores {
		if last = p.give(&edit, member(i), score); last.err != nil {
			break
		}
		added += last.added
		updated += last.updated
	}
	edit.Close()
	if added+updated > 0 {
		tx.Notify(engine.EventSortedSet, p.event(), p.key)
	}
	switch {
	case last.err != nil:
		return last.err
	case p.incr:
		scoreOrNull(w, last.score, !last.left)
	case p.countUpdates:
		w.Int(int64(added + updated))
	default:
		w.Int(int64(added))
	}
	return nil
}

func (p *zAddParams) event() string {
	if p.incr {
		return "zincr"
	}
	return "zadd"
}

// scoring is what became of one member.
type scoring struct {
	score          float64
	added, updated int
	left           bool // an option says to leave the member alone
	err            error
}

// give gives a member its score as the options say (t_zset.c zsetAdd).
func (p *zAddParams) give(edit *engine.SortedSetEdit, member []byte, score float64) scoring {
	old, exists := edit.Find(member)
	switch {
	case exists && p.ifNew, !exists && p.ifExists:
		return scoring{left: true}
	case !exists:
		edit.Put(score)
		return scoring{score: score, added: 1}
	}
	if p.incr {
		if score += old; math.IsNaN(score) {
			return scoring{err: errScoreNaN}
		}
	}
	switch {
	case p.ifLess && score >= old, p.ifGreater && score <= old:
		return scoring{left: true}
	case score == old:
		return scoring{score: score}
	}
	edit.Put(score)
	return scoring{score: score, updated: 1}
}

func zIncrByCommand() *Command {
	return onData(Declaration{
		Name: "zincrby", Family: SortedSets, Since: "1.2.0", Complexity: "O(log(N)) where N is the number of elements in the sorted set.",
		Summary: "Increment the score of a member in a sorted set",
		Flags:   Write | DenyOOM | Fast,
		Reply:   reply.Double(),
	}, grammar.Compile[zIncrByParams](
		grammar.Key("key", func(p *zIncrByParams) *[]byte { return &p.key }, grammar.RW|grammar.Access|grammar.Update),
		grammar.Value("increment", (*zIncrByParams).parse).Typed(grammar.TypeInteger).Sample("0", "1", "1.5", "-2.25", "3e2", "inf"),
		grammar.Bytes("member", func(p *zIncrByParams) *[]byte { return &p.member }),
	), runZIncrBy)
}

type zIncrByParams struct {
	key, member []byte
	amount      float64
}

// parse reads the increment. ZADD's options are words here too, and leave nothing
// to be a score and a member (t_zset.c zincrbyCommand).
func (p *zIncrByParams) parse(arg []byte) *grammar.Error {
	for _, word := range []string{"nx", "xx", "ch", "incr", "gt", "lt"} {
		if equalFold(upToNul(arg), word) {
			return grammar.Fail(grammar.Syntax, "")
		}
	}
	var ok bool
	if p.amount, ok = grammar.ParseFloat(arg); !ok {
		return grammar.Fail(grammar.NotFloat, "")
	}
	return nil
}

func runZIncrBy(tx *engine.Tx, p *zIncrByParams, w *reply.Writer) error {
	edit, err := tx.EditSortedSet(p.key)
	if err != nil {
		return err
	}
	as := zAddParams{incr: true}
	became := as.give(&edit, p.member, p.amount)
	edit.Close()
	if became.err != nil {
		return became.err
	}
	if became.added+became.updated > 0 {
		tx.Notify(engine.EventSortedSet, as.event(), p.key)
	}
	w.Double(became.score)
	return nil
}

func zRemCommand() *Command {
	return onData(Declaration{
		Name: "zrem", Family: SortedSets, Since: "1.2.0",
		Complexity: "O(M*log(N)) with N being the number of elements in the sorted set and M the number of elements to be removed.",
		Summary:    "Remove one or more members from a sorted set",
		Flags:      Write | Fast,
		History:    []Change{{"2.4.0", "Accepts multiple elements."}},
		Reply:      reply.Int(),
	}, membersGrammar(grammar.RW|grammar.Delete), runZRem)
}

func runZRem(tx *engine.Tx, p *membersParams, w *reply.Writer) error {
	edit, err := tx.EditSortedSet(p.key)
	if err != nil {
		return err
	}
	removed := 0
	for _, member := range p.members {
		if _, ok := edit.Find(member); ok {
			edit.Take()
			removed++
		}
	}
	edit.Close()
	if removed > 0 {
		tx.Notify(engine.EventSortedSet, "zrem", p.key)
		tellIfGone(tx, p.key)
	}
	w.Int(int64(removed))
	return nil
}

func zCardCommand() *Command {
	return onData(Declaration{
		Name: "zcard", Family: SortedSets, Since: "1.2.0", Complexity: "O(1)",
		Summary: "Get the number of members in a sorted set",
		Flags:   ReadOnly | Fast,
		Reply:   reply.Int(),
	}, grammar.Compile[keyParams](grammar.Key("key", (*keyParams).keyField, grammar.RO)), func(tx *engine.Tx, p *keyParams, w *reply.Writer) error {
		z, err := sortedSetForRead(tx, p.key)
		if err != nil {
			return err
		}
		w.Int(int64(z.Len()))
		return nil
	})
}

// memberGrammar is a key and a member of what it holds, to be looked at.
func memberGrammar() *grammar.Grammar {
	return grammar.Compile[memberParams](
		grammar.Key("key", func(p *memberParams) *[]byte { return &p.key }, grammar.RO|grammar.Access),
		grammar.Bytes("member", func(p *memberParams) *[]byte { return &p.member }),
	)
}

func zScoreCommand() *Command {
	return onData(Declaration{
		Name: "zscore", Family: SortedSets, Since: "1.2.0", Complexity: "O(1)",
		Summary: "Get the score associated with the given member in a sorted set",
		Flags:   ReadOnly | Fast,
		Reply:   reply.Nullable(reply.Double()),
	}, memberGrammar(), func(tx *engine.Tx, p *memberParams, w *reply.Writer) error {
		z, err := sortedSetForRead(tx, p.key)
		if err != nil {
			return err
		}
		score, ok := z.Score(p.member)
		scoreOrNull(w, score, ok)
		return nil
	})
}

func zMScoreCommand() *Command {
	return onData(Declaration{
		Name: "zmscore", Family: SortedSets, Since: "6.2.0", Complexity: "O(N) where N is the number of members being requested.",
		Summary: "Get the score associated with the given members in a sorted set",
		Flags:   ReadOnly | Fast,
		Reply:   reply.ArrayOf(reply.Nullable(reply.Double())),
	}, membersGrammar(grammar.RO|grammar.Access), func(tx *engine.Tx, p *membersParams, w *reply.Writer) error {
		z, err := sortedSetForRead(tx, p.key)
		if err != nil {
			return err
		}
		w.Array(len(p.members))
		for _, member := range p.members {
			score, ok := z.Score(member)
			scoreOrNull(w, score, ok)
		}
		return nil
	})
}

func zRankCommand() *Command {
	return rankCommand("zrank", "Determine the index of a member in a sorted set",
		func(rank, _ int) int { return rank })
}

func zRevRankCommand() *Command {
	return rankCommand("zrevrank", "Determine the index of a member in a sorted set, with scores ordered from high to low",
		func(rank, length int) int { return length - 1 - rank })
}

func rankCommand(name, summary string, counted func(rank, length int) int) *Command {
	return onData(Declaration{
		Name: name, Family: SortedSets, Since: "2.0.0", Complexity: "O(log(N))", Summary: summary,
		Flags: ReadOnly | Fast,
		Reply: reply.Nullable(reply.Int()),
	}, memberGrammar(), func(tx *engine.Tx, p *memberParams, w *reply.Writer) error {
		z, err := sortedSetForRead(tx, p.key)
		if err != nil {
			return err
		}
		rank, ok := z.Rank(p.member)
		if !ok {
			w.Null()
			return nil
		}
		w.Int(int64(counted(rank, z.Len())))
		return nil
	})
}

func zScanCommand() *Command {
	return onData(Declaration{
		Name: "zscan", Family: SortedSets, Since: "2.8.0",
		Complexity: "O(1) for every call. O(N) for a complete iteration, including enough command calls for the cursor to return back to 0. N is the number of elements inside the collection..",
		Summary:    "Incrementally iterate sorted sets elements and associated scores",
		Flags:      ReadOnly, Tips: []string{nondeterministicOutput},
		Reply: reply.Tuple(reply.Bulk(), reply.ArrayOf(reply.Bulk())),
	}, elementScanGrammar(), runZScan)
}

func runZScan(tx *engine.Tx, p *elementScanParams, w *reply.Writer) error {
	z, err := sortedSetForRead(tx, p.key)
	if err != nil {
		return err
	}
	if z.Len() > 0 && p.err != nil {
		return p.err
	}
	var found scanned
	var text [32]byte
	next := z.Scan(p.cursor, p.step(), func(member []byte, score float64) {
		if p.accepts(member) {
			found.add(member)
			found.add(z.AppendScore(text[:0], score))
		}
	})
	found.reply(w, next)
	return nil
}
