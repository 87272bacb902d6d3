package commands

import (
	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns the commands that take elements from lists and wait for them
// where there are none. It must not know how a session waits (blocking.go).

// timeoutNode is the seconds that a client waits, read after all else (timeout.c
// getTimeoutFromObjectOrReply).
func timeoutNode[T any](field func(T) *[]byte) grammar.Node {
	return grammar.Bytes("timeout", field).Typed(grammar.TypeDouble).Sample("0", "0.5", "10", "-1", "x")
}

const timeoutIsDouble = "`timeout` is interpreted as a double instead of an integer."

// awaited are the keys to look at: those that the command names, or the one whose
// change is why it runs again. Redis serves who waits for several keys from the
// first one that was changed (blocked.c handleClientsBlockedOnKeys).
func awaited(tx *engine.Tx, keys [][]byte) [][]byte {
	if woken := tx.Woken(); woken != nil {
		return [][]byte{woken}
	}
	return keys
}

// awaitedList reads a list that a command waits for. For who waits already, a key of
// another type is as good as none.
func awaitedList(tx *engine.Tx, key []byte) (engine.List, error) {
	l, err := tx.List(key)
	if err != nil && tx.Woken() != nil {
		return engine.List{}, nil
	}
	return l, err
}

type blockingPopParams struct {
	keys    [][]byte
	timeout []byte
}

func blockingPopCommand(d Declaration, end listEnd) *Command {
	d.Family, d.Since, d.Complexity = Lists, "2.0.0", "O(N) where N is the number of provided keys."
	d.Flags, d.History = Write|NoScript|Blocking, []Change{{"6.0.0", timeoutIsDouble}}
	d.Reply = reply.OneOf(reply.Tuple(reply.Bulk(), reply.Bulk()), reply.NullArray())
	return onData(d, grammar.Compile[blockingPopParams](
		grammar.Keys("key", func(p *blockingPopParams) *[][]byte { return &p.keys }, grammar.RW|grammar.Access|grammar.Delete),
		timeoutNode(func(p *blockingPopParams) *[]byte { return &p.timeout }),
	), func(tx *engine.Tx, p *blockingPopParams, w *reply.Writer) error { return runBlockingPop(tx, p, end, w) })
}

func bLPopCommand() *Command {
	return blockingPopCommand(Declaration{Name: "blpop", Summary: "Remove and get the first element in a list, or block until one is available"}, leftEnd)
}

func bRPopCommand() *Command {
	return blockingPopCommand(Declaration{Name: "brpop", Summary: "Remove and get the last element in a list, or block until one is available"}, rightEnd)
}

func runBlockingPop(tx *engine.Tx, p *blockingPopParams, end listEnd, w *reply.Writer) error {
	deadlineMs, err := deadlineAfter(tx, p.timeout)
	if err != nil {
		return err
	}
	for _, key := range awaited(tx, p.keys) {
		l, err := awaitedList(tx, key)
		if err != nil {
			return err
		}
		if l.Len() > 0 {
			w.Array(2)
			w.Bulk(key)
			popOne(tx, key, l, end, w)
			return nil
		}
	}
	return &wait{keys: p.keys, deadlineMs: deadlineMs, none: (*reply.Writer).NullArray}
}

type blockingMultiPopParams struct {
	multiPopParams
	timeout []byte
}

func (p *blockingMultiPopParams) pop() *multiPopParams { return &p.multiPopParams }

func bLMPopCommand() *Command {
	nodes := append([]grammar.Node{timeoutNode(func(p *blockingMultiPopParams) *[]byte { return &p.timeout })},
		multiPopNodes((*blockingMultiPopParams).pop)...)
	return onData(Declaration{
		Name: "blmpop", Family: Lists, Since: "7.0.0",
		Complexity: "O(N+M) where N is the number of provided keys and M is the number of elements returned.",
		Summary:    "Pop elements from a list, or block until one is available",
		Flags:      Write | Blocking,
		Reply:      reply.OneOf(reply.Tuple(reply.Bulk(), reply.ArrayOf(reply.Bulk())), reply.NullArray()),
	}, grammar.Compile[blockingMultiPopParams](nodes...), runBLMPop)
}

func runBLMPop(tx *engine.Tx, p *blockingMultiPopParams, w *reply.Writer) error {
	deadlineMs, err := deadlineAfter(tx, p.timeout)
	if err != nil {
		return err
	}
	popped, err := multiPop(tx, &p.multiPopParams, w)
	if err != nil || popped {
		return err
	}
	return &wait{keys: p.keys, deadlineMs: deadlineMs, none: (*reply.Writer).NullArray}
}

type blockingMove struct {
	listMove
	timeout []byte
}

func (p *blockingMove) move() *listMove { return &p.listMove }

func (p *blockingMove) timeoutField() *[]byte { return &p.timeout }

func bLMoveCommand() *Command {
	source, target := moveKeys((*blockingMove).move)
	from, to := moveEnds((*blockingMove).move)
	return onData(Declaration{
		Name: "blmove", Family: Lists, Since: "6.2.0", Complexity: "O(1)",
		Summary: "Pop an element from a list, push it to another list and return it; or block until one is available",
		Flags:   Write | DenyOOM | NoScript | Blocking,
		Reply:   reply.Nullable(reply.Bulk()),
	}, grammar.Compile[blockingMove](source, target, from, to, timeoutNode((*blockingMove).timeoutField)), runBLMove)
}

func bRPopLPushCommand() *Command {
	source, target := moveKeys((*blockingMove).move)
	return onData(Declaration{
		Name: "brpoplpush", Family: Lists, Since: "2.2.0", Complexity: "O(1)",
		Summary:         "Pop an element from a list, push it to another list and return it; or block until one is available",
		DeprecatedSince: "6.2.0", ReplacedBy: "`BLMOVE` with the `RIGHT` and `LEFT` arguments",
		Flags: Write | DenyOOM | NoScript | Blocking, History: []Change{{"6.0.0", timeoutIsDouble}},
		Reply: reply.Nullable(reply.Bulk()),
	}, grammar.Compile[blockingMove](source, target, timeoutNode((*blockingMove).timeoutField)), func(tx *engine.Tx, p *blockingMove, w *reply.Writer) error {
		p.from, p.to = rightEnd, leftEnd
		return runBLMove(tx, p, w)
	})
}

func runBLMove(tx *engine.Tx, p *blockingMove, w *reply.Writer) error {
	deadlineMs, err := deadlineAfter(tx, p.timeout)
	if err != nil {
		return err
	}
	l, err := awaitedList(tx, p.source)
	if err != nil {
		return err
	}
	if l.Len() > 0 {
		return moveElement(tx, &p.listMove, w)
	}
	return &wait{keys: [][]byte{p.source}, reach: [][]byte{p.target}, deadlineMs: deadlineMs, none: (*reply.Writer).Null}
}
