package commands

import (
	"math"
	"slices"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns the commands that look for elements of lists by their value, and
// LTRIM. It must not know how lists are stored.

type posParams struct {
	key, element       []byte
	rank, count, limit int64
	hasCount           bool
}

func lPosCommand() *Command {
	return onData(Declaration{
		Name: "lpos", Family: Lists, Since: "6.0.6",
		Complexity: "O(N) where N is the number of elements in the list, for the average case. When searching for elements near the head or the tail of the list, or when the MAXLEN option is provided, the command may run in constant time.",
		Summary:    "Return the index of matching elements on a list",
		Flags:      ReadOnly,
		Reply:      reply.OneOf(reply.Int(), reply.Null(), reply.ArrayOf(reply.Int())),
	}, grammar.Compile[posParams](
		grammar.Key("key", func(p *posParams) *[]byte { return &p.key }, grammar.RO|grammar.Access),
		grammar.Bytes("element", func(p *posParams) *[]byte { return &p.element }),
		grammar.Options(
			grammar.Value("rank", setRank).Typed(grammar.TypeInteger).Sample("1", "2", "-1", "-2", "0", "x").After("RANK"),
			grammar.Int("num-matches", func(p *posParams) *int64 { return &p.count }).After("COUNT").
				Present(grammar.BoolOf(func(p *posParams) *bool { return &p.hasCount })).
				Range(0, math.MaxInt64).FailNumber("ERR COUNT can't be negative"),
			grammar.Int("len", func(p *posParams) *int64 { return &p.limit }).After("MAXLEN").
				Range(0, math.MaxInt64).FailNumber("ERR MAXLEN can't be negative"),
		),
	), runLPos)
}

func setRank(p *posParams, arg []byte) *grammar.Error {
	rank, ok := grammar.ParseInt(arg)
	if !ok {
		return grammar.Fail(grammar.NotInteger, "")
	}
	if rank == 0 {
		return grammar.Fail(grammar.Other, "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list")
	}
	p.rank = rank
	return nil
}

func runLPos(tx *engine.Tx, p *posParams, w *reply.Writer) error {
	l, err := listForRead(tx, p.key)
	if err != nil {
		return err
	}
	search, rank := l.Match, max(p.rank, 1)
	if p.rank < 0 {
		// The smallest integer has no opposite: Redis, too, begins at the last match.
		search, rank = l.MatchBack, -p.rank
	}
	limit := l.Len()
	if p.limit > 0 {
		limit = int(min(p.limit, int64(limit)))
	}
	wanted := p.count
	if !p.hasCount {
		wanted = 1
	}
	list := reply.Deferred{}
	if p.hasCount {
		list = w.DeferArray(0)
	}
	seen, found := int64(0), int64(0)
	search(p.element, limit, func(index int) bool {
		if seen++; seen < rank {
			return true
		}
		w.Int(int64(index))
		found++
		return found != wanted
	})
	switch {
	case p.hasCount:
		w.Close(list, int(found))
	case found == 0:
		w.Null()
	}
	return nil
}

type insertParams struct {
	key, pivot, element []byte
	where               uint8
}

const insertAfter = 2

func lInsertCommand() *Command {
	return onData(Declaration{
		Name: "linsert", Family: Lists, Since: "2.2.0",
		Complexity: "O(N) where N is the number of elements to traverse before seeing the value pivot. This means that inserting somewhere on the left end on the list (head) can be considered O(1) and inserting somewhere on the right end (tail) is O(N).",
		Summary:    "Insert an element before or after another element in a list",
		Flags:      Write | DenyOOM,
		Reply:      reply.Int(),
	}, grammar.Compile[insertParams](
		grammar.Key("key", func(p *insertParams) *[]byte { return &p.key }, grammar.RW|grammar.Insert),
		grammar.Enum("where", func(p *insertParams) *uint8 { return &p.where }, "BEFORE", "AFTER"),
		grammar.Bytes("pivot", func(p *insertParams) *[]byte { return &p.pivot }),
		grammar.Bytes("element", func(p *insertParams) *[]byte { return &p.element }),
	), runLInsert)
}

func runLInsert(tx *engine.Tx, p *insertParams, w *reply.Writer) error {
	l, err := tx.List(p.key)
	if err != nil {
		return err
	}
	if l.Len() == 0 {
		w.Int(0)
		return nil
	}
	at := -1
	l.Match(p.pivot, l.Len(), func(index int) bool {
		at = index
		return false
	})
	if at < 0 {
		w.Int(-1)
		return nil
	}
	if p.where == insertAfter {
		at++
	}
	length := l.Len() + 1
	tx.ListInsert(p.key, at, p.element)
	tx.Notify(engine.EventList, "linsert", p.key)
	w.Int(int64(length))
	return nil
}

type remParams struct {
	key, element []byte
	count        int64
}

func lRemCommand() *Command {
	return onData(Declaration{
		Name: "lrem", Family: Lists, Since: "1.0.0",
		Complexity: "O(N+M) where N is the length of the list and M is the number of elements removed.",
		Summary:    "Remove elements from a list",
		Flags:      Write,
		Reply:      reply.Int(),
	}, grammar.Compile[remParams](
		grammar.Key("key", func(p *remParams) *[]byte { return &p.key }, grammar.RW|grammar.Delete),
		grammar.Int("count", func(p *remParams) *int64 { return &p.count }),
		grammar.Bytes("element", func(p *remParams) *[]byte { return &p.element }),
	), runLRem)
}

func runLRem(tx *engine.Tx, p *remParams, w *reply.Writer) error {
	l, err := tx.List(p.key)
	if err != nil {
		return err
	}
	var found []int
	search := l.Match
	if p.count < 0 {
		search = l.MatchBack
	}
	search(p.element, l.Len(), func(index int) bool {
		found = append(found, index)
		return int64(len(found)) != p.count && int64(len(found)) != -p.count
	})
	if p.count >= 0 {
		slices.Reverse(found)
	}
	if len(found) > 0 {
		if err := removeAll(tx, p.key, l, found); err != nil {
			return err
		}
		tellRemoved(tx, "lrem", p.key, l.Len()-len(found))
	}
	w.Int(int64(len(found)))
	return nil
}

// removeAll removes the elements at indexes of the list l, which descend: so those
// that are left to remove stay where they are. Neighbours go together.
func removeAll(tx *engine.Tx, key []byte, l engine.List, indexes []int) (err error) {
	for {
		n := 1
		for n < len(indexes) && indexes[n] == indexes[0]-n {
			n++
		}
		tx.ListRemove(key, l, indexes[n-1], n)
		if indexes = indexes[n:]; len(indexes) == 0 {
			return nil
		}
		if l, err = tx.List(key); err != nil {
			return err
		}
	}
}

func lTrimCommand() *Command {
	return onData(Declaration{
		Name: "ltrim", Family: Lists, Since: "1.0.0",
		Complexity: "O(N) where N is the number of elements to be removed by the operation.",
		Summary:    "Trim a list to the specified range",
		Flags:      Write,
		Reply:      reply.OK(),
	}, rangeGrammar(grammar.RW|grammar.Delete), runLTrim)
}

func runLTrim(tx *engine.Tx, p *rangeParams, w *reply.Writer) error {
	l, err := tx.List(p.key)
	if err != nil {
		return err
	}
	if length := l.Len(); length > 0 {
		first, count := p.of(length)
		tx.ListRemove(p.key, l, first+count, length-first-count)
		if l, err = tx.List(p.key); err != nil {
			return err
		}
		tellRemoved(tx, "ltrim", p.key, tx.ListRemove(p.key, l, 0, first))
	}
	w.OK()
	return nil
}
