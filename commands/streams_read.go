package commands

import (
	"slices"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/stream"
)

// This file owns XREAD and XREADGROUP, blocking or not. It must not know how a
// stream is stored.

type readParams struct {
	streams         [][]byte // keys, then as many ids
	count           int64
	blocks          bool
	blockMs         int64
	grouped         bool // it is XREADGROUP
	group, consumer []byte
	forget          bool // NOACK
	words           [][]byte
	// scripted says that a script asks, so that reading ends where it may not wait;
	// waits, that it ended there.
	scripted, waits bool
}

// readBlockedMax is how many entries a client gets that waited without COUNT
// (t_stream.c XREAD_BLOCKED_DEFAULT_COUNT).
const readBlockedMax = 1000

func (p *readParams) parseRead(args [][]byte) (int, *grammar.Error) { return p.parse(args, false) }

func (p *readParams) parseReadGroup(args [][]byte) (int, *grammar.Error) { return p.parse(args, true) }

// parse reads options in any order up to STREAMS, which ends them.
func (p *readParams) parse(args [][]byte, grouped bool) (int, *grammar.Error) {
	p.grouped, p.words = grouped, args
	hasGroup := false
	for i := 0; i < len(args); i++ {
		word, left := upToNul(args[i]), len(args)-1-i
		switch {
		case equalFold(word, "block") && left > 0:
			if p.scripted {
				p.waits = true
				return 0, grammar.Fail(grammar.Other, "")
			}
			i++
			if err := p.block(args[i]); err != nil {
				return 0, err
			}
		case equalFold(word, "count") && left > 0:
			i++
			var ok bool
			if p.count, ok = grammar.ParseInt(args[i]); !ok {
				return 0, grammar.Fail(grammar.NotInteger, "")
			}
			p.count = max(p.count, 0)
		case equalFold(word, "streams") && left > 0:
			p.streams = args[i+1:]
			if left%2 != 0 {
				return 0, grammar.Fail(grammar.Other, string(errReadUnbalanced))
			}
			if grouped && !hasGroup {
				return 0, grammar.Fail(grammar.Other, string(errReadNoGroup))
			}
			return len(args), nil
		case equalFold(word, "group") && left > 1:
			if !grouped {
				return 0, grammar.Fail(grammar.Other, string(errReadGroup))
			}
			hasGroup, p.group, p.consumer = true, args[i+1], args[i+2]
			i += 2
		case equalFold(word, "noack"):
			if !grouped {
				return 0, grammar.Fail(grammar.Other, string(errReadNoAck))
			}
			p.forget = true
		default:
			return 0, grammar.Fail(grammar.Syntax, "")
		}
	}
	return 0, grammar.Fail(grammar.Syntax, "")
}

// refusingBlock refuses lines with BLOCK in scripts, at the place where options are
// read up to it.
func refusingBlock(c *Command, grouped bool) *Command {
	c.unscripted = func(word []byte, args [][]byte) error {
		p := readParams{scripted: true}
		if p.parse(args, grouped); p.waits {
			return errReadBlock(word)
		}
		return nil
	}
	return c
}

func (p *readParams) block(arg []byte) *grammar.Error {
	var ok bool
	if p.blockMs, ok = grammar.ParseInt(arg); !ok {
		return grammar.Fail(grammar.Other, string(errTimeoutInteger))
	}
	if p.blockMs < 0 {
		return grammar.Fail(grammar.Other, string(errTimeoutNegative))
	}
	p.blocks = true
	return nil
}

// findReadKeys finds the keys behind the STREAMS that is the option: a group may
// have that name, too (db.c xreadGetKeys).
func findReadKeys(flags grammar.KeyFlags) func(dst []grammar.KeyRef, argv [][]byte) ([]grammar.KeyRef, bool) {
	return func(dst []grammar.KeyRef, argv [][]byte) ([]grammar.KeyRef, bool) {
		for i := 0; i < len(argv); i++ {
			switch word := upToNul(argv[i]); {
			case equalFold(word, "block"), equalFold(word, "count"):
				i++
			case equalFold(word, "group"):
				i += 2
			case equalFold(word, "noack"):
			case equalFold(word, "streams"):
				n := len(argv) - i - 1
				if n == 0 || n%2 != 0 {
					return dst, false
				}
				for j := range n / 2 {
					dst = append(dst, grammar.KeyRef{Index: i + 1 + j, Flags: flags})
				}
				return dst, true
			default:
				return dst, false
			}
		}
		return dst, false
	}
}

// readNodes documents what both commands have in common.
func readNodes(between ...grammar.Node) []grammar.Node {
	nodes := []grammar.Node{
		grammar.Opt(grammar.Int[*readParams]("count", nil).After("COUNT")),
		grammar.Opt(grammar.Int[*readParams]("milliseconds", nil).After("BLOCK").Sample("1", "-1", "x")),
	}
	nodes = append(nodes, between...)
	return append(nodes, grammar.Streams[*readParams]("streams", "key", "id", nil, grammar.RO|grammar.Access).After("STREAMS"))
}

func readShape() reply.Shape {
	return reply.OneOf(reply.NullArray(), reply.PerProto(
		reply.ArrayOf(reply.Tuple(reply.Bulk(), reply.ArrayOf(readEntryShape()))),
		reply.MapOf(reply.Bulk(), reply.ArrayOf(readEntryShape()))))
}

// readEntryShape is an entry; of one that is pending, but was deleted, there is
// only the id.
func readEntryShape() reply.Shape {
	return reply.OneOf(entryShape(), reply.Tuple(reply.Bulk(), reply.NullArray()))
}

func xReadCommand() *Command {
	return refusingBlock(onData(Declaration{
		Name: "xread", Family: Streams, Since: "5.0.0",
		Complexity: "For each stream mentioned: O(N) with N being the number of elements being returned, it means that XREAD-ing with a fixed COUNT is O(1). Note that when the BLOCK option is used, XADD will pay O(M) time in order to serve the M clients blocked on the stream getting new data.",
		Summary:    "Return never seen elements in multiple streams, with IDs greater than the ones reported by the caller for each stream. Can block.",
		Flags:      ReadOnly | Blocking,
		Reply:      readShape(),
	}, grammar.Compile[readParams](
		grammar.Custom("", (*readParams).parseRead, readNodes()...),
	).WithKeys("STREAMS may be the name of a key, too", findReadKeys(grammar.RO|grammar.Access)), runRead), false)
}

func xReadGroupCommand() *Command {
	return refusingBlock(onData(Declaration{
		Name: "xreadgroup", Family: Streams, Since: "5.0.0",
		Complexity: "For each stream mentioned: O(M) with M being the number of elements returned. If M is constant (e.g. always asking for the first 10 elements with COUNT), you can consider it O(1). On the other side when XREADGROUP blocks, XADD will pay the O(N) time in order to serve the N clients blocked on the stream getting new data.",
		Summary:    "Return new entries from a stream using a consumer group, or access the history of the pending entries for a given consumer. Can block.",
		Flags:      Write | Blocking,
		Reply:      readShape(),
	}, grammar.Compile[readParams](
		grammar.Custom("", (*readParams).parseReadGroup, append([]grammar.Node{
			grammar.Block("group_consumer", grammar.Bytes[*readParams]("group", nil).Sample("g", "h"), grammar.Bytes[*readParams]("consumer", nil).Sample("c", "d")).After("GROUP"),
		}, readNodes(grammar.Opt(grammar.Token[*readParams]("NOACK", nil)))...)...),
	).WithKeys("STREAMS may be the name of a group or key, too", findReadKeys(grammar.RO|grammar.Access)), runRead), true)
}

// readSource is one of the streams that are read.
type readSource struct {
	key   []byte
	s     engine.Stream
	group engine.StreamGroup
	after stream.ID // what is read follows it
	fresh bool      // what the group has not delivered yet
}

func runRead(tx *engine.Tx, p *readParams, w *reply.Writer) error {
	if tx.Woken() != nil {
		return runReadWoken(tx, p, w)
	}
	n := len(p.streams) / 2
	var few [8]readSource
	sources := few[:0]
	for i := range n {
		from, err := p.source(tx, p.streams[i], p.streams[n+i])
		if err != nil {
			return err
		}
		sources = append(sources, from)
	}
	found := readReply{w: w}
	for i := range sources {
		from := &sources[i]
		tx.CountHit(from.key, from.s.Exists())
		if from.ready() {
			found.begin(from.key)
			from.read(tx, p, p.count, w)
		}
	}
	switch {
	case found.n > 0:
		found.end()
		return nil
	case p.blocks:
		return p.wait(tx, sources)
	}
	w.NullArray()
	return nil
}

// readReply is the reply of streams and their entries, as many as turn out.
type readReply struct {
	w    *reply.Writer
	open reply.Deferred
	n    int
}

func (r *readReply) begin(key []byte) {
	if r.n == 0 && r.w.Proto() == 2 {
		r.open = r.w.DeferArray(1)
	} else if r.n == 0 {
		r.open = r.w.DeferMap(1)
	}
	r.n++
	if r.w.Proto() == 2 {
		r.w.Array(2)
	}
	r.w.Bulk(key)
}

func (r *readReply) end() { r.w.Close(r.open, r.n) }

// source looks a stream up and reads its id, in Redis's order of errors.
func (p *readParams) source(tx *engine.Tx, key, id []byte) (readSource, error) {
	from := readSource{key: key}
	var err error
	if from.s, err = streamForRead(tx, key); err != nil {
		return from, err
	}
	if p.grouped {
		var ok bool
		if from.group, ok = from.s.Group(p.group); !ok {
			return from, errNoReadGroup(key, p.group)
		}
	}
	switch string(upToNul(id)) {
	case "$":
		if p.grouped {
			return from, errReadLast
		}
		from.after = from.s.LastID()
		return from, nil
	case ">":
		if !p.grouped {
			return from, errReadNew
		}
		from.after = stream.Max
	default:
		var ok bool
		if from.after, ok = parseID(id, 0); !ok {
			return from, errStreamID
		}
	}
	from.fresh = p.grouped && from.after == stream.Max
	return from, nil
}

// ready says whether there is something to answer. Whoever asks for what was
// delivered to him is always answered.
func (from *readSource) ready() bool {
	if !from.s.Exists() {
		return false
	}
	after := from.after
	switch {
	case from.fresh:
		after = from.group.LastID()
	case from.group != engine.StreamGroup{}:
		return true
	}
	last, ok := from.s.LastEntry()
	return ok && after.Less(last)
}

// read writes the entries of a stream.
func (from *readSource) read(tx *engine.Tx, p *readParams, count int64, w *reply.Writer) {
	if !p.grouped {
		first, _ := from.after.Next()
		writeEntries(w, from.s, first, stream.Max, count, false)
		return
	}
	consumer := seeConsumer(tx, from.key, from.group, p.consumer)
	if !from.fresh {
		from.readAgain(tx, consumer, count, w)
		return
	}
	entries, n := w.DeferArray(int(max(count, 1))), 0
	tx.DeliverNew(from.key, from.s, from.group, consumer, count, p.forget, func(e *stream.Entry) {
		writeEntry(w, e)
		n++
	})
	w.Close(entries, n)
}

// seeConsumer finds or makes a consumer that was heard of just now.
func seeConsumer(tx *engine.Tx, key []byte, group engine.StreamGroup, name []byte) engine.StreamConsumer {
	if consumer, ok := group.Consumer(name); ok {
		tx.SeeConsumer(key, group, consumer)
		return consumer
	}
	consumer := tx.CreateConsumer(key, group, name)
	tx.Notify(engine.EventStream, "xgroup-createconsumer", key)
	return consumer
}

// readAgain writes what is pending for a consumer, and counts it as delivered
// once more unless it was deleted.
func (from *readSource) readAgain(tx *engine.Tx, consumer engine.StreamConsumer, count int64, w *reply.Writer) {
	var list []engine.Pending
	// Behind the greatest id is the least, as in Redis.
	first, _ := from.after.Next()
	from.group.EachPendingOf(consumer, first, func(pending engine.Pending) bool {
		list = append(list, pending)
		return int64(len(list)) != count
	})
	w.Array(len(list))
	for _, pending := range list {
		there := false
		from.s.Each(pending.ID, pending.ID, func(e *stream.Entry) bool {
			there = true
			writeEntry(w, e)
			return false
		})
		if !there {
			w.Array(2)
			writeID(w, pending.ID)
			w.NullArray()
			continue
		}
		tx.Deliver(from.key, from.group, consumer, pending.ID, tx.NowMs(), pending.Count+1)
	}
}

// wait is what a client waits with that nothing was found for.
func (p *readParams) wait(tx *engine.Tx, sources []readSource) error {
	deadlineMs, err := deadlineIn(tx, p.blockMs)
	if err != nil {
		return err
	}
	// "$" is what is last now.
	line := slices.Clone(p.words)
	ids := line[len(line)-len(sources):]
	for i := range sources {
		if !sources[i].fresh {
			ids[i] = sources[i].after.AppendText(nil)
		}
	}
	return &wait{keys: p.streams[:len(sources)], line: line, deadlineMs: deadlineMs, none: (*reply.Writer).NullArray}
}

// runReadWoken answers a client that waited when one of its streams changed: from
// that stream alone (blocked.c serveClientsBlockedOnStreamKey).
func runReadWoken(tx *engine.Tx, p *readParams, w *reply.Writer) error {
	n := len(p.streams) / 2
	// Of a key that was named twice the first id counts.
	i := slices.IndexFunc(p.streams[:n], func(key []byte) bool { return string(key) == string(tx.Woken()) })
	from := readSource{key: p.streams[i]}
	var err error
	if from.s, err = tx.Stream(from.key); p.grouped && (err != nil || !from.s.Exists()) {
		return errStreamGone
	}
	if err != nil || !from.s.Exists() {
		return &wait{}
	}
	if from.after, _ = parseID(p.streams[n+i], 0); p.grouped {
		var ok bool
		if from.group, ok = from.s.Group(p.group); !ok {
			return errGroupGone
		}
		from.after, from.fresh = from.group.LastID(), true
	}
	if !from.after.Less(from.s.LastID()) {
		return &wait{}
	}
	count := p.count
	if count == 0 {
		count = readBlockedMax
	}
	found := readReply{w: w}
	found.begin(from.key)
	from.read(tx, p, count, w)
	found.end()
	return nil
}
