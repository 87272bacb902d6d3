package commands

import (
	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/stream"
)

// This file owns the commands that add entries to a stream and remove them. It
// must not know how a stream is stored.

func streamCommands() []*Command {
	return []*Command{
		xAddCommand(), xTrimCommand(), xDelCommand(), xLenCommand(), xSetIDCommand(),
		xRangeCommand(), xRevRangeCommand(), xReadCommand(), xReadGroupCommand(),
		xGroupCommand(), xAckCommand(), xPendingCommand(), xClaimCommand(), xAutoClaimCommand(), xInfoCommand(),
	}
}

// trimParams are the options of XADD and XTRIM that say what goes.
type trimParams struct {
	given    bool
	trim     engine.StreamTrim
	hasLimit bool
}

// settle completes what was asked for by what the server is set to.
func (p *trimParams) settle(tx *engine.Tx) *engine.StreamTrim {
	if p.trim.Whole && !p.hasLimit {
		p.trim.Limit = tx.TrimLimit()
	}
	return &p.trim
}

// option reads the option that args begin with; used is 0 when it is none.
func (p *trimParams) option(args [][]byte) (used int, err *grammar.Error) {
	word := upToNul(args[0])
	switch {
	case len(args) < 2:
		return 0, nil
	case equalFold(word, "maxlen"), equalFold(word, "minid"):
		if p.given {
			return 0, grammar.Fail(grammar.Other, string(errTrimTwice))
		}
		p.given, p.trim.ByID = true, equalFold(word, "minid")
		used = 1
		if operator := string(upToNul(args[1])); len(args) > 2 && (operator == "~" || operator == "=") {
			p.trim.Whole = operator == "~"
			used = 2
		}
		return used + 1, p.threshold(args[used])
	case equalFold(word, "limit"):
		var ok bool
		if p.trim.Limit, ok = grammar.ParseInt(args[1]); !ok {
			return 0, grammar.Fail(grammar.NotInteger, "")
		}
		if p.trim.Limit < 0 {
			return 0, grammar.Fail(grammar.Other, string(errTrimLimit))
		}
		p.hasLimit = true
		return 2, nil
	}
	return 0, nil
}

func (p *trimParams) threshold(arg []byte) *grammar.Error {
	var ok bool
	if p.trim.ByID {
		if p.trim.ID, ok = parseID(arg, 0); !ok {
			return grammar.Fail(grammar.Other, string(errStreamID))
		}
		return nil
	}
	if p.trim.Length, ok = grammar.ParseInt(arg); !ok {
		return grammar.Fail(grammar.NotInteger, "")
	}
	if p.trim.Length < 0 {
		return grammar.Fail(grammar.Other, string(errTrimLength))
	}
	return nil
}

// check is what options must be together; must says that one of them is needed.
func (p *trimParams) check(must bool) *grammar.Error {
	switch {
	case p.trim.Limit != 0 && !p.given:
		return grammar.Fail(grammar.Other, string(errTrimLimitAlone))
	case must && !p.given:
		return grammar.Fail(grammar.Other, string(errTrimStrategy))
	case p.hasLimit && !p.trim.Whole:
		return grammar.Fail(grammar.Other, string(errTrimLimitExact))
	}
	return nil
}

// trimNode documents the options.
func trimNode[T any]() grammar.Node {
	return grammar.Block("trim",
		grammar.OneOf("strategy", grammar.Token[T]("MAXLEN", nil), grammar.Token[T]("MINID", nil).Since("6.2.0")),
		grammar.Opt(grammar.OneOf("operator", grammar.Token[T]("=", nil).Named("equal"), grammar.Token[T]("~", nil).Named("approximately"))),
		grammar.Bytes[T]("threshold", nil).Sample("0", "1", "2", "3", "10", "5-0", "-1", "x"),
		grammar.Opt(grammar.Int[T]("count", nil).After("LIMIT").Since("6.2.0")),
	)
}

type xAddParams struct {
	key   []byte
	pairs [][]byte
	trimParams
	noMake    bool
	id        stream.ID
	given     bool // an id, but for *
	automatic bool // of the id given, only the time was
}

func (p *xAddParams) parse(args [][]byte) (int, *grammar.Error) {
	i := 0
	for i < len(args) {
		word := upToNul(args[i])
		if string(word) == "*" {
			break
		}
		used, err := p.option(args[i:])
		if err != nil {
			return 0, err
		}
		if used == 0 && equalFold(word, "nomkstream") {
			p.noMake, used = true, 1
		}
		if used == 0 {
			var ok bool
			if p.id, p.automatic, ok = parseAutomaticID(args[i], 0); !ok {
				return 0, grammar.Fail(grammar.Other, string(errStreamID))
			}
			p.given = true
			break
		}
		i += used
	}
	if err := p.check(false); err != nil {
		return 0, err
	}
	if i >= len(args) {
		return 0, grammar.Fail(grammar.Arity, "")
	}
	if p.pairs = args[i+1:]; len(p.pairs) < 2 || len(p.pairs)%2 != 0 {
		return 0, grammar.Fail(grammar.Arity, "")
	}
	if p.given && !p.automatic && p.id == (stream.ID{}) {
		return 0, grammar.Fail(grammar.Other, string(errEntryZero))
	}
	return len(args), nil
}

func xAddCommand() *Command {
	return onData(Declaration{
		Name: "xadd", Family: Streams, Since: "5.0.0", Complexity: "O(1) when adding a new entry, O(N) when trimming where N being the number of entries evicted.",
		Summary: "Appends a new entry to a stream",
		Flags:   Write | DenyOOM | Fast, Tips: []string{nondeterministicOutput},
		History: []Change{
			{"6.2.0", "Added the `NOMKSTREAM` option, `MINID` trimming strategy and the `LIMIT` option."},
			{"7.0.0", "Added support for the `<ms>-*` explicit ID form."},
		},
		Reply: reply.Nullable(reply.Bulk()),
	}, grammar.Compile[xAddParams](
		grammar.Key("key", func(p *xAddParams) *[]byte { return &p.key }, grammar.RW|grammar.Update).
			Notes("UPDATE instead of INSERT because of the optional trimming feature"),
		grammar.Custom("", (*xAddParams).parse,
			grammar.Opt(grammar.Token[*xAddParams]("NOMKSTREAM", nil).Since("6.2.0")),
			grammar.Opt(trimNode[*xAddParams]()),
			grammar.OneOf("id_or_auto", grammar.Token[*xAddParams]("*", nil).Named("auto_id"), grammar.Bytes[*xAddParams]("id", nil).Sample(idSamples()...)),
			grammar.Pairs[*xAddParams]("field_value", "field", "value", nil),
		),
	), runXAdd)
}

// entryMaxBytes bounds the fields and values of an entry (t_stream.c
// STREAM_LISTPACK_MAX_SIZE).
const entryMaxBytes = 1 << 30

func runXAdd(tx *engine.Tx, p *xAddParams, w *reply.Writer) error {
	s, err := tx.Stream(p.key)
	if err != nil {
		return err
	}
	if !s.Exists() && p.noMake {
		w.Null()
		return nil
	}
	id, err := p.nextID(tx, s.LastID())
	if err != nil {
		return err
	}
	size := 0
	for _, text := range p.pairs {
		size += len(text)
	}
	if size > entryMaxBytes {
		return errEntryTooLarge
	}
	tx.AppendStream(p.key, s, id, p.pairs)
	tx.Notify(engine.EventStream, "xadd", p.key)
	if p.trimParams.given {
		if s, err = tx.Stream(p.key); err != nil {
			return err
		}
		if tx.TrimStream(p.key, s, p.settle(tx)) > 0 {
			tx.Notify(engine.EventStream, "xtrim", p.key)
		}
	}
	writeID(w, id)
	return nil
}

// nextID is the id of the new entry behind the last id of a stream.
func (p *xAddParams) nextID(tx *engine.Tx, last stream.ID) (stream.ID, error) {
	if last == stream.Max {
		return stream.ID{}, errStreamExhausted
	}
	id := p.id
	switch {
	case !p.given:
		id = stream.ID{Ms: uint64(tx.NowMs())}
		if id.Ms <= last.Ms {
			id, _ = last.Next()
		}
	case p.automatic && id.Ms == last.Ms:
		next, _ := last.Next()
		if next.Ms != id.Ms {
			// What Redis answers, too: it takes the error for one of size
			// (t_stream.c streamAppendItem).
			return stream.ID{}, errEntryTooLarge
		}
		id = next
	}
	if !last.Less(id) {
		return stream.ID{}, errEntryOld
	}
	return id, nil
}

type xTrimParams struct {
	key []byte
	trimParams
}

func (p *xTrimParams) parse(args [][]byte) (int, *grammar.Error) {
	for i := 0; i < len(args); {
		used, err := p.option(args[i:])
		if err != nil {
			return 0, err
		}
		if used == 0 {
			return 0, grammar.Fail(grammar.Syntax, "")
		}
		i += used
	}
	return len(args), p.check(true)
}

func xTrimCommand() *Command {
	return onData(Declaration{
		Name: "xtrim", Family: Streams, Since: "5.0.0",
		Complexity: "O(N), with N being the number of evicted entries. Constant times are very small however, since entries are organized in macro nodes containing multiple entries that can be released with a single deallocation.",
		Summary:    "Trims the stream to (approximately if '~' is passed) a certain size",
		Flags:      Write, Tips: []string{nondeterministicOutput},
		History: []Change{{"6.2.0", "Added the `MINID` trimming strategy and the `LIMIT` option."}},
		Reply:   reply.Int(),
	}, grammar.Compile[xTrimParams](
		grammar.Key("key", func(p *xTrimParams) *[]byte { return &p.key }, grammar.RW|grammar.Delete),
		grammar.Custom("", (*xTrimParams).parse, trimNode[*xTrimParams]()),
	), runXTrim)
}

func runXTrim(tx *engine.Tx, p *xTrimParams, w *reply.Writer) error {
	s, err := tx.Stream(p.key)
	if err != nil {
		return err
	}
	deleted := int64(0)
	if s.Exists() {
		deleted = tx.TrimStream(p.key, s, p.settle(tx))
	}
	if deleted > 0 {
		tx.Notify(engine.EventStream, "xtrim", p.key)
	}
	w.Int(deleted)
	return nil
}

type idsParams struct {
	key []byte
	ids [][]byte
}

func xDelCommand() *Command {
	return onData(Declaration{
		Name: "xdel", Family: Streams, Since: "5.0.0", Complexity: "O(1) for each single item to delete in the stream, regardless of the stream size.",
		Summary: "Removes the specified entries from the stream. Returns the number of items actually deleted, that may be different from the number of IDs passed in case certain IDs do not exist.",
		Flags:   Write | Fast,
		Reply:   reply.Int(),
	}, grammar.Compile[idsParams](
		grammar.Key("key", func(p *idsParams) *[]byte { return &p.key }, grammar.RW|grammar.Delete),
		grammar.Rest("id", func(p *idsParams) *[][]byte { return &p.ids }).Sample(idSamples()...),
	), runXDel)
}

func runXDel(tx *engine.Tx, p *idsParams, w *reply.Writer) error {
	s, err := tx.Stream(p.key)
	if err != nil {
		return err
	}
	if !s.Exists() {
		w.Int(0)
		return nil
	}
	ids, err := parseIDs(p.ids)
	if err != nil {
		return err
	}
	deleted := tx.DeleteEntries(p.key, s, ids)
	if deleted > 0 {
		tx.Notify(engine.EventStream, "xdel", p.key)
	}
	w.Int(deleted)
	return nil
}

// streamForRead reads the stream of a command that only reads, and counts the
// hit, which a key of another type is too.
func streamForRead(tx *engine.Tx, key []byte) (engine.Stream, error) {
	s, err := tx.Stream(key)
	tx.CountHit(key, err != nil || s.Exists())
	return s, err
}

func xLenCommand() *Command {
	return onData(Declaration{
		Name: "xlen", Family: Streams, Since: "5.0.0", Complexity: "O(1)",
		Summary: "Return the number of entries in a stream",
		Flags:   ReadOnly | Fast,
		Reply:   reply.Int(),
	}, grammar.Compile[keyParams](grammar.Key("key", (*keyParams).keyField, grammar.RO)), func(tx *engine.Tx, p *keyParams, w *reply.Writer) error {
		s, err := streamForRead(tx, p.key)
		if err != nil {
			return err
		}
		w.Int(s.Len())
		return nil
	})
}

type xSetIDParams struct {
	key              []byte
	last, maxDeleted stream.ID
	added            int64 // -1 when not given
}

// idValue is an argument that is an id.
func idValue[T any](name string, field func(T) *stream.ID) grammar.Node {
	return grammar.Value(name, func(p T, arg []byte) *grammar.Error {
		id, ok := parseID(arg, 0)
		if !ok {
			return grammar.Fail(grammar.Other, string(errStreamID))
		}
		*field(p) = id
		return nil
	}).Sample(idSamples()...)
}

func xSetIDCommand() *Command {
	return onData(Declaration{
		Name: "xsetid", Family: Streams, Since: "5.0.0", Complexity: "O(1)",
		Summary: "An internal command for replicating stream values",
		Flags:   Write | DenyOOM | Fast,
		History: []Change{{"7.0.0", "Added the `entries_added` and `max_deleted_entry_id` arguments."}},
		Reply:   reply.OK(),
	}, grammar.Compile[xSetIDParams](
		grammar.Key("key", func(p *xSetIDParams) *[]byte { return &p.key }, grammar.RW|grammar.Update),
		idValue("last-id", func(p *xSetIDParams) *stream.ID { return &p.last }),
		grammar.Options(
			grammar.Int("entries_added", func(p *xSetIDParams) *int64 { return &p.added }).After("ENTRIESADDED").Default(-1).Since("7.0.0").
				NonNegative().Fail(grammar.NotPositive, string(errAddedNegative)),
			grammar.Value("max_deleted_entry_id", func(p *xSetIDParams, arg []byte) *grammar.Error {
				var ok bool
				if p.maxDeleted, ok = parseID(arg, 0); !ok {
					return grammar.Fail(grammar.Other, string(errStreamID))
				}
				if p.last.Less(p.maxDeleted) {
					return grammar.Fail(grammar.Other, string(errSetIDDeleted))
				}
				return nil
			}).After("MAXDELETEDID").Since("7.0.0").Sample(idSamples()...),
		),
	), runXSetID)
}

func runXSetID(tx *engine.Tx, p *xSetIDParams, w *reply.Writer) error {
	s, err := tx.Stream(p.key)
	if err != nil {
		return err
	}
	if !s.Exists() {
		return ErrNoSuchKey
	}
	bounds := s.Bounds()
	if last, ok := s.LastEntry(); ok {
		if p.last.Less(last) {
			return errSetIDOld
		}
		if p.added >= 0 && p.added < bounds.Length {
			return errSetIDAdded
		}
	}
	added, maxDeleted := bounds.Added, p.maxDeleted
	if p.added >= 0 {
		added = uint64(p.added)
	}
	if maxDeleted == (stream.ID{}) {
		maxDeleted = bounds.MaxDeleted
	}
	tx.SetStreamIDs(p.key, s, p.last, added, maxDeleted)
	tx.Notify(engine.EventStream, "xsetid", p.key)
	w.OK()
	return nil
}
