package commands

import (
	"math"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/stream"
)

// This file owns the commands on what is pending in a group: XPENDING, XCLAIM and
// XAUTOCLAIM. It must not know how groups are stored.

type pendingParams struct {
	key, group, consumer []byte
	listed               bool // a range was given
	interval
	minIdleMs, count int64
}

// parse reads [[IDLE ms] start end count [consumer]]. Redis looks at their number
// first, at the count before the range, and ignores what follows.
func (p *pendingParams) parse(args [][]byte) (int, *grammar.Error) {
	syntax := grammar.Fail(grammar.Syntax, "")
	if len(args) == 0 {
		return 0, nil
	}
	if len(args) < 3 || len(args) > 6 {
		return 0, syntax
	}
	rest := args
	var ok bool
	if equalFold(upToNul(rest[0]), "idle") {
		if p.minIdleMs, ok = grammar.ParseInt(rest[1]); !ok {
			return 0, grammar.Fail(grammar.NotInteger, "")
		}
		if rest = rest[2:]; len(rest) < 3 {
			return 0, syntax
		}
	}
	if p.count, ok = grammar.ParseInt(rest[2]); !ok {
		return 0, grammar.Fail(grammar.NotInteger, "")
	}
	var err *grammar.Error
	if p.interval, err = parseInterval(rest[0], rest[1]); err != nil {
		return 0, err
	}
	if len(rest) > 3 {
		p.consumer = rest[3]
	}
	p.listed = true
	return len(args), nil
}

func xPendingCommand() *Command {
	return onData(Declaration{
		Name: "xpending", Family: Streams, Since: "5.0.0",
		Complexity: "O(N) with N being the number of elements returned, so asking for a small fixed number of entries per call is O(1). O(M), where M is the total number of entries scanned when used with the IDLE filter. When the command returns just the summary and the list of consumers is small, it runs in O(1) time; otherwise, an additional O(N) time for iterating every consumer.",
		Summary:    "Return information and entries from a stream consumer group pending entries list, that are messages fetched but never acknowledged.",
		Flags:      ReadOnly, Tips: []string{nondeterministicOutput},
		History: []Change{{"6.2.0", "Added the `IDLE` option and exclusive range intervals."}},
		Reply: reply.OneOf(
			reply.Tuple(reply.Int(), reply.Nullable(reply.Bulk()), reply.Nullable(reply.Bulk()),
				reply.OneOf(reply.ArrayOf(reply.Tuple(reply.Bulk(), reply.Bulk())), reply.NullArray())),
			reply.ArrayOf(pendingShape())),
	}, grammar.Compile[pendingParams](
		grammar.Key("key", func(p *pendingParams) *[]byte { return &p.key }, grammar.RO|grammar.Access),
		grammar.Bytes("group", func(p *pendingParams) *[]byte { return &p.group }).Sample("g", "h"),
		grammar.Custom("", (*pendingParams).parse, grammar.Opt(grammar.Block("filters",
			grammar.Opt(grammar.Int[*pendingParams]("min-idle-time", nil).After("IDLE").Since("6.2.0")),
			grammar.Bytes[*pendingParams]("start", nil).Sample(idSamples()...),
			grammar.Bytes[*pendingParams]("end", nil).Sample(idSamples()...),
			grammar.Int[*pendingParams]("count", nil),
			grammar.Opt(grammar.Bytes[*pendingParams]("consumer", nil).Sample("c", "d")),
		))),
	), runXPending)
}

// pendingShape is a pending entry: id, consumer, milliseconds since it was
// delivered, how often it was.
func pendingShape() reply.Shape {
	return reply.Tuple(reply.Bulk(), reply.Bulk(), reply.Int(), reply.Int())
}

// groupForRead reads a stream and one of its groups; that either is missing is an
// error.
func groupForRead(tx *engine.Tx, key, name []byte) (s engine.Stream, group engine.StreamGroup, err error) {
	if s, err = streamForRead(tx, key); err != nil {
		return s, group, err
	}
	group, ok := s.Group(name)
	if !ok {
		return s, group, errNoKeyOrGroup(key, name)
	}
	return s, group, nil
}

func runXPending(tx *engine.Tx, p *pendingParams, w *reply.Writer) error {
	_, group, err := groupForRead(tx, p.key, p.group)
	if err != nil {
		return err
	}
	if !p.listed {
		writePendingSummary(w, group)
		return nil
	}
	each := group.EachPending
	if p.consumer != nil {
		consumer, ok := group.Consumer(p.consumer)
		if !ok {
			w.Array(0)
			return nil
		}
		each = func(from stream.ID, visit func(pending engine.Pending) bool) {
			group.EachPendingOf(consumer, from, visit)
		}
	}
	list, n := w.DeferArray(1), 0
	if p.count > 0 {
		each(p.first, func(pending engine.Pending) bool {
			if p.last.Less(pending.ID) {
				return false
			}
			idleMs := tx.NowMs() - pending.DeliveredMs
			if p.minIdleMs != 0 && idleMs < p.minIdleMs {
				return true
			}
			w.Array(4)
			writeID(w, pending.ID)
			w.BulkString(pending.Consumer.Name())
			w.Int(max(idleMs, 0))
			w.Int(int64(pending.Count))
			n++
			return int64(n) != p.count
		})
	}
	w.Close(list, n)
	return nil
}

func writePendingSummary(w *reply.Writer, group engine.StreamGroup) {
	w.Array(4)
	w.Int(int64(group.Pending()))
	if group.Pending() == 0 {
		w.Null()
		w.Null()
		w.NullArray()
		return
	}
	first, last := group.PendingEdges()
	writeID(w, first)
	writeID(w, last)
	consumers, n := w.DeferArray(group.Consumers()), 0
	group.EachConsumer(func(consumer engine.StreamConsumer) {
		if consumer.Pending() == 0 {
			return
		}
		w.Array(2)
		w.BulkString(consumer.Name())
		w.BulkInt(int64(consumer.Pending()))
		n++
	})
	w.Close(consumers, n)
}

type claimParams struct {
	key, group, consumer []byte
	minIdleMs            int64
	ids                  []stream.ID
	delivery             delivery
	deliveredMs          int64
	retryCount           int64 // below 0 when not given
	force, justID        bool
	last                 stream.ID
	err                  error
}

// delivery says what deliveredMs of claimParams means.
type delivery uint8

const (
	deliveredNow  delivery = iota
	deliveredIdle          // so long ago
	deliveredAt
)

// parse reads ids up to the first argument that is none, then options.
func (p *claimParams) parse(args [][]byte) (int, *grammar.Error) {
	ids := p.ids[:0]
	i := 0
	for ; i < len(args); i++ {
		id, ok := parseID(args[i], 0)
		if !ok {
			break
		}
		ids = append(ids, id)
	}
	p.ids, p.retryCount = ids, -1
	for i < len(args) {
		used, err := p.option(args[i:])
		if err != nil {
			return 0, err
		}
		i += used
	}
	return len(args), nil
}

func (p *claimParams) option(args [][]byte) (used int, err *grammar.Error) {
	word := upToNul(args[0])
	number := func(to *int64, name string) *grammar.Error {
		var ok bool
		if *to, ok = grammar.ParseInt(args[1]); !ok {
			return grammar.Fail(grammar.Other, "Invalid "+name+" option argument for XCLAIM")
		}
		return nil
	}
	switch {
	case equalFold(word, "force"):
		p.force = true
		return 1, nil
	case equalFold(word, "justid"):
		p.justID = true
		return 1, nil
	case len(args) < 2:
	case equalFold(word, "idle"):
		p.delivery = deliveredIdle
		return 2, number(&p.deliveredMs, "IDLE")
	case equalFold(word, "time"):
		p.delivery = deliveredAt
		return 2, number(&p.deliveredMs, "TIME")
	case equalFold(word, "retrycount"):
		return 2, number(&p.retryCount, "RETRYCOUNT")
	case equalFold(word, "lastid"):
		var ok bool
		if p.last, ok = parseID(args[1], 0); !ok {
			return 0, grammar.Fail(grammar.Other, string(errStreamID))
		}
		return 2, nil
	}
	return 0, errClaimOption(word)
}

// when is the time of delivery to note; one that cannot be is now.
func (p *claimParams) when(nowMs int64) int64 {
	at := nowMs
	switch p.delivery {
	case deliveredIdle:
		at = nowMs - p.deliveredMs
	case deliveredAt:
		at = p.deliveredMs
	}
	if at < 0 || at > nowMs {
		return nowMs
	}
	return at
}

func xClaimCommand() *Command {
	return onData(Declaration{
		Name: "xclaim", Family: Streams, Since: "5.0.0", Complexity: "O(log N) with N being the number of messages in the PEL of the consumer group.",
		Summary: "Changes (or acquires) ownership of a message in a consumer group, as if the message was delivered to the specified consumer.",
		Flags:   Write | Fast, Tips: []string{nondeterministicOutput},
		Reply: reply.OneOf(entriesShape(), reply.ArrayOf(reply.Bulk())),
	}, grammar.Compile[claimParams](
		grammar.Key("key", func(p *claimParams) *[]byte { return &p.key }, grammar.RW|grammar.Update),
		grammar.Bytes("group", func(p *claimParams) *[]byte { return &p.group }).Sample("g", "h"),
		grammar.Bytes("consumer", func(p *claimParams) *[]byte { return &p.consumer }).Sample("c", "d"),
		// Nothing behind it is read before the group is known to exist.
		grammar.Late(func(p *claimParams) *error { return &p.err },
			grammar.Int("min-idle-time", func(p *claimParams) *int64 { return &p.minIdleMs }).Typed(grammar.TypeString).
				FailNumber("Invalid min-idle-time argument for XCLAIM"),
			grammar.Custom("", (*claimParams).parse,
				grammar.Bytes[*claimParams]("id", nil).Multiple().Sample("1", "2", "5-1", "5-3"),
				grammar.Opt(grammar.Int[*claimParams]("ms", nil).After("IDLE")),
				grammar.Opt(grammar.UnixTime[*claimParams]("unix-time-milliseconds", nil).After("TIME")),
				grammar.Opt(grammar.Int[*claimParams]("count", nil).After("RETRYCOUNT")),
				grammar.Opt(grammar.Token[*claimParams]("FORCE", nil)),
				grammar.Opt(grammar.Token[*claimParams]("JUSTID", nil)),
				grammar.Opt(grammar.Bytes[*claimParams]("id", nil).After("LASTID").Sample(idSamples()...)),
			)),
	), runXClaim)
}

func runXClaim(tx *engine.Tx, p *claimParams, w *reply.Writer) error {
	s, group, err := groupForRead(tx, p.key, p.group)
	if err != nil {
		return err
	}
	if p.err != nil {
		return p.err
	}
	if group.LastID().Less(p.last) {
		tx.SetGroup(p.key, group, p.last, group.Read())
	}
	c := claiming{tx: tx, w: w, key: p.key, s: s, group: group, name: p.consumer, justID: p.justID}
	deliveredMs := p.when(tx.NowMs())
	list := w.DeferArray(len(p.ids))
	for _, id := range p.ids {
		pending, there := group.PendingAt(id)
		if !s.Has(id) {
			if there {
				tx.Acknowledge(p.key, group, id)
			}
			continue
		}
		switch {
		case there && p.minIdleMs > 0 && tx.NowMs()-pending.DeliveredMs < p.minIdleMs:
			continue
		case !there && !p.force:
			continue
		case !there:
			pending.Count = 1
		}
		count := pending.Count
		if p.retryCount >= 0 {
			count = uint64(p.retryCount)
		} else if !p.justID {
			count++
		}
		c.claim(id, deliveredMs, count)
	}
	w.Close(list, c.n)
	return nil
}

// claiming gives pending entries to a consumer and writes them.
type claiming struct {
	tx       *engine.Tx
	w        *reply.Writer
	key      []byte
	s        engine.Stream
	group    engine.StreamGroup
	name     []byte
	consumer engine.StreamConsumer // once there is something for it
	justID   bool
	n        int
}

func (c *claiming) claim(id stream.ID, deliveredMs int64, count uint64) {
	if c.n == 0 {
		c.consumer = seeConsumer(c.tx, c.key, c.group, c.name)
	}
	c.n++
	c.tx.Deliver(c.key, c.group, c.consumer, id, deliveredMs, count)
	if c.justID {
		writeID(c.w, id)
		return
	}
	c.s.Each(id, id, func(e *stream.Entry) bool {
		writeEntry(c.w, e)
		return false
	})
}

type autoClaimParams struct {
	key, group, consumer []byte
	minIdleMs            int64
	start                stream.ID
	count                int64
	justID               bool
}

func (p *autoClaimParams) startFrom(arg []byte) *grammar.Error {
	open, ok := parseOpenEnd(arg, &p.start, 0)
	if !ok {
		return grammar.Fail(grammar.Other, string(errStreamID))
	}
	if open {
		if p.start, ok = p.start.Next(); !ok {
			return grammar.Fail(grammar.Other, string(errIntervalStart))
		}
	}
	return nil
}

const (
	// autoClaimAttempts is how many entries are looked at for each that is asked for.
	autoClaimAttempts = 10
	// autoClaimCountMax bounds COUNT (t_stream.c: LONG_MAX / sizeof(streamID)), and
	// autoClaimMemoryMax what Redis can allocate for as many ids, in ids.
	autoClaimCountMax  = math.MaxInt64 / stream.IDBytes
	autoClaimMemoryMax = 1 << 47 / stream.IDBytes
)

func xAutoClaimCommand() *Command {
	return onData(Declaration{
		Name: "xautoclaim", Family: Streams, Since: "6.2.0", Complexity: "O(1) if COUNT is small.",
		Summary: "Changes (or acquires) ownership of messages in a consumer group, as if the messages were delivered to the specified consumer.",
		Flags:   Write | Fast, Tips: []string{nondeterministicOutput},
		History: []Change{{"7.0.0", "Added an element to the reply array, containing deleted entries the command cleared from the PEL"}},
		Reply:   reply.Tuple(reply.Bulk(), reply.OneOf(entriesShape(), reply.ArrayOf(reply.Bulk())), reply.ArrayOf(reply.Bulk())),
	}, grammar.Compile[autoClaimParams](
		grammar.Key("key", func(p *autoClaimParams) *[]byte { return &p.key }, grammar.RW|grammar.Delete),
		grammar.Bytes("group", func(p *autoClaimParams) *[]byte { return &p.group }).Sample("g", "h"),
		grammar.Bytes("consumer", func(p *autoClaimParams) *[]byte { return &p.consumer }).Sample("c", "d"),
		grammar.Int("min-idle-time", func(p *autoClaimParams) *int64 { return &p.minIdleMs }).Typed(grammar.TypeString).
			FailNumber("Invalid min-idle-time argument for XAUTOCLAIM"),
		grammar.Value("start", (*autoClaimParams).startFrom).Sample(idSamples()...),
		grammar.Options(
			grammar.Int("count", func(p *autoClaimParams) *int64 { return &p.count }).After("COUNT").Default(100).
				Range(1, autoClaimCountMax).FailNumber(string(errClaimCount)),
			grammar.Token("JUSTID", func(p *autoClaimParams) *bool { return &p.justID }),
		),
	), runXAutoClaim)
}

func runXAutoClaim(tx *engine.Tx, p *autoClaimParams, w *reply.Writer) error {
	s, group, err := groupForRead(tx, p.key, p.group)
	if err != nil {
		return err
	}
	if p.count > autoClaimMemoryMax {
		return errClaimMemory
	}
	list, next := p.due(tx, s, group)
	w.Array(3)
	writeID(w, next)
	c := claiming{tx: tx, w: w, key: p.key, s: s, group: group, name: p.consumer, justID: p.justID}
	claimed := w.DeferArray(len(list))
	var deleted []stream.ID
	for _, pending := range list {
		if !s.Has(pending.ID) {
			tx.Acknowledge(p.key, group, pending.ID)
			deleted = append(deleted, pending.ID)
			continue
		}
		count := pending.Count
		if !p.justID {
			count++
		}
		c.claim(pending.ID, tx.NowMs(), count)
	}
	w.Close(claimed, c.n)
	w.Array(len(deleted))
	for _, id := range deleted {
		writeID(w, id)
	}
	return nil
}

// due is what is pending for long enough, or was deleted, and the id to go on
// with, zero at the end.
func (p *autoClaimParams) due(tx *engine.Tx, s engine.Stream, group engine.StreamGroup) (list []engine.Pending, next stream.ID) {
	attempts := p.count * autoClaimAttempts
	group.EachPending(p.start, func(pending engine.Pending) bool {
		if attempts == 0 || int64(len(list)) == p.count {
			next = pending.ID
			return false
		}
		attempts--
		if p.minIdleMs <= 0 || tx.NowMs()-pending.DeliveredMs >= p.minIdleMs || !s.Has(pending.ID) {
			list = append(list, pending)
		}
		return true
	})
	return list, next
}
