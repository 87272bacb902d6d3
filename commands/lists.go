package commands

import (
	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns the commands on lists that push and read, and what all commands
// on lists share. It must not know commands that take elements out (lists_pop.go)
// or look for them (lists_find.go), nor how lists are stored.

func listCommands() []*Command {
	return []*Command{
		lPushCommand(), rPushCommand(), lPushXCommand(), rPushXCommand(),
		lLenCommand(), lIndexCommand(), lRangeCommand(), lSetCommand(),
		lPopCommand(), rPopCommand(), lMPopCommand(), lMoveCommand(), rPopLPushCommand(),
		bLPopCommand(), bRPopCommand(), bLMPopCommand(), bLMoveCommand(), bRPopLPushCommand(),
		lPosCommand(), lInsertCommand(), lRemCommand(), lTrimCommand(),
	}
}

// listEnd is an end of a list, as LEFT and RIGHT name it.
type listEnd uint8

const (
	noEnd listEnd = iota
	leftEnd
	rightEnd
)

// pushed and popped are what keyspace events call it.
func (e listEnd) pushed() string { return [...]string{leftEnd: "lpush", rightEnd: "rpush"}[e] }
func (e listEnd) popped() string { return [...]string{leftEnd: "lpop", rightEnd: "rpop"}[e] }

func endNode[T any](name string, field func(T) *listEnd) grammar.Node {
	return grammar.Enum(name, field, "LEFT", "RIGHT")
}

// listForRead reads the list of a command that only reads, and counts the hit,
// which a key of another type is too.
func listForRead(tx *engine.Tx, key []byte) (engine.List, error) {
	l, err := tx.List(key)
	tx.CountHit(key, err != nil || l.Len() > 0)
	return l, err
}

func bulkElement(w *reply.Writer, x engine.Element) {
	if x.Text == nil {
		w.BulkInt(x.Int)
		return
	}
	w.Bulk(x.Text)
}

// tellRemoved tells of elements that were taken out of a list, and of its end when
// none are left.
func tellRemoved(tx *engine.Tx, event string, key []byte, left int) {
	tx.Notify(engine.EventList, event, key)
	if left == 0 {
		tx.Notify(engine.EventGeneric, "del", key)
	}
}

// pushCommand declares a command that pushes elements to an end; with existing,
// only to a list that is there.
func pushCommand(d Declaration, end listEnd, existing bool) *Command {
	d.Family, d.Flags, d.Reply = Lists, Write|DenyOOM|Fast, reply.Int()
	d.Complexity = "O(1) for each element added, so O(N) to add N elements when the command is called with multiple arguments."
	return onData(d, grammar.Compile[elementsParams](
		grammar.Key("key", func(p *elementsParams) *[]byte { return &p.key }, grammar.RW|grammar.Insert),
		grammar.Rest("element", func(p *elementsParams) *[][]byte { return &p.elements }),
	), func(tx *engine.Tx, p *elementsParams, w *reply.Writer) error {
		l, err := tx.List(p.key)
		if err != nil {
			return err
		}
		if existing && l.Len() == 0 {
			w.Int(0)
			return nil
		}
		length := tx.ListPush(p.key, l, end == leftEnd, p.elements)
		tx.Notify(engine.EventList, end.pushed(), p.key)
		w.Int(int64(length))
		return nil
	})
}

func lPushCommand() *Command {
	return pushCommand(Declaration{
		Name: "lpush", Since: "1.0.0", Summary: "Prepend one or multiple elements to a list",
		History: []Change{{"2.4.0", "Accepts multiple `element` arguments."}},
	}, leftEnd, false)
}

func rPushCommand() *Command {
	return pushCommand(Declaration{
		Name: "rpush", Since: "1.0.0", Summary: "Append one or multiple elements to a list",
		History: []Change{{"2.4.0", "Accepts multiple `element` arguments."}},
	}, rightEnd, false)
}

func lPushXCommand() *Command {
	return pushCommand(Declaration{
		Name: "lpushx", Since: "2.2.0", Summary: "Prepend an element to a list, only if the list exists",
		History: []Change{{"4.0.0", "Accepts multiple `element` arguments."}},
	}, leftEnd, true)
}

func rPushXCommand() *Command {
	return pushCommand(Declaration{
		Name: "rpushx", Since: "2.2.0", Summary: "Append an element to a list, only if the list exists",
		History: []Change{{"4.0.0", "Accepts multiple `element` arguments."}},
	}, rightEnd, true)
}

func lLenCommand() *Command {
	return onData(Declaration{
		Name: "llen", Family: Lists, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Get the length of a list",
		Flags:   ReadOnly | Fast,
		Reply:   reply.Int(),
	}, grammar.Compile[keyParams](grammar.Key("key", (*keyParams).keyField, grammar.RO)), func(tx *engine.Tx, p *keyParams, w *reply.Writer) error {
		l, err := listForRead(tx, p.key)
		if err != nil {
			return err
		}
		w.Int(int64(l.Len()))
		return nil
	})
}

type indexParams struct {
	key, element []byte
	index        int64
	err          error // of the index, which is read only when the key is known to be a list
}

func (p *indexParams) keyField() *[]byte     { return &p.key }
func (p *indexParams) elementField() *[]byte { return &p.element }
func (p *indexParams) indexField() *int64    { return &p.index }
func (p *indexParams) errField() *error      { return &p.err }

// of is the index counted from the front; it may lie outside of the list.
func (p *indexParams) of(l engine.List) int {
	if p.index < 0 {
		return int(max(p.index+int64(l.Len()), -1))
	}
	return int(min(p.index, int64(l.Len())))
}

func lIndexCommand() *Command {
	return onData(Declaration{
		Name: "lindex", Family: Lists, Since: "1.0.0",
		Complexity: "O(N) where N is the number of elements to traverse to get to the element at index. This makes asking for the first or the last element of the list O(1).",
		Summary:    "Get an element from a list by its index",
		Flags:      ReadOnly,
		Reply:      reply.Nullable(reply.Bulk()),
	}, grammar.Compile[indexParams](
		grammar.Key("key", (*indexParams).keyField, grammar.RO|grammar.Access),
		grammar.Late((*indexParams).errField, grammar.Int("index", (*indexParams).indexField)),
	), runLIndex)
}

func runLIndex(tx *engine.Tx, p *indexParams, w *reply.Writer) error {
	l, err := listForRead(tx, p.key)
	if err != nil {
		return err
	}
	if l.Len() > 0 && p.err != nil {
		return p.err
	}
	x, ok := l.Get(p.of(l))
	if !ok {
		w.Null()
		return nil
	}
	bulkElement(w, x)
	return nil
}

func lSetCommand() *Command {
	return onData(Declaration{
		Name: "lset", Family: Lists, Since: "1.0.0",
		Complexity: "O(N) where N is the length of the list. Setting either the first or the last element of the list is O(1).",
		Summary:    "Set the value of an element in a list by its index",
		Flags:      Write | DenyOOM,
		Reply:      reply.OK(),
	}, grammar.Compile[indexParams](
		grammar.Key("key", (*indexParams).keyField, grammar.RW|grammar.Update),
		grammar.Late((*indexParams).errField,
			grammar.Int("index", (*indexParams).indexField),
			grammar.Bytes("element", (*indexParams).elementField),
		),
	), runLSet)
}

func runLSet(tx *engine.Tx, p *indexParams, w *reply.Writer) error {
	l, err := tx.List(p.key)
	if err != nil {
		return err
	}
	if l.Len() == 0 {
		return ErrNoSuchKey
	}
	if p.err != nil {
		return p.err
	}
	index := p.of(l)
	if index < 0 || index >= l.Len() {
		return errIndexRange
	}
	tx.ListSet(p.key, index, p.element)
	tx.Notify(engine.EventList, "lset", p.key)
	w.OK()
	return nil
}

type rangeParams struct {
	key         []byte
	start, stop int64
}

func rangeGrammar(flags grammar.KeyFlags) *grammar.Grammar {
	return grammar.Compile[rangeParams](
		grammar.Key("key", func(p *rangeParams) *[]byte { return &p.key }, flags),
		grammar.Int("start", func(p *rangeParams) *int64 { return &p.start }),
		grammar.Int("stop", func(p *rangeParams) *int64 { return &p.stop }),
	)
}

// of is the elements between start and stop, both included: the index of the
// first one, and how many there are.
func (p *rangeParams) of(length int) (first, count int) {
	n := int64(length)
	start, stop := p.start, p.stop
	if start < 0 {
		start = max(start+n, 0)
	}
	if stop < 0 {
		stop += n
	}
	stop = min(stop, n-1)
	if start > stop || start >= n {
		return 0, 0
	}
	return int(start), int(stop - start + 1)
}

func lRangeCommand() *Command {
	return onData(Declaration{
		Name: "lrange", Family: Lists, Since: "1.0.0",
		Complexity: "O(S+N) where S is the distance of start offset from HEAD for small lists, from nearest end (HEAD or TAIL) for large lists; and N is the number of elements in the specified range.",
		Summary:    "Get a range of elements from a list",
		Flags:      ReadOnly,
		Reply:      reply.ArrayOf(reply.Bulk()),
	}, rangeGrammar(grammar.RO|grammar.Access), runLRange)
}

func runLRange(tx *engine.Tx, p *rangeParams, w *reply.Writer) error {
	l, err := listForRead(tx, p.key)
	if err != nil {
		return err
	}
	first, count := p.of(l.Len())
	w.Array(count)
	l.Range(first, count, func(x engine.Element) { bulkElement(w, x) })
	return nil
}
