package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// This file owns the model's commands on sorted sets. It must not know anything of
// the engine.

// onSortedSet finds a sorted set, or an empty one that may be written to.
func (m *model) onSortedSet(key string) (v modelKey, ok bool) {
	v, there := m.find(m.db, key)
	if !there {
		v.scores = map[string]float64{}
	}
	return v, v.scores != nil
}

// putSortedSet keeps a sorted set that has members, and ends the key of one that
// has none.
func (m *model) putSortedSet(key string, v modelKey) {
	if len(v.scores) == 0 {
		delete(m.databases[m.db], key)
		return
	}
	m.put(key, v)
}

// ranked are the members by score, those of one score by their bytes.
func (v modelKey) ranked() []string {
	return slices.SortedFunc(maps.Keys(v.scores), func(a, b string) int {
		return cmp.Or(cmp.Compare(v.scores[a], v.scores[b]), strings.Compare(a, b))
	})
}

// withScores puts each member's score behind it.
func (v modelKey) withScores(members []string) []string {
	pairs := make([]string, 0, 2*len(members))
	for _, member := range members {
		pairs = append(pairs, member, scoreText(v.scores[member]))
	}
	return pairs
}

func scoreText(score float64) string {
	if math.IsInf(score, 0) {
		return strings.ToLower(strings.TrimPrefix(fmt.Sprint(score), "+"))
	}
	return strconv.FormatFloat(score, 'f', -1, 64)
}

func score(text string) float64 {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(err)
	}
	return f
}

// scoresText prints members in order, each with its score.
func scoresText(pairs []string) string {
	return fmt.Sprintf("sorted set of %d %q", len(pairs)/2, pairs)
}

// scoring is how a ZADD decides over one member.
type scoring struct{ nx, xx, gt, lt, ch, incr bool }

// zAdd knows every option, those that exclude each other one at a time.
func (m *model) zAdd(args []string) string {
	v, ok := m.onSortedSet(args[0])
	if !ok {
		return modelWrongType
	}
	var how scoring
	options := map[string]*bool{"NX": &how.nx, "XX": &how.xx, "GT": &how.gt, "LT": &how.lt, "CH": &how.ch, "INCR": &how.incr}
	rest := args[1:]
	for options[rest[0]] != nil {
		*options[rest[0]] = true
		rest = rest[1:]
	}
	added, updated, reply := int64(0), int64(0), modelNull
	for i := 0; i < len(rest); i += 2 {
		old, there := v.scores[rest[i+1]]
		next := score(rest[i])
		if there && how.incr && !how.nx {
			next += old
		}
		switch {
		case math.IsNaN(next):
			return "-ERR resulting score is not a number (NaN)\r\n"
		case there && (how.nx || how.gt && next <= old || how.lt && next >= old), !there && how.xx:
			continue
		case !there:
			added++
		case next != old:
			updated++
		}
		v.scores[rest[i+1]] = next
		reply = bulk(scoreText(next))
	}
	m.putSortedSet(args[0], v)
	switch {
	case how.incr:
		return reply
	case how.ch:
		return number(added + updated)
	}
	return number(added)
}

func (m *model) zIncrBy(args []string) string {
	return m.zAdd([]string{args[0], "INCR", args[1], args[2]})
}

// dropMembers takes members out and keeps the rest.
func (m *model) dropMembers(key string, v modelKey, members []string) string {
	before := len(v.scores)
	for _, member := range members {
		delete(v.scores, member)
	}
	m.putSortedSet(key, v)
	return number(int64(before - len(v.scores)))
}

func (m *model) zRem(args []string) string {
	v, ok := m.onSortedSet(args[0])
	if !ok {
		return modelWrongType
	}
	return m.dropMembers(args[0], v, args[1:])
}

func (m *model) zCard(args []string) string {
	v, ok := m.onSortedSet(args[0])
	if !ok {
		return modelWrongType
	}
	return number(int64(len(v.scores)))
}

func (m *model) zScore(args []string) string {
	v, ok := m.onSortedSet(args[0])
	if !ok {
		return modelWrongType
	}
	if found, there := v.scores[args[1]]; there {
		return bulk(scoreText(found))
	}
	return modelNull
}

func (m *model) zRank(args []string) string {
	v, ok := m.onSortedSet(args[0])
	if !ok {
		return modelWrongType
	}
	if rank := slices.Index(v.ranked(), args[1]); rank >= 0 {
		return number(int64(rank))
	}
	return modelNull
}

func (m *model) zRange(args []string) string {
	v, ok := m.onSortedSet(args[0])
	if !ok {
		return modelWrongType
	}
	return bulks(span(v.ranked(), args[1], args[2]))
}

// zRangeStore is ZRANGESTORE target source start stop.
func (m *model) zRangeStore(args []string) string {
	v, ok := m.onSortedSet(args[1])
	if !ok {
		return modelWrongType
	}
	result := map[string]float64{}
	for _, member := range span(v.ranked(), args[2], args[3]) {
		result[member] = v.scores[member]
	}
	m.putSortedSet(args[0], modelKey{scores: result})
	return number(int64(len(result)))
}

// zPop is ZPOPMIN or ZPOPMAX with a count.
func (m *model) zPop(last bool) func(args []string) string {
	return func(args []string) string {
		v, ok := m.onSortedSet(args[0])
		if !ok {
			return modelWrongType
		}
		taken := v.ranked()
		if last {
			slices.Reverse(taken)
		}
		taken = taken[:min(len(taken), int(integer(args[1])))]
		reply := bulks(v.withScores(taken))
		m.dropMembers(args[0], v, taken)
		return reply
	}
}

func (m *model) zRemRangeByRank(args []string) string {
	v, ok := m.onSortedSet(args[0])
	if !ok {
		return modelWrongType
	}
	return m.dropMembers(args[0], v, span(v.ranked(), args[1], args[2]))
}

func (m *model) zRemRangeByScore(args []string) string {
	v, ok := m.onSortedSet(args[0])
	if !ok {
		return modelWrongType
	}
	low, high := score(args[1]), score(args[2])
	return m.dropMembers(args[0], v, slices.DeleteFunc(v.ranked(), func(member string) bool {
		return v.scores[member] < low || v.scores[member] > high
	}))
}

// aggregate makes one score of two.
type aggregate func(a, b float64) float64

// addScores is SUM; infinities that cancel each other make 0 (t_zset.c,
// zunionInterAggregate).
func addScores(a, b float64) float64 {
	if sum := a + b; !math.IsNaN(sum) {
		return sum
	}
	return 0
}

// zStore is target 2 a b [AGGREGATE how]: it combines two sets, sorted or not, into
// a key. A member of a plain set has the score 1.
func (m *model) zStore(combine func(a, b map[string]float64, join aggregate) map[string]float64) func(args []string) string {
	return func(args []string) string {
		a, ok := m.scored(args[2])
		if !ok {
			return modelWrongType
		}
		b, ok := m.scored(args[3])
		if !ok {
			return modelWrongType
		}
		join := addScores
		if len(args) > 4 {
			join = map[string]aggregate{
				"SUM": addScores,
				"MIN": func(a, b float64) float64 { return min(a, b) },
				"MAX": func(a, b float64) float64 { return max(a, b) },
			}[args[5]]
		}
		result := combine(a, b, join)
		m.putSortedSet(args[0], modelKey{scores: result})
		return number(int64(len(result)))
	}
}

// scored is a set of either kind.
func (m *model) scored(key string) (scores map[string]float64, ok bool) {
	v, there := m.find(m.db, key)
	if v.members == nil {
		return v.scores, !there || v.scores != nil
	}
	scores = map[string]float64{}
	for member := range v.members {
		scores[member] = 1
	}
	return scores, true
}

func uniteScores(a, b map[string]float64, join aggregate) map[string]float64 {
	result := map[string]float64{}
	maps.Copy(result, a)
	for member, other := range b {
		if old, there := a[member]; there {
			other = join(old, other)
		}
		result[member] = other
	}
	return result
}

func intersectScores(a, b map[string]float64, join aggregate) map[string]float64 {
	result := map[string]float64{}
	for member, old := range a {
		if other, there := b[member]; there {
			result[member] = join(old, other)
		}
	}
	return result
}

func subtractScores(a, b map[string]float64, _ aggregate) map[string]float64 {
	result := map[string]float64{}
	for member, old := range a {
		if _, there := b[member]; !there {
			result[member] = old
		}
	}
	return result
}
