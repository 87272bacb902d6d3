package commands

import (
	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/stream"
)

// This file owns XINFO. It must not know how a stream is stored.

func xInfoCommand() *Command {
	return container(Declaration{
		Name: "xinfo", Family: Streams, Since: "5.0.0", Complexity: "Depends on subcommand.",
		Summary: "A container for stream introspection commands",
	},
		xInfoConsumersCommand(), xInfoGroupsCommand(),
		helpSince("5.0.0", []string{"stream"}, "xinfo",
			"CONSUMERS <key> <groupname>",
			"    Show consumers of <groupname>.",
			"GROUPS <key>",
			"    Show the stream consumer groups.",
			"STREAM <key> [FULL [COUNT <count>]",
			"    Show information about the stream."),
		xInfoStreamCommand(),
	)
}

// streamMust reads a stream that has to exist.
func streamMust(tx *engine.Tx, key []byte) (engine.Stream, error) {
	s, err := streamForRead(tx, key)
	if err == nil && !s.Exists() {
		err = ErrNoSuchKey
	}
	return s, err
}

func xInfoConsumersCommand() *Command {
	return onData(Declaration{
		Name: "consumers", Since: "5.0.0", Complexity: "O(1)", Summary: "List the consumers in a consumer group",
		Flags: ReadOnly, Tips: []string{nondeterministicOutput},
		Reply: reply.ArrayOf(reply.Record(reply.Field{Key: "name", Value: reply.Bulk()}, reply.Field{Key: "pending", Value: reply.Int()}, reply.Field{Key: "idle", Value: reply.Int()})),
	}, grammar.Compile[groupParams](groupNodes(grammar.RO|grammar.Access)...), func(tx *engine.Tx, p *groupParams, w *reply.Writer) error {
		s, err := streamMust(tx, p.key)
		if err != nil {
			return err
		}
		group, ok := s.Group(p.group)
		if !ok {
			return errNoGroup(p.group, p.key)
		}
		w.Array(group.Consumers())
		group.EachConsumer(func(consumer engine.StreamConsumer) {
			w.Map(3)
			w.BulkString("name")
			w.BulkString(consumer.Name())
			w.BulkString("pending")
			w.Int(int64(consumer.Pending()))
			w.BulkString("idle")
			w.Int(max(tx.NowMs()-consumer.SeenMs(), 0))
		})
		return nil
	})
}

// groupFields are what XINFO GROUPS and XINFO STREAM FULL both say of a group.
func groupFields(more ...reply.Field) reply.Shape {
	return reply.Record(append([]reply.Field{
		{Key: "name", Value: reply.Bulk()}, {Key: "last-delivered-id", Value: reply.Bulk()},
		{Key: "entries-read", Value: reply.Nullable(reply.Int())}, {Key: "lag", Value: reply.Nullable(reply.Int())},
	}, more...)...)
}

func xInfoGroupsCommand() *Command {
	return onData(Declaration{
		Name: "groups", Since: "5.0.0", Complexity: "O(1)", Summary: "List the consumer groups of a stream",
		Flags:   ReadOnly,
		History: []Change{{"7.0.0", "Added the `entries-read` and `lag` fields"}},
		Reply:   reply.ArrayOf(groupFields(reply.Field{Key: "consumers", Value: reply.Int()}, reply.Field{Key: "pending", Value: reply.Int()})),
	}, grammar.Compile[keyParams](grammar.Key("key", (*keyParams).keyField, grammar.RO|grammar.Access)), func(tx *engine.Tx, p *keyParams, w *reply.Writer) error {
		s, err := streamMust(tx, p.key)
		if err != nil {
			return err
		}
		bounds := s.Bounds()
		w.Array(s.Groups())
		s.EachGroup(func(group engine.StreamGroup) {
			w.Map(6)
			w.BulkString("name")
			w.BulkString(group.Name())
			w.BulkString("consumers")
			w.Int(int64(group.Consumers()))
			w.BulkString("pending")
			w.Int(int64(group.Pending()))
			writeGroupProgress(w, &bounds, group)
		})
		return nil
	})
}

// writeGroupProgress writes how far a group has come: three pairs.
func writeGroupProgress(w *reply.Writer, bounds *stream.Bounds, group engine.StreamGroup) {
	w.BulkString("last-delivered-id")
	writeID(w, group.LastID())
	w.BulkString("entries-read")
	intOrNull(w, group.Read(), group.Read() != stream.Unknown)
	w.BulkString("lag")
	lag, known := bounds.Lag(group.LastID(), group.Read())
	intOrNull(w, lag, known)
}

func intOrNull(w *reply.Writer, n int64, known bool) {
	if known {
		w.Int(n)
	} else {
		w.Null()
	}
}

type streamInfoParams struct {
	key     []byte
	full    bool
	count   int64
	misused bool
	err     error
}

// infoCount is how much of each list XINFO STREAM FULL shows without COUNT.
const infoCount = 10

func (p *streamInfoParams) parse(args [][]byte) (int, *grammar.Error) {
	p.count = infoCount
	if len(args) == 0 {
		return 0, nil
	}
	p.full = true
	if len(args) != 1 && len(args) != 3 || !equalFold(upToNul(args[0]), "full") || len(args) == 3 && !equalFold(upToNul(args[1]), "count") {
		p.misused = true
		return len(args), nil
	}
	if len(args) == 3 {
		var ok bool
		if p.count, ok = grammar.ParseInt(args[2]); !ok {
			return 0, grammar.Fail(grammar.NotInteger, "")
		}
		if p.count < 0 {
			p.count = infoCount
		}
	}
	return len(args), nil
}

func xInfoStreamCommand() *Command {
	return onData(Declaration{
		Name: "stream", Since: "5.0.0", Complexity: "O(1)", Summary: "Get information about a stream",
		Flags: ReadOnly,
		History: []Change{
			{"6.0.0", "Added the `FULL` modifier."},
			{"7.0.0", "Added the `max-deleted-entry-id`, `entries-added`, `recorded-first-entry-id`, `entries-read` and `lag` fields"},
		},
		Reply: streamInfoShape(),
	}, grammar.Compile[streamInfoParams](
		grammar.Key("key", func(p *streamInfoParams) *[]byte { return &p.key }, grammar.RO|grammar.Access),
		// Nothing behind it is read before the stream is known to exist.
		grammar.Late(func(p *streamInfoParams) *error { return &p.err },
			grammar.Custom("", (*streamInfoParams).parse,
				grammar.Opt(grammar.Block("full", grammar.Opt(grammar.Int[*streamInfoParams]("count", nil).After("COUNT"))).After("FULL")))),
	), runXInfoStream)
}

func streamInfoShape() reply.Shape {
	deliveries := reply.ArrayOf(reply.Tuple(reply.Bulk(), reply.Int(), reply.Int()))
	consumer := reply.Record(reply.Field{Key: "name", Value: reply.Bulk()}, reply.Field{Key: "seen-time", Value: reply.Int()},
		reply.Field{Key: "pel-count", Value: reply.Int()}, reply.Field{Key: "pending", Value: deliveries})
	group := groupFields(reply.Field{Key: "pel-count", Value: reply.Int()}, reply.Field{Key: "pending", Value: reply.ArrayOf(pendingShape())},
		reply.Field{Key: "consumers", Value: reply.ArrayOf(consumer)})
	edge := reply.Nullable(entryShape())
	return reply.Record(
		reply.Field{Key: "length", Value: reply.Int()}, reply.Field{Key: "radix-tree-keys", Value: reply.Int()}, reply.Field{Key: "radix-tree-nodes", Value: reply.Int()},
		reply.Field{Key: "last-generated-id", Value: reply.Bulk()}, reply.Field{Key: "max-deleted-entry-id", Value: reply.Bulk()},
		reply.Field{Key: "entries-added", Value: reply.Int()}, reply.Field{Key: "recorded-first-entry-id", Value: reply.Bulk()},
		reply.Field{Key: "groups", Value: reply.OneOf(reply.Int(), reply.ArrayOf(group))},
		reply.Field{Key: "first-entry", Value: edge}, reply.Field{Key: "last-entry", Value: edge},
		reply.Field{Key: "entries", Value: entriesShape()})
}

func runXInfoStream(tx *engine.Tx, p *streamInfoParams, w *reply.Writer) error {
	s, err := streamMust(tx, p.key)
	switch {
	case err != nil:
		return err
	case p.err != nil:
		return p.err
	case p.misused:
		return errSubcommand
	}
	pairs := 10
	if p.full {
		pairs = 9
	}
	bounds := s.Bounds()
	w.Map(pairs)
	w.BulkString("length")
	w.Int(bounds.Length)
	w.BulkString("radix-tree-keys")
	w.Int(int64(s.Blocks()))
	w.BulkString("radix-tree-nodes")
	w.Int(int64(s.TreeNodes()))
	w.BulkString("last-generated-id")
	writeID(w, bounds.Last)
	w.BulkString("max-deleted-entry-id")
	writeID(w, bounds.MaxDeleted)
	w.BulkString("entries-added")
	w.Int(int64(bounds.Added))
	w.BulkString("recorded-first-entry-id")
	writeID(w, bounds.First)
	if p.full {
		writeStreamFull(w, s, &bounds, p.count)
		return nil
	}
	w.BulkString("groups")
	w.Int(int64(s.Groups()))
	w.BulkString("first-entry")
	writeEdge(w, s, engine.Stream.Each)
	w.BulkString("last-entry")
	writeEdge(w, s, engine.Stream.EachBack)
	return nil
}

// writeEdge writes the first entry in a direction.
func writeEdge(w *reply.Writer, s engine.Stream, each func(s engine.Stream, first, last stream.ID, visit func(e *stream.Entry) bool)) {
	found := false
	each(s, stream.ID{}, stream.Max, func(e *stream.Entry) bool {
		found = true
		writeEntry(w, e)
		return false
	})
	if !found {
		w.Null()
	}
}

func writeStreamFull(w *reply.Writer, s engine.Stream, bounds *stream.Bounds, count int64) {
	w.BulkString("entries")
	writeEntries(w, s, stream.ID{}, stream.Max, count, false)
	w.BulkString("groups")
	w.Array(s.Groups())
	s.EachGroup(func(group engine.StreamGroup) {
		w.Map(7)
		w.BulkString("name")
		w.BulkString(group.Name())
		writeGroupProgress(w, bounds, group)
		w.BulkString("pel-count")
		w.Int(int64(group.Pending()))
		w.BulkString("pending")
		writePending(w, count, func(visit func(pending engine.Pending) bool) { group.EachPending(stream.ID{}, visit) }, func(pending engine.Pending) {
			w.Array(4)
			writeID(w, pending.ID)
			w.BulkString(pending.Consumer.Name())
			w.Int(pending.DeliveredMs)
			w.Int(int64(pending.Count))
		})
		w.BulkString("consumers")
		w.Array(group.Consumers())
		group.EachConsumer(func(consumer engine.StreamConsumer) { writeConsumerFull(w, group, consumer, count) })
	})
}

func writeConsumerFull(w *reply.Writer, group engine.StreamGroup, consumer engine.StreamConsumer, count int64) {
	w.Map(4)
	w.BulkString("name")
	w.BulkString(consumer.Name())
	w.BulkString("seen-time")
	w.Int(consumer.SeenMs())
	w.BulkString("pel-count")
	w.Int(int64(consumer.Pending()))
	w.BulkString("pending")
	writePending(w, count, func(visit func(pending engine.Pending) bool) { group.EachPendingOf(consumer, stream.ID{}, visit) }, func(pending engine.Pending) {
		w.Array(3)
		writeID(w, pending.ID)
		w.Int(pending.DeliveredMs)
		w.Int(int64(pending.Count))
	})
}

// writePending writes an array of what each visits, count at most unless that is 0.
func writePending(w *reply.Writer, count int64, each func(visit func(pending engine.Pending) bool), write func(pending engine.Pending)) {
	list, n := w.DeferArray(1), int64(0)
	each(func(pending engine.Pending) bool {
		write(pending)
		n++
		return n != count
	})
	w.Close(list, int(n))
}
