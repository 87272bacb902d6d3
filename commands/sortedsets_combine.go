package commands

import (
	"cmp"
	"math"
	"slices"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns union, intersection and difference of sorted sets, and of sets,
// whose members have the score 1.

type combineParams struct {
	target     []byte // nil when the result is the reply
	keys       [][]byte
	weights    []float64
	aggregate  aggregate
	withScores bool
	limit      int64
	err        error // of the options, which are read when the keys are known
}

func (p *combineParams) targetField() *[]byte       { return &p.target }
func (p *combineParams) keysField() *[][]byte       { return &p.keys }
func (p *combineParams) weightsField() *[]float64   { return &p.weights }
func (p *combineParams) aggregateField() *aggregate { return &p.aggregate }
func (p *combineParams) withScoresField() *bool     { return &p.withScores }
func (p *combineParams) limitField() *int64         { return &p.limit }
func (p *combineParams) errField() *error           { return &p.err }

// aggregate is how the scores of one member in several sets become one.
type aggregate uint8

const (
	aggregateSum aggregate = iota
	aggregateSumNamed
	aggregateMin
	aggregateMax
)

// of aggregates two scores; opposite infinities are 0 (t_zset.c
// zunionInterAggregate).
func (a aggregate) of(x, y float64) float64 {
	switch a {
	case aggregateMin:
		if y < x {
			return y
		}
		return x
	case aggregateMax:
		if y > x {
			return y
		}
		return x
	}
	return orZero(x + y)
}

func orZero(score float64) float64 {
	if math.IsNaN(score) {
		return 0
	}
	return score
}

func combineKeys() grammar.Node {
	return grammar.NumKeys("numkeys", "key", (*combineParams).keysField, grammar.RO|grammar.Access).
		Fail(grammar.OutOfRange, "at least 1 input key is needed for '{command}' command")
}

func weightsNode() grammar.Node {
	return grammar.Floats("weight", (*combineParams).weightsField, func(p *combineParams) int64 { return int64(len(p.keys)) }).
		After("WEIGHTS").Typed(grammar.TypeInteger).Fail(grammar.NotFloat, "weight value is not a float")
}

func aggregateNode() grammar.Node {
	return grammar.Enum("aggregate", (*combineParams).aggregateField, "SUM", "MIN", "MAX").After("AGGREGATE")
}

func combineScoresNode() grammar.Node {
	return grammar.Token("WITHSCORES", (*combineParams).withScoresField)
}

// combining declares a command that answers what an operation makes of sets.
func combining(name, complexity, summary string, run combination, options ...grammar.Node) *Command {
	return onData(Declaration{
		Name: name, Family: SortedSets, Since: "6.2.0", Complexity: complexity, Summary: summary,
		Flags: ReadOnly,
		Reply: reply.OneOf(reply.ArrayOf(reply.Bulk()), scoredReply()),
	}, grammar.Compile[combineParams](combineKeys(), grammar.Late((*combineParams).errField, grammar.Options(options...))),
		func(tx *engine.Tx, p *combineParams, w *reply.Writer) error {
			result, err := p.combine(tx, run)
			if err != nil {
				return err
			}
			scores := scoreWriter{w, p.withScores}
			scores.head(len(result))
			for _, x := range result {
				scores.write([]byte(x.member), x.score)
			}
			return nil
		})
}

// combiningInto declares a command that stores what an operation makes of sets.
func combiningInto(name, since, complexity, summary string, run combination, options ...grammar.Node) *Command {
	return onData(Declaration{
		Name: name, Family: SortedSets, Since: since, Complexity: complexity, Summary: summary,
		Flags: Write | DenyOOM,
		Reply: reply.Int(),
	}, grammar.Compile[combineParams](
		grammar.Key("destination", (*combineParams).targetField, grammar.OW|grammar.Update),
		combineKeys(), grammar.Late((*combineParams).errField, grammar.Options(options...)),
	), func(tx *engine.Tx, p *combineParams, w *reply.Writer) error {
		result, err := p.combine(tx, run)
		if err != nil {
			return err
		}
		storeScored(tx, p.target, name, result)
		w.Int(int64(len(result)))
		return nil
	})
}

const (
	zUnionComplexity = "O(N)+O(M*log(M)) with N being the sum of the sizes of the input sorted sets, and M being the number of elements in the resulting sorted set."
	zInterComplexity = "O(N*K)+O(M*log(M)) worst case with N being the smallest input sorted set, K being the number of input sorted sets and M being the number of elements in the resulting sorted set."
	zDiffComplexity  = "O(L + (N-K)log(N)) worst case where L is the total number of elements in all the sets, N is the size of the first set, and K is the size of the result set."
)

func zUnionCommand() *Command {
	return combining("zunion", zUnionComplexity, "Add multiple sorted sets", uniteScored, weightsNode(), aggregateNode(), combineScoresNode())
}

func zUnionStoreCommand() *Command {
	return combiningInto("zunionstore", "2.0.0",
		"O(N)+O(M log(M)) with N being the sum of the sizes of the input sorted sets, and M being the number of elements in the resulting sorted set.",
		"Add multiple sorted sets and store the resulting sorted set in a new key", uniteScored, weightsNode(), aggregateNode())
}

func zInterCommand() *Command {
	return combining("zinter", zInterComplexity, "Intersect multiple sorted sets", intersectScored, weightsNode(), aggregateNode(), combineScoresNode())
}

func zInterStoreCommand() *Command {
	return combiningInto("zinterstore", "2.0.0", zInterComplexity,
		"Intersect multiple sorted sets and store the resulting sorted set in a new key", intersectScored, weightsNode(), aggregateNode())
}

func zDiffCommand() *Command {
	return combining("zdiff", zDiffComplexity, "Subtract multiple sorted sets", subtractScored, combineScoresNode())
}

func zDiffStoreCommand() *Command {
	return combiningInto("zdiffstore", "6.2.0", zDiffComplexity,
		"Subtract multiple sorted sets and store the resulting sorted set in a new key", subtractScored)
}

func zInterCardCommand() *Command {
	return onData(Declaration{
		Name: "zintercard", Family: SortedSets, Since: "7.0.0",
		Complexity: "O(N*K) worst case with N being the smallest input sorted set, K being the number of input sorted sets.",
		Summary:    "Intersect multiple sorted sets and return the cardinality of the result",
		Flags:      ReadOnly,
		Reply:      reply.Int(),
	}, grammar.Compile[combineParams](combineKeys(), grammar.Late((*combineParams).errField, grammar.Options(
		grammar.Int("limit", (*combineParams).limitField).After("LIMIT").Range(0, math.MaxInt64).FailNumber("ERR LIMIT can't be negative"),
	))), runZInterCard)
}

func runZInterCard(tx *engine.Tx, p *combineParams, w *reply.Writer) error {
	sets, err := p.sets(tx)
	if err != nil {
		return err
	}
	count := int64(0)
	inAll(sets, func(_ []byte, _ float64) bool {
		count++
		return count != p.limit
	})
	w.Int(count)
	return nil
}

// scoredMember is a member of a result.
type scoredMember struct {
	member string
	score  float64
}

func compareScored(a, b scoredMember) int {
	return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.member, b.member))
}

// storeScored makes key the sorted set of these members, which are all different;
// of none, no key.
func storeScored(tx *engine.Tx, key []byte, event string, members []scoredMember) {
	if len(members) == 0 {
		deleteKey(tx, key)
		return
	}
	longest := 0
	for _, x := range members {
		longest = max(longest, len(x.member))
	}
	edit := tx.ReplaceSortedSet(key, len(members), longest)
	for _, x := range members {
		edit.Find([]byte(x.member))
		edit.Put(x.score)
	}
	edit.Close()
	tx.Notify(engine.EventSortedSet, event, key)
}

// operand is a set or a sorted set with the weight of its scores.
type operand struct {
	key    []byte
	sorted engine.SortedSet
	set    engine.Set
	weight float64
}

func (s *operand) len() int { return s.sorted.Len() + s.set.Len() }

func (s *operand) score(member []byte) (score float64, ok bool) {
	if s.set.Len() > 0 {
		return 1, s.set.Has(member)
	}
	return s.sorted.Score(member)
}

func (s *operand) each(visit func(member []byte, score float64) bool) {
	s.sorted.Each(visit)
	s.set.Each(func(member []byte) bool { return visit(member, 1) })
}

// sets looks up all keys before any is read: an expired key is removed when it
// is looked up, and what was read before is not valid then. Only when they are of
// the right types do the options count.
func (p *combineParams) sets(tx *engine.Tx) ([]operand, error) {
	for _, key := range p.keys {
		if tx.Type(key) == engine.TypeSet {
			if _, err := setForRead(tx, key); err != nil {
				return nil, err
			}
		} else if _, err := sortedSetForRead(tx, key); err != nil {
			return nil, err
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	sets := make([]operand, len(p.keys))
	for i, key := range p.keys {
		sets[i] = operand{key: key, weight: 1}
		if len(p.weights) > 0 {
			sets[i].weight = p.weights[i]
		}
		var err error
		if tx.Type(key) == engine.TypeSet {
			sets[i].set, err = tx.PeekSet(key)
		} else {
			sets[i].sorted, err = tx.PeekSortedSet(key)
		}
		if err != nil {
			return nil, err
		}
	}
	return sets, nil
}

// combination makes members of sets, in any order.
type combination func(sets []operand, a aggregate) []scoredMember

// combine is the result of a combination in the order of a sorted set.
func (p *combineParams) combine(tx *engine.Tx, run combination) ([]scoredMember, error) {
	sets, err := p.sets(tx)
	if err != nil {
		return nil, err
	}
	result := run(sets, p.aggregate)
	slices.SortFunc(result, compareScored)
	return result, nil
}

// bySize sorts sets by size, which decides in which order scores are added.
func bySize(sets []operand) {
	slices.SortStableFunc(sets, func(a, b operand) int { return cmp.Compare(a.len(), b.len()) })
}

func uniteScored(sets []operand, a aggregate) (result []scoredMember) {
	bySize(sets)
	places := make(map[string]int, sets[len(sets)-1].len())
	for i := range sets {
		s := &sets[i]
		s.each(func(member []byte, score float64) bool {
			score = orZero(s.weight * score)
			if at, there := places[string(member)]; there {
				result[at].score = a.of(result[at].score, score)
				return true
			}
			name := string(member)
			places[name] = len(result)
			result = append(result, scoredMember{name, score})
			return true
		})
	}
	return result
}

// inAll visits the members that all sets have, with their scores in the
// smallest, until visit returns false. It sorts the sets by size.
func inAll(sets []operand, visit func(member []byte, score float64) bool) {
	bySize(sets)
	sets[0].each(func(member []byte, score float64) bool {
		for i := range sets[1:] {
			if _, ok := sets[1+i].score(member); !ok {
				return true
			}
		}
		return visit(member, score)
	})
}

func intersectScored(sets []operand, a aggregate) (result []scoredMember) {
	inAll(sets, func(member []byte, score float64) bool {
		sum := orZero(sets[0].weight * score)
		for i := range sets[1:] {
			s := &sets[1+i]
			other, _ := s.score(member)
			// The conversion keeps a compiler from fusing product and sum.
			sum = a.of(sum, float64(s.weight*other))
		}
		result = append(result, scoredMember{string(member), sum})
		return true
	})
	return result
}

func subtractScored(sets []operand, _ aggregate) (result []scoredMember) {
	for i := range sets[1:] {
		if string(sets[1+i].key) == string(sets[0].key) {
			return nil
		}
	}
	sets[0].each(func(member []byte, score float64) bool {
		for i := range sets[1:] {
			if _, ok := sets[1+i].score(member); ok {
				return true
			}
		}
		result = append(result, scoredMember{string(member), score})
		return true
	})
	return result
}
