package commands

import (
	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns ranges of a sorted set: by rank, by score, by member; shown,
// counted, stored, removed. Each is first a span of ranks.

// rangeBy is what the ends of a range are.
type rangeBy uint8

const (
	byRank rangeBy = iota
	byScore
	byLex
)

// rangeForm is what a command's name says of its range.
type rangeForm struct {
	chosen  bool // options say by what, and in which order
	by      rangeBy
	reverse bool
	stores  bool
}

type zRangeParams struct {
	key, target   []byte
	first, last   []byte // the ends as they stand: in reverse, the greater first
	by            rangeBy
	reverse       bool
	offset, count int64
	withScores    bool
}

func (p *zRangeParams) keyField() *[]byte    { return &p.key }
func (p *zRangeParams) targetField() *[]byte { return &p.target }
func (p *zRangeParams) firstField() *[]byte  { return &p.first }
func (p *zRangeParams) lastField() *[]byte   { return &p.last }

// parse reads the options, of which those that choose may stand once and the
// others again and again (t_zset.c zrangeGenericCommand).
func (f rangeForm) parse(p *zRangeParams, args [][]byte) (used int, err *grammar.Error) {
	p.by, p.reverse, p.count = f.by, f.reverse, -1
	turned, chosen := !f.chosen, !f.chosen
	for ; used < len(args); used++ {
		word := upToNul(args[used])
		switch {
		case !f.stores && equalFold(word, "withscores"):
			p.withScores = true
		case equalFold(word, "limit") && used+2 < len(args):
			var ok, also bool
			p.offset, ok = grammar.ParseInt(args[used+1])
			p.count, also = grammar.ParseInt(args[used+2])
			if !ok || !also {
				return used, grammar.Fail(grammar.NotInteger, "")
			}
			used += 2
		case !turned && equalFold(word, "rev"):
			turned, p.reverse = true, true
		case !chosen && equalFold(word, "bylex"):
			chosen, p.by = true, byLex
		case !chosen && equalFold(word, "byscore"):
			chosen, p.by = true, byScore
		default:
			return used, grammar.Fail(grammar.Syntax, "")
		}
	}
	switch {
	case p.count != -1 && p.by == byRank:
		err = grammar.Fail(grammar.Other, "syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX")
	case p.withScores && p.by == byLex:
		err = grammar.Fail(grammar.Other, "syntax error, WITHSCORES not supported in combination with BYLEX")
	}
	return used, err
}

// The documented nodes of the options.

func sortByDoc(since string) grammar.Node {
	return sinceIf(grammar.Opt(grammar.Enum[*zRangeParams]("sortby", (*zRangeParams).byField, "BYSCORE", "BYLEX")), since)
}

func revDoc(since string) grammar.Node {
	return sinceIf(grammar.Opt(grammar.Token[*zRangeParams]("REV", nil)), since)
}

func limitDoc(since string) grammar.Node {
	return sinceIf(grammar.Opt(grammar.Block("offset_count",
		grammar.Int[*zRangeParams]("offset", nil),
		grammar.Int[*zRangeParams]("count", nil),
	).After("LIMIT")), since)
}

func withScoresDoc(since string) grammar.Node {
	return sinceIf(grammar.Opt(grammar.Token[*zRangeParams]("WITHSCORES", nil)), since)
}

func sinceIf(n grammar.Node, version string) grammar.Node {
	if version == "" {
		return n
	}
	return n.Since(version)
}

func (p *zRangeParams) byField() *rangeBy { return &p.by }

// boundNode is an end of a range, which is read once the options are.
func boundNode(name string, field func(p *zRangeParams) *[]byte, t grammar.ArgType) grammar.Node {
	n := grammar.Bytes(name, field).Typed(t)
	switch t {
	case grammar.TypeInteger:
		return n.Sample("0", "1", "-1", "-3", "5")
	case grammar.TypeDouble:
		return n.Sample("-inf", "+inf", "0", "(1", "2.5", "-3", "(inf")
	}
	return n.Sample("0", "-1", "-inf", "+inf", "(1", "-", "+", "[a", "(b", "[member:1", "2")
}

// lexSample makes an end that is a member's.
func lexSample(n grammar.Node) grammar.Node {
	return n.Sample("-", "+", "[a", "(a", "[m", "[member:2", "(z")
}

// zRange declares a command that shows a range.
func zRange(d Declaration, f rangeForm, nodes ...grammar.Node) *Command {
	d.Family, d.Flags = SortedSets, ReadOnly
	d.Complexity = "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements "
	if f.by == byRank {
		d.Complexity += "returned."
	} else {
		d.Complexity += "being returned. If M is constant (e.g. always asking for the first 10 elements with LIMIT), you can consider it O(log(N))."
	}
	d.Reply = reply.OneOf(reply.ArrayOf(reply.Bulk()), scoredReply())
	key := grammar.Key("key", (*zRangeParams).keyField, grammar.RO|grammar.Access)
	options := grammar.Custom("", f.parse, nodes[2:]...)
	return onData(d, grammar.Compile[zRangeParams](key, nodes[0], nodes[1], options), runZRange)
}

// scoredReply is members with scores: pairs in RESP3, flat in RESP2.
func scoredReply() reply.Shape {
	return reply.PerProto(reply.ArrayOf(reply.Bulk()), reply.ArrayOf(reply.Tuple(reply.Bulk(), reply.Double())))
}

func zRangeCommand() *Command {
	return zRange(Declaration{
		Name: "zrange", Since: "1.2.0", Summary: "Return a range of members in a sorted set",
		History: []Change{{"6.2.0", "Added the `REV`, `BYSCORE`, `BYLEX` and `LIMIT` options."}},
	}, rangeForm{chosen: true},
		boundNode("start", (*zRangeParams).firstField, grammar.TypeString), boundNode("stop", (*zRangeParams).lastField, grammar.TypeString),
		sortByDoc("6.2.0"), revDoc("6.2.0"), limitDoc("6.2.0"), withScoresDoc(""))
}

func zRevRangeCommand() *Command {
	return zRange(Declaration{
		Name: "zrevrange", Since: "1.2.0", Summary: "Return a range of members in a sorted set, by index, with scores ordered from high to low",
		DeprecatedSince: "6.2.0", ReplacedBy: "`ZRANGE` with the `REV` argument",
	}, rangeForm{by: byRank, reverse: true},
		boundNode("start", (*zRangeParams).firstField, grammar.TypeInteger), boundNode("stop", (*zRangeParams).lastField, grammar.TypeInteger),
		withScoresDoc(""))
}

func zRangeByScoreCommand() *Command {
	return zRange(Declaration{
		Name: "zrangebyscore", Since: "1.0.5", Summary: "Return a range of members in a sorted set, by score",
		DeprecatedSince: "6.2.0", ReplacedBy: "`ZRANGE` with the `BYSCORE` argument",
		History: []Change{{"2.0.0", "Added the `WITHSCORES` modifier."}},
	}, rangeForm{by: byScore},
		boundNode("min", (*zRangeParams).firstField, grammar.TypeDouble), boundNode("max", (*zRangeParams).lastField, grammar.TypeDouble),
		withScoresDoc("2.0.0"), limitDoc(""))
}

func zRevRangeByScoreCommand() *Command {
	return zRange(Declaration{
		Name: "zrevrangebyscore", Since: "2.2.0", Summary: "Return a range of members in a sorted set, by score, with scores ordered from high to low",
		DeprecatedSince: "6.2.0", ReplacedBy: "`ZRANGE` with the `REV` and `BYSCORE` arguments",
		History: []Change{{"2.1.6", "`min` and `max` can be exclusive."}},
	}, rangeForm{by: byScore, reverse: true},
		boundNode("max", (*zRangeParams).firstField, grammar.TypeDouble), boundNode("min", (*zRangeParams).lastField, grammar.TypeDouble),
		withScoresDoc(""), limitDoc(""))
}

func zRangeByLexCommand() *Command {
	return zRange(Declaration{
		Name: "zrangebylex", Since: "2.8.9", Summary: "Return a range of members in a sorted set, by lexicographical range",
		DeprecatedSince: "6.2.0", ReplacedBy: "`ZRANGE` with the `BYLEX` argument",
	}, rangeForm{by: byLex},
		lexSample(grammar.Bytes("min", (*zRangeParams).firstField)), lexSample(grammar.Bytes("max", (*zRangeParams).lastField)),
		limitDoc(""))
}

func zRevRangeByLexCommand() *Command {
	return zRange(Declaration{
		Name: "zrevrangebylex", Since: "2.8.9", Summary: "Return a range of members in a sorted set, by lexicographical range, ordered from higher to lower strings.",
		DeprecatedSince: "6.2.0", ReplacedBy: "`ZRANGE` with the `REV` and `BYLEX` arguments",
	}, rangeForm{by: byLex, reverse: true},
		lexSample(grammar.Bytes("max", (*zRangeParams).firstField)), lexSample(grammar.Bytes("min", (*zRangeParams).lastField)),
		limitDoc(""))
}

// find reads the sorted set, and where the range lies in it; the ends are judged
// before the key is looked at.
func (p *zRangeParams) find(tx *engine.Tx) (z engine.SortedSet, from, to int, err error) {
	span, err := p.span()
	if err != nil {
		return z, 0, 0, err
	}
	if z, err = sortedSetForRead(tx, p.key); err != nil {
		return z, 0, 0, err
	}
	from, to = span.of(z, p)
	return z, from, to, nil
}

func runZRange(tx *engine.Tx, p *zRangeParams, w *reply.Writer) error {
	z, from, to, err := p.find(tx)
	if err != nil {
		return err
	}
	scores := scoreWriter{w, p.withScores}
	scores.head(to - from)
	z.Range(from, to, p.reverse, func(member []byte, score float64) bool {
		scores.write(member, score)
		return true
	})
	return nil
}

func zRangeStoreCommand() *Command {
	f := rangeForm{chosen: true, stores: true}
	return onData(Declaration{
		Name: "zrangestore", Family: SortedSets, Since: "6.2.0",
		Complexity: "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements stored into the destination key.",
		Summary:    "Store a range of members from sorted set into another key",
		Flags:      Write | DenyOOM,
		Reply:      reply.Int(),
	}, grammar.Compile[zRangeParams](
		grammar.Key("dst", (*zRangeParams).targetField, grammar.OW|grammar.Update),
		grammar.Key("src", (*zRangeParams).keyField, grammar.RO|grammar.Access),
		boundNode("min", (*zRangeParams).firstField, grammar.TypeString), boundNode("max", (*zRangeParams).lastField, grammar.TypeString),
		grammar.Custom("", f.parse, sortByDoc(""), revDoc(""), limitDoc("")),
	), runZRangeStore)
}

func runZRangeStore(tx *engine.Tx, p *zRangeParams, w *reply.Writer) error {
	z, from, to, err := p.find(tx)
	if err != nil {
		return err
	}
	result := make([]scoredMember, 0, to-from)
	z.Range(from, to, p.reverse, func(member []byte, score float64) bool {
		result = append(result, scoredMember{string(member), score})
		return true
	})
	storeScored(tx, p.target, "zrangestore", result)
	w.Int(int64(len(result)))
	return nil
}

// rankSpan is a range whose ends are read.
type rankSpan struct {
	first, last int64
	scores      engine.ScoreRange
	members     engine.MemberRange
}

// span reads the ends.
func (p *zRangeParams) span() (s rankSpan, err error) {
	low, high := p.first, p.last
	if p.reverse {
		low, high = high, low
	}
	switch p.by {
	case byScore:
		s.scores, err = parseScores(low, high)
	case byLex:
		s.members, err = parseMembers(low, high)
	default:
		s.first, s.last, err = parseRanks(p.first, p.last)
	}
	return s, err
}

// of is the ranks that the range has in z: from one to before another.
func (s *rankSpan) of(z engine.SortedSet, p *zRangeParams) (from, to int) {
	skip := p.offset
	switch {
	case p.by == byRank:
		return ranksOf(z.Len(), s.first, s.last, p.reverse)
	case skip < 0:
		// Redis then skips to the end.
		return 0, 0
	case skip >= int64(z.Len()):
		return 0, 0
	case p.by == byLex:
		from, to = z.SpanOfMembers(s.members, p.reverse, int(skip))
	default:
		from, to = z.SpanOfScores(s.scores)
		skip = min(skip, int64(to-from))
		if p.reverse {
			to -= int(skip)
		} else {
			from += int(skip)
		}
	}
	if most := int64(to - from); p.count < 0 || p.count > most {
		return from, to
	}
	if p.reverse {
		return to - int(p.count), to
	}
	return from, from + int(p.count)
}

// ranksOf are the ranks from first to last, which count from the end if they are
// negative; in reverse, all count from the other end.
func ranksOf(length int, first, last int64, reverse bool) (from, to int) {
	n := int64(length)
	if first < 0 {
		first = max(first+n, 0)
	}
	if last < 0 {
		last += n
	}
	last = min(last, n-1)
	if first > last || first >= n {
		return 0, 0
	}
	if reverse {
		first, last = n-1-last, n-1-first
	}
	return int(first), int(last) + 1
}

func parseRanks(first, last []byte) (from, to int64, err error) {
	from, ok := grammar.ParseInt(first)
	if !ok {
		return 0, 0, ErrNotInteger
	}
	if to, ok = grammar.ParseInt(last); !ok {
		return 0, 0, ErrNotInteger
	}
	return from, to, nil
}

func parseScores(low, high []byte) (r engine.ScoreRange, err error) {
	var ok, also bool
	r.Min, r.MinOpen, ok = parseScoreBound(low)
	r.Max, r.MaxOpen, also = parseScoreBound(high)
	if !ok || !also {
		return r, errScoreRange
	}
	return r, nil
}

func parseScoreBound(arg []byte) (score float64, open, ok bool) {
	if len(arg) > 0 && arg[0] == '(' {
		arg, open = arg[1:], true
	}
	score, ok = grammar.ParseBound(arg)
	return score, open, ok
}

func parseMembers(low, high []byte) (r engine.MemberRange, err error) {
	var ok, also bool
	r.Min, ok = parseMemberBound(low)
	r.Max, also = parseMemberBound(high)
	if !ok || !also {
		return r, errMemberRange
	}
	return r, nil
}

// parseMemberBound reads an end of a range of members; what follows a NUL behind
// + and - does not count (t_zset.c zslParseLexRangeItem).
func parseMemberBound(arg []byte) (b engine.MemberBound, ok bool) {
	switch {
	case len(arg) == 0:
		return b, false
	case arg[0] == '(' || arg[0] == '[':
		return engine.MemberBound{Member: arg[1:], Open: arg[0] == '('}, true
	case len(upToNul(arg)) != 1:
		return b, false
	case arg[0] == '-':
		return engine.MemberBound{Edge: -1}, true
	case arg[0] == '+':
		return engine.MemberBound{Edge: 1}, true
	}
	return b, false
}

// scoreWriter writes members, or members and scores: pairs in RESP3, flat in
// RESP2.
type scoreWriter struct {
	w          *reply.Writer
	withScores bool
}

func (s scoreWriter) head(count int) {
	if s.withScores && s.w.Proto() == 2 {
		count *= 2
	}
	s.w.Array(count)
}

func (s scoreWriter) write(member []byte, score float64) {
	if s.withScores && s.w.Proto() == 3 {
		s.w.Array(2)
	}
	s.w.Bulk(member)
	if s.withScores {
		s.w.Double(score)
	}
}

// zCountRange declares a command that counts the members of a range.
func zCountRange(name, since, summary string, by rangeBy, nodes ...grammar.Node) *Command {
	return onData(Declaration{
		Name: name, Family: SortedSets, Since: since, Complexity: "O(log(N)) with N being the number of elements in the sorted set.", Summary: summary,
		Flags: ReadOnly | Fast,
		Reply: reply.Int(),
	}, zSpanGrammar(grammar.RO|grammar.Access, nodes...), func(tx *engine.Tx, p *zRangeParams, w *reply.Writer) error {
		p.by, p.count = by, -1
		span, err := p.span()
		if err != nil {
			return err
		}
		z, err := sortedSetForRead(tx, p.key)
		if err != nil {
			return err
		}
		from, to := span.of(z, p)
		w.Int(int64(to - from))
		return nil
	})
}

func zSpanGrammar(flags grammar.KeyFlags, nodes ...grammar.Node) *grammar.Grammar {
	return grammar.Compile[zRangeParams](append([]grammar.Node{grammar.Key("key", (*zRangeParams).keyField, flags)}, nodes...)...)
}

func zCountCommand() *Command {
	return zCountRange("zcount", "2.0.0", "Count the members in a sorted set with scores within the given values", byScore,
		boundNode("min", (*zRangeParams).firstField, grammar.TypeDouble), boundNode("max", (*zRangeParams).lastField, grammar.TypeDouble))
}

func zLexCountCommand() *Command {
	return zCountRange("zlexcount", "2.8.9", "Count the number of members in a sorted set between a given lexicographical range", byLex,
		lexSample(grammar.Bytes("min", (*zRangeParams).firstField)), lexSample(grammar.Bytes("max", (*zRangeParams).lastField)))
}

// zRemRange declares a command that removes the members of a range.
func zRemRange(name, since, summary string, by rangeBy, nodes ...grammar.Node) *Command {
	return onData(Declaration{
		Name: name, Family: SortedSets, Since: since,
		Complexity: "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements removed by the operation.",
		Summary:    summary,
		Flags:      Write,
		Reply:      reply.Int(),
	}, zSpanGrammar(grammar.RW|grammar.Delete, nodes...), func(tx *engine.Tx, p *zRangeParams, w *reply.Writer) error {
		p.by, p.count = by, -1
		span, err := p.span()
		if err != nil {
			return err
		}
		z, err := tx.SortedSet(p.key)
		if err != nil {
			return err
		}
		from, to := span.of(z, p)
		if from < to {
			removeSpan(tx, p.key, from, to, false, func([]byte, float64) {})
			tx.Notify(engine.EventSortedSet, name, p.key)
			tellIfGone(tx, p.key)
		}
		w.Int(int64(to - from))
		return nil
	})
}

// removeSpan removes the members of the ranks from one to before another of the
// sorted set key, which is there, and visits each.
func removeSpan(tx *engine.Tx, key []byte, from, to int, reverse bool, visit func(member []byte, score float64)) {
	edit, err := tx.EditSortedSet(key)
	if err != nil {
		panic("commands: a sorted set changed its type under its lock")
	}
	edit.RemoveSpan(from, to, reverse, visit)
	edit.Close()
}

func zRemRangeByRankCommand() *Command {
	return zRemRange("zremrangebyrank", "2.0.0", "Remove all members in a sorted set within the given indexes", byRank,
		boundNode("start", (*zRangeParams).firstField, grammar.TypeInteger), boundNode("stop", (*zRangeParams).lastField, grammar.TypeInteger))
}

func zRemRangeByScoreCommand() *Command {
	return zRemRange("zremrangebyscore", "1.2.0", "Remove all members in a sorted set within the given scores", byScore,
		boundNode("min", (*zRangeParams).firstField, grammar.TypeDouble), boundNode("max", (*zRangeParams).lastField, grammar.TypeDouble))
}

func zRemRangeByLexCommand() *Command {
	return zRemRange("zremrangebylex", "2.8.9", "Remove all members in a sorted set between the given lexicographical range", byLex,
		lexSample(grammar.Bytes("min", (*zRangeParams).firstField)), lexSample(grammar.Bytes("max", (*zRangeParams).lastField)))
}
