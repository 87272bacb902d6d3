package commands

import (
	"math"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns the commands that take elements from the ends of lists. It must
// not know what waits for elements to come.

type popParams struct {
	key      []byte
	count    int64
	hasCount bool
}

func popCommand(d Declaration, end listEnd) *Command {
	d.Family, d.Since, d.Flags = Lists, "1.0.0", Write|Fast
	d.Complexity = "O(N) where N is the number of elements returned"
	d.History = []Change{{"6.2.0", "Added the `count` argument."}}
	d.Reply = reply.OneOf(reply.Bulk(), reply.Null(), reply.ArrayOf(reply.Bulk()), reply.NullArray())
	return onData(d, grammar.Compile[popParams](
		grammar.Key("key", func(p *popParams) *[]byte { return &p.key }, grammar.RW|grammar.Access|grammar.Delete),
		grammar.Custom("count", setPopCount, popCountNode()).DocumentedAs(popCountNode()),
	), func(tx *engine.Tx, p *popParams, w *reply.Writer) error { return runPop(tx, p, end, w) })
}

func popCountNode() grammar.Node {
	return grammar.Opt(grammar.Int[*popParams]("count", nil).Since("6.2.0"))
}

// setPopCount reads the count. That there are too many arguments comes before what
// they are, and is not a syntax error (t_list.c popGenericCommand).
func setPopCount(p *popParams, args [][]byte) (used int, err *grammar.Error) {
	switch len(args) {
	case 0:
		return 0, nil
	case 1:
		var ok bool
		if p.count, ok = grammar.ParseInt(args[0]); !ok || p.count < 0 {
			return 0, grammar.Fail(grammar.NotPositive, "")
		}
		p.hasCount = true
		return 1, nil
	}
	return 0, grammar.Fail(grammar.Arity, "")
}

func lPopCommand() *Command {
	return popCommand(Declaration{Name: "lpop", Summary: "Remove and get the first elements in a list"}, leftEnd)
}

func rPopCommand() *Command {
	return popCommand(Declaration{Name: "rpop", Summary: "Remove and get the last elements in a list"}, rightEnd)
}

func runPop(tx *engine.Tx, p *popParams, end listEnd, w *reply.Writer) error {
	l, err := tx.List(p.key)
	if err != nil {
		return err
	}
	switch {
	case l.Len() == 0 && p.hasCount:
		w.NullArray()
	case l.Len() == 0:
		w.Null()
	case !p.hasCount:
		popOne(tx, p.key, l, end, w)
	case p.count == 0:
		w.Array(0)
	default:
		popSome(tx, p.key, l, end, p.count, w)
	}
	return nil
}

// popOne takes an element from an end of a list, which is not empty, and replies
// with it.
func popOne(tx *engine.Tx, key []byte, l engine.List, end listEnd, w *reply.Writer) {
	index := endIndex(l, end)
	x, _ := l.Get(index)
	bulkElement(w, x)
	tellRemoved(tx, end.popped(), key, tx.ListRemove(key, l, index, 1))
}

func endIndex(l engine.List, end listEnd) int {
	if end == leftEnd {
		return 0
	}
	return l.Len() - 1
}

// popSome takes up to count elements and replies with an array of them, in the
// order in which they come off the end.
func popSome(tx *engine.Tx, key []byte, l engine.List, end listEnd, count int64, w *reply.Writer) {
	n := int(min(count, int64(l.Len())))
	first := 0
	w.Array(n)
	visit := func(x engine.Element) { bulkElement(w, x) }
	if end == leftEnd {
		l.Range(0, n, visit)
	} else {
		first = l.Len() - n
		l.RangeBack(l.Len()-1, n, visit)
	}
	tellRemoved(tx, end.popped(), key, tx.ListRemove(key, l, first, n))
}

type multiPopParams struct {
	keys  [][]byte
	end   listEnd
	count int64
}

// multiPopNodes are the arguments of LMPOP and of its blocking form.
func multiPopNodes[T any](params func(T) *multiPopParams) []grammar.Node {
	return []grammar.Node{
		grammar.NumKeys("numkeys", "key", func(p T) *[][]byte { return &params(p).keys }, grammar.RW|grammar.Access|grammar.Delete).
			FailNumber("numkeys should be greater than 0"),
		endNode("where", func(p T) *listEnd { return &params(p).end }),
		grammar.Opt(grammar.Int("count", func(p T) *int64 { return &params(p).count }).After("COUNT").Default(1).
			Range(1, math.MaxInt64).FailNumber("count should be greater than 0")),
	}
}

func lMPopCommand() *Command {
	return onData(Declaration{
		Name: "lmpop", Family: Lists, Since: "7.0.0",
		Complexity: "O(N+M) where N is the number of provided keys and M is the number of elements returned.",
		Summary:    "Pop elements from a list",
		Flags:      Write,
		Reply:      reply.OneOf(reply.Tuple(reply.Bulk(), reply.ArrayOf(reply.Bulk())), reply.NullArray()),
	}, grammar.Compile[multiPopParams](
		multiPopNodes(func(p *multiPopParams) *multiPopParams { return p })...,
	), func(tx *engine.Tx, p *multiPopParams, w *reply.Writer) error {
		popped, err := multiPop(tx, p, w)
		if err == nil && !popped {
			w.NullArray()
		}
		return err
	})
}

// multiPop takes elements from the first of the keys that is a list, and replies
// with its key and them. It says whether there was one.
func multiPop(tx *engine.Tx, p *multiPopParams, w *reply.Writer) (popped bool, err error) {
	for _, key := range awaited(tx, p.keys) {
		l, err := awaitedList(tx, key)
		if err != nil {
			return false, err
		}
		if l.Len() > 0 {
			w.Array(2)
			w.Bulk(key)
			popSome(tx, key, l, p.end, p.count, w)
			return true, nil
		}
	}
	return false, nil
}

// listMove is where an element goes from and to.
type listMove struct {
	source, target []byte
	from, to       listEnd
}

// moveKeys are the keys of the commands that move an element.
func moveKeys[T any](params func(T) *listMove) (source, target grammar.Node) {
	return grammar.Key("source", func(p T) *[]byte { return &params(p).source }, grammar.RW|grammar.Access|grammar.Delete),
		grammar.Key("destination", func(p T) *[]byte { return &params(p).target }, grammar.RW|grammar.Insert)
}

// moveEnds are the ends that LMOVE and its blocking form name.
func moveEnds[T any](params func(T) *listMove) (from, to grammar.Node) {
	return endNode("wherefrom", func(p T) *listEnd { return &params(p).from }),
		endNode("whereto", func(p T) *listEnd { return &params(p).to })
}

func itself(p *listMove) *listMove { return p }

func lMoveCommand() *Command {
	source, target := moveKeys(itself)
	from, to := moveEnds(itself)
	return onData(Declaration{
		Name: "lmove", Family: Lists, Since: "6.2.0", Complexity: "O(1)",
		Summary: "Pop an element from a list, push it to another list and return it",
		Flags:   Write | DenyOOM,
		Reply:   reply.Nullable(reply.Bulk()),
	}, grammar.Compile[listMove](source, target, from, to), runLMove)
}

func rPopLPushCommand() *Command {
	source, target := moveKeys(itself)
	return onData(Declaration{
		Name: "rpoplpush", Family: Lists, Since: "1.2.0", Complexity: "O(1)",
		Summary:         "Remove the last element in a list, prepend it to another list and return it",
		DeprecatedSince: "6.2.0", ReplacedBy: "`LMOVE` with the `RIGHT` and `LEFT` arguments",
		Flags: Write | DenyOOM,
		Reply: reply.Nullable(reply.Bulk()),
	}, grammar.Compile[listMove](source, target), func(tx *engine.Tx, p *listMove, w *reply.Writer) error {
		p.from, p.to = rightEnd, leftEnd
		return runLMove(tx, p, w)
	})
}

func runLMove(tx *engine.Tx, p *listMove, w *reply.Writer) error {
	l, err := tx.List(p.source)
	if err != nil {
		return err
	}
	if l.Len() == 0 {
		w.Null()
		return nil
	}
	return moveElement(tx, p, w)
}

// moveElement moves an element of the list source, which is not empty, and
// replies with it. It is pushed first: a list that it leaves for itself then
// never ends, and keeps its deadline.
func moveElement(tx *engine.Tx, p *listMove, w *reply.Writer) error {
	l, err := tx.List(p.source)
	if err != nil {
		return err
	}
	x, _ := l.Get(endIndex(l, p.from))
	value := x.AppendTo(nil)
	target, err := tx.List(p.target)
	if err != nil {
		return err
	}
	one := [1][]byte{value}
	tx.ListPush(p.target, target, p.to == leftEnd, one[:])
	tx.Notify(engine.EventList, p.to.pushed(), p.target)
	if l, err = tx.List(p.source); err != nil {
		return err
	}
	left := tx.ListRemove(p.source, l, endIndex(l, p.from), 1)
	tellRemoved(tx, p.from.popped(), p.source, left)
	w.Bulk(value)
	return nil
}
