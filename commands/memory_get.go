package commands

import (
	"errors"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/effect"
	"reminis/engine/memory"
)

// This file owns MEM.GET, MEM.MGET and MEM.HISTORY: records by their keys, now
// and then.

type memGetParams struct {
	key        []byte
	paths      [][]byte
	version    int64
	hasVersion bool
	at         memory.Moment
	withMeta   bool
	format     format
}

// memGetCommand: without PATH, AT and VERSION it is answered at once.
func memGetCommand() *Command {
	g := grammar.Compile[memGetParams](
		grammar.Key("key", func(p *memGetParams) *[]byte { return &p.key }, grammar.RO|grammar.Access),
		grammar.Options(
			grammar.List("path", func(p *memGetParams) *[][]byte { return &p.paths }).After("PATH").Sample("$.a"),
			grammar.OneOf("when",
				momentNode(func(p *memGetParams) *memory.Moment { return &p.at }),
				grammar.Int("version", func(p *memGetParams) *int64 { return &p.version }).NonNegative().After("VERSION").
					Present(grammar.BoolOf(func(p *memGetParams) *bool { return &p.hasVersion })),
			),
			grammar.Token("WITHMETA", func(p *memGetParams) *bool { return &p.withMeta }),
			formatNode(func(p *memGetParams) *format { return &p.format }),
		),
	)
	return projecting(onDataOffloading(memoryDeclaration(Declaration{
		Name: "mem.get", Complexity: "O(log(N)) where N is the number of the owner's records; with VERSION or AT plus O(V), the record's versions since",
		Summary: "Get a memory record, as it stands or as it stood",
		Flags:   ReadOnly,
		Reply:   reply.OneOf(reply.Bulk(), reply.Null(), recordShape()),
	}), g, func(p *memGetParams) bool { return p.past() || len(p.paths) > 0 }, runMemGet), g, func(*memGetParams) bool { return true })
}

func (p *memGetParams) past() bool { return p.hasVersion || p.at.Set }

// runMemGet: no allocation for a key alone.
func runMemGet(tx *engine.Tx, p *memGetParams, w *reply.Writer) error {
	paths, err := parsePaths(p.paths)
	if err != nil {
		return err
	}
	var r memory.Record
	s, ok, err := p.read(tx, &r)
	if err != nil {
		return err
	}
	if !ok {
		w.Null()
		return nil
	}
	if len(paths) > 0 {
		if r.Text {
			return ErrTextPath
		}
		if r.Value, err = memory.SelectPaths(r.Value, paths); err != nil {
			return err
		}
	}
	switch {
	case p.withMeta:
		fields := memory.AppendRecordFields(nil, s.Key, &r, s.DeadlineMs)
		if p.format == formatJSON {
			w.Bulk(memory.AppendJSON(nil, fields))
		} else {
			writeMap(w, fields)
		}
	case p.format == formatJSON && r.Text:
		w.Bulk(memory.AppendQuoted(nil, r.Value))
	default:
		w.Bulk(r.Value)
	}
	return nil
}

// read gives the record asked for, decoded, with the deadline that it has or had.
func (p *memGetParams) read(tx *engine.Tx, r *memory.Record) (s engine.Stored, ok bool, err error) {
	if !p.past() {
		return p.readNow(tx, r)
	}
	key, view, err := pastOf(tx, p.key)
	if err != nil || view == nil {
		return s, false, err
	}
	if p.at.Set {
		s, _, ok, err = view.At(key.Text, p.at)
	} else {
		var made engine.Change
		made, ok, err = view.Version(key.Text, uint64(p.version))
		s = engine.Stored{Key: key.Text, DeadlineMs: made.DeadlineMs, Seq: made.Seq, Bytes: made.Bytes}
	}
	tx.NoteRead(key, s.Bytes)
	if ok {
		decodePast(tx, key.Text, s, r)
	}
	return s, ok, err
}

// readNow is read of the record as it stands.
func (p *memGetParams) readNow(tx *engine.Tx, r *memory.Record) (s engine.Stored, ok bool, err error) {
	if !tx.Locked() {
		key, err := tx.Layout().ParseKey(p.key)
		if err != nil {
			return s, false, err
		}
		// What is read never changes, so paths need no lock.
		lockRecord(tx, key)
		defer tx.Commit()
	}
	s, ok, err = tx.Record(p.key)
	if !ok || err != nil {
		// A key that leads to a record need not be parsed.
		key, bad := tx.Layout().ParseKey(p.key)
		if bad != nil {
			return s, false, bad
		}
		tx.CountHit(key.Text, false)
		tx.NoteRead(key, nil)
		return s, false, err
	}
	tx.CountHit(s.Key, true)
	tx.NoteReadOf(&s)
	if simple := false; p.simple() && tx.Lens == nil {
		if r.Value, simple = memory.DecodeValue(s.Bytes); simple {
			return s, true, nil
		}
	}
	decodeNewest(tx, s, r)
	return s, true, nil
}

// simple says that the reply is a value as it stands.
func (p *memGetParams) simple() bool {
	return !p.past() && !p.withMeta && p.format == formatPlain && len(p.paths) == 0
}

func parsePaths(texts [][]byte) ([]*memory.Path, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	paths := make([]*memory.Path, len(texts))
	for i, text := range texts {
		var err error
		if paths[i], err = memory.ParsePath(text); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

type memMGetParams struct {
	keys [][]byte
	at   memory.Moment
}

// memMGetCommand: all values are of one moment, whoever the records' owners are.
func memMGetCommand() *Command {
	g := grammar.Compile[memMGetParams](
		grammar.NumKeys("numkeys", "key", func(p *memMGetParams) *[][]byte { return &p.keys }, grammar.RO|grammar.Access),
		grammar.Options(momentNode(func(p *memMGetParams) *memory.Moment { return &p.at })),
	)
	return projecting(onDataOffloading(memoryDeclaration(Declaration{
		Name: "mem.mget", Complexity: "O(K*log(N)) where K is the number of keys and N that of their owner's records; with AT plus the records' versions since",
		Summary: "Get the values of several memory records, as they stand or as they stood together",
		Flags:   ReadOnly,
		Reply:   reply.ArrayOf(reply.Nullable(reply.Bulk())),
	}), g, func(p *memMGetParams) bool { return p.at.Set }, runMemMGet), g, func(*memMGetParams) bool { return true })
}

func runMemMGet(tx *engine.Tx, p *memMGetParams, w *reply.Writer) error {
	found := make([]engine.Stored, len(p.keys)) // without a key: none
	var err error
	if p.at.Set {
		err = p.readPast(tx, found)
	} else {
		err = p.readNow(tx, found)
	}
	if err != nil {
		return err
	}
	var r memory.Record
	w.Array(len(found))
	for i := range found {
		if key, err := tx.Layout().ParseKey(p.keys[i]); err == nil {
			tx.NoteRead(key, found[i].Bytes)
		}
		if found[i].Key == nil {
			w.Null()
			continue
		}
		if p.at.Set {
			decodePast(tx, p.keys[i], found[i], &r)
		} else {
			decodeNewest(tx, found[i], &r)
		}
		w.Bulk(r.Value)
	}
	return nil
}

func (p *memMGetParams) readNow(tx *engine.Tx, found []engine.Stored) error {
	for i, text := range p.keys {
		if _, err := tx.Layout().ParseKey(text); err != nil {
			return err
		}
		s, ok, err := tx.Record(text)
		if err != nil {
			return err
		}
		tx.CountHit(text, ok)
		found[i] = s
	}
	return nil
}

// readPast takes the views of all owners while all keys are locked, and reads
// them when nothing is.
func (p *memMGetParams) readPast(tx *engine.Tx, found []engine.Stored) error {
	views, err := p.views(tx)
	if err != nil {
		return err
	}
	for i, text := range p.keys {
		if views[i] == nil {
			continue
		}
		s, _, ok, err := views[i].At(text, p.at)
		if err != nil {
			return err
		}
		if ok {
			found[i] = s
		}
	}
	return nil
}

// views are those of the keys' owners at one moment, nil for an owner that never
// was.
func (p *memMGetParams) views(tx *engine.Tx) ([]*engine.OwnerView, error) {
	if !tx.HoldsAll() {
		tx.LockPast(p.keys)
		defer tx.Commit()
	}
	views := make([]*engine.OwnerView, len(p.keys))
	byOwner := map[string]*engine.OwnerView{}
	for i, text := range p.keys {
		key, err := tx.Layout().ParseKey(text)
		if err != nil {
			return nil, err
		}
		s, ok, err := tx.Record(text)
		if err != nil {
			return nil, err
		}
		if ok && kindOf(s) == memory.Working {
			return nil, ErrNoHistory
		}
		view, known := byOwner[string(key.Owner())]
		if !known {
			view, _ = tx.OwnerView(key.Owner())
			byOwner[string(key.Owner())] = view
		}
		views[i] = view
	}
	return views, nil
}

type memHistoryParams struct {
	key     []byte
	from    int64
	hasFrom bool
	to      int64
	hasTo   bool
	count   int64
	reverse bool
	format  format
}

// Versions that one call shows: by default as many as any kind keeps, at most
// so many.
const (
	historyCountDefault = 1000
	historyCountMax     = 10000
)

func memHistoryCommand() *Command {
	return onData(memoryDeclaration(Declaration{
		Name: "mem.history", Complexity: "O(V*log(N)) where V is the number of versions and N that of the owner's events",
		Summary: "List the retained versions of a memory record",
		Flags:   ReadOnly, Offload: true,
		Reply: reply.OneOf(reply.ArrayOf(versionShape()), reply.Bulk()),
	}), grammar.Compile[memHistoryParams](
		grammar.Key("key", func(p *memHistoryParams) *[]byte { return &p.key }, grammar.RO|grammar.Access),
		grammar.Options(
			timeNode("from", "FROM", func(p *memHistoryParams) *int64 { return &p.from }).
				Present(grammar.BoolOf(func(p *memHistoryParams) *bool { return &p.hasFrom })),
			timeNode("to", "TO", func(p *memHistoryParams) *int64 { return &p.to }).
				Present(grammar.BoolOf(func(p *memHistoryParams) *bool { return &p.hasTo })),
			grammar.Int("count", func(p *memHistoryParams) *int64 { return &p.count }).After("COUNT").
				Range(1, historyCountMax).Default(historyCountDefault),
			grammar.Token("REV", func(p *memHistoryParams) *bool { return &p.reverse }),
			formatNode(func(p *memHistoryParams) *format { return &p.format }),
		),
	), runMemHistory)
}

func runMemHistory(tx *engine.Tx, p *memHistoryParams, w *reply.Writer) error {
	key, view, err := pastOf(tx, p.key)
	if err != nil {
		return err
	}
	var versions [][]memory.Field
	var failed error
	var last []byte
	if view != nil {
		err = view.History(key.Text, 0, ^uint64(0), p.reverse, func(c engine.Change) bool {
			if c.Kind != effect.RecordPut || p.hasFrom && c.TimeMs < p.from || p.hasTo && c.TimeMs > p.to {
				return true
			}
			last = append(last[:0], c.Bytes...)
			var fields []memory.Field
			var r memory.Record
			if fields, failed = versionFields(view, key.Text, &c, &r); failed == nil {
				versions = append(versions, fields)
			}
			if failed == engine.ErrRetention {
				failed = nil // a version of a list whose items are gone is gone
			}
			return failed == nil && len(versions) < int(p.count)
		})
	}
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	tx.NoteRead(key, last)
	writeMaps(w, versions, p.format)
	return nil
}

// versionFields are those of one version, which it reads into r, with the
// operation that made it.
func versionFields(view *engine.OwnerView, key []byte, c *engine.Change, r *memory.Record) ([]memory.Field, error) {
	bytes, err := c.Record()
	if err != nil {
		return nil, err
	}
	mustDecode(bytes, r)
	e, ok, err := view.EventOf(key, c)
	if err != nil {
		return nil, err
	}
	r.DeadlineMs = c.DeadlineMs
	fields := memory.AppendHistoryFields(nil, key, r, c.Seq, e.Op)
	if !ok {
		// The event is not retained, or there is none (a record that came with a
		// dump): how the version came to be is not known.
		fields[len(fields)-1] = memory.Field{Name: "op"}
	}
	return fields, nil
}
