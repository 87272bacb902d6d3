package commands

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/effect"
	"reminis/engine/memory"
)

// This file owns MEM.EXPORT and MEM.IMPORT: records as lines of JSON, all of them
// as of one moment, and back. A line is a record as FORMAT JSON shows it, with
// `text`, and with `history` where that was asked for.

// Lines that one MEM.EXPORT replies.
const (
	exportCountDefault = 100
	exportCountMax     = 1000
)

type memExportParams struct {
	scope   []byte
	cursor  exportCursor
	count   int64
	history bool
}

// exportCursor is where a copy goes on: after a key, as of a batch. As text it is
// seq-key, and 0 at the start and at the end.
type exportCursor struct {
	set   bool
	seq   uint64
	after string
}

func (c *exportCursor) parse(arg []byte) *grammar.Error {
	*c = exportCursor{}
	if string(arg) == "0" {
		return nil
	}
	seq, after, ok := strings.Cut(string(arg), "-")
	n, err := strconv.ParseUint(seq, 10, 64)
	if !ok || err != nil || after == "" {
		return grammar.Fail(grammar.Other, string(ErrInvalidCursor))
	}
	*c = exportCursor{set: true, seq: n, after: after}
	return nil
}

// memExportCommand: the first page fixes the moment of all that follow, so that
// together they are one state, whatever is written meanwhile. Working records,
// which have no past, are as they stand.
func memExportCommand() *Command {
	return onData(memoryAdminDeclaration(Declaration{
		Name: "mem.export", Complexity: "O(N) where N is the number of records of an owner, plus the versions of what changed since the first page",
		Summary: "Copy the records in a scope as lines of JSON",
		Flags:   ReadOnly, Offload: true, Lock: LockNone,
		Reply: reply.Tuple(reply.Bulk(), reply.ArrayOf(reply.Bulk())),
	}), grammar.Compile[memExportParams](
		scopeNode("scope", func(p *memExportParams) *[]byte { return &p.scope }),
		grammar.Options(
			grammar.Value("cursor", func(p *memExportParams, arg []byte) *grammar.Error { return p.cursor.parse(arg) }).
				After("CURSOR").Sample("0"),
			grammar.Int("count", func(p *memExportParams) *int64 { return &p.count }).After("COUNT").
				Range(1, exportCountMax).Default(exportCountDefault),
			grammar.Token("WITHHISTORY", func(p *memExportParams) *bool { return &p.history }),
		),
	), runMemExport)
}

func runMemExport(tx *engine.Tx, p *memExportParams, w *reply.Writer) error {
	scope, err := tx.Layout().ParseScope(p.scope)
	if err != nil {
		return err
	}
	x := exporting{tx: tx, scope: scope, params: p, seq: tx.LastSeq()}
	from := ""
	if p.cursor.set {
		key, err := tx.Layout().ParseKey([]byte(p.cursor.after))
		if err != nil {
			return ErrInvalidCursor
		}
		x.seq, from = p.cursor.seq, string(key.Owner())
	}
	for _, name := range ownersIn(tx, scope) {
		view, ok := tx.OwnerView([]byte(name))
		if name < from || !ok {
			continue
		}
		if err := x.owner(view); err != nil {
			return err
		}
		if x.full() {
			break
		}
	}
	w.Array(2)
	if x.full() {
		x.lines = x.lines[:p.count]
		w.BulkString(strconv.FormatUint(x.seq, 10) + "-" + x.keys[p.count-1])
	} else {
		w.BulkString("0")
	}
	w.Array(len(x.lines))
	for _, line := range x.lines {
		w.Bulk(line)
	}
	return nil
}

// exporting is one page on its way: it is full with one line more than is shown,
// so that the last page says that it is.
type exporting struct {
	tx     *engine.Tx
	scope  memory.Scope
	params *memExportParams
	seq    uint64
	keys   []string
	lines  [][]byte
}

func (x *exporting) full() bool { return len(x.lines) > int(x.params.count) }

func (x *exporting) owner(view *engine.OwnerView) error {
	changed := view.ChangedSince(x.seq)
	names, err := x.tx.Names(view, x.scope, changed || x.params.history)
	if err != nil {
		return err
	}
	before := len(x.lines)
	for _, name := range names {
		if x.params.cursor.set && name <= x.params.cursor.after {
			continue
		}
		line, err := x.line(view, []byte(name), changed)
		if err != nil {
			return err
		}
		if line == nil {
			continue
		}
		x.keys, x.lines = append(x.keys, name), append(x.lines, oneLine(line))
		if x.full() {
			break
		}
	}
	if len(x.lines) > before {
		x.tx.NoteExport(view)
	}
	return nil
}

// line is one record at the moment of the copy, nil when there is nothing of it.
func (x *exporting) line(view *engine.OwnerView, key []byte, changed bool) ([]byte, error) {
	var r memory.Record
	s, ok := view.Get(key)
	if ok {
		s.Decode(&r)
	}
	if changed && !(ok && r.Kind == memory.Working) {
		var err error
		if s, _, ok, err = view.At(key, memory.Moment{Set: true, BySeq: true, Seq: x.seq}); err != nil {
			return nil, err
		}
		if ok {
			mustDecode(s.Bytes, &r)
		}
	} else {
		ok = ok && !x.tx.Past(s.DeadlineMs)
	}
	line := memory.AppendJSON(nil, []memory.Field{{Name: "key", Kind: memory.FieldText, Bytes: key}, {Name: "forgotten", Kind: memory.FieldFlag, Integer: 1}})
	if ok {
		fields := memory.AppendRecordFields(nil, key, &r, s.DeadlineMs)
		line = memory.AppendJSON(nil, append(fields, memory.Field{Name: "text", Kind: memory.FieldFlag, Integer: int64(flagByte(r.Text))}))
	}
	if !x.params.history {
		if !ok {
			return nil, nil
		}
		return line, nil
	}
	versions, err := x.versions(view, key)
	if err != nil || !ok && len(versions) == 0 {
		return nil, err
	}
	line = append(line[:len(line)-1], `,"history":`...)
	return append(appendMapsJSON(line, versions), '}'), nil
}

// oneLine is JSON without line breaks: they can only stand between its parts.
func oneLine(text []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte{'\n'}, []byte{' '}), []byte{'\r'}, []byte{' '})
}

func (x *exporting) versions(view *engine.OwnerView, key []byte) (versions [][]memory.Field, err error) {
	var failed error
	err = view.History(key, 0, x.seq, false, func(c engine.Change) bool {
		if c.Kind != effect.RecordPut {
			return true
		}
		var fields []memory.Field
		if fields, failed = versionFields(view, key, &c); failed == nil {
			versions = append(versions, fields)
		} else if failed == engine.ErrRetention {
			failed = nil
		}
		return failed == nil
	})
	if err == nil {
		err = failed
	}
	return versions, err
}

type memImportParams struct{ lines [][]byte }

// memImportCommand: each line is a change of its own and passes every check of
// MEM.SET. A record that stands as the line says is skipped, so that a repeated
// import changes nothing; versions begin anew, and history is not carried over.
func memImportCommand() *Command {
	return onData(memoryAdminDeclaration(Declaration{
		Name: "mem.import", Complexity: "O(L*log(N)) where L is the number of lines and N that of their owners' records",
		Summary: "Write records from lines that MEM.EXPORT gave",
		Flags:   Write | DenyOOM, Offload: true, Lock: LockNone,
		Reply: reply.Record(reply.Field{Key: "read", Value: reply.Int()}, reply.Field{Key: "written", Value: reply.Int()},
			reply.Field{Key: "skipped", Value: reply.Int()}, reply.Field{Key: "failed", Value: reply.Int()}),
	}), grammar.Compile[memImportParams](
		grammar.Rest("line", func(p *memImportParams) *[][]byte { return &p.lines }),
	), runMemImport)
}

func runMemImport(tx *engine.Tx, p *memImportParams, w *reply.Writer) error {
	var written, skipped, failed int64
	set, all := memSetCommand(), tx.HoldsAll()
	var discard reply.Writer
	for _, line := range p.lines {
		done, err := importLine(tx, set, line, &discard)
		if !all {
			tx.Commit()
		}
		discard.Truncate(0)
		switch {
		case err != nil:
			failed++
		case done:
			written++
		default:
			skipped++
		}
	}
	writeMap(w, []memory.Field{
		{Name: "read", Kind: memory.FieldInteger, Integer: int64(len(p.lines))},
		{Name: "written", Kind: memory.FieldInteger, Integer: written},
		{Name: "skipped", Kind: memory.FieldInteger, Integer: skipped},
		{Name: "failed", Kind: memory.FieldInteger, Integer: failed},
	})
	return nil
}

// importedLine is a line as MEM.EXPORT writes it.
type importedLine struct {
	Key        string          `json:"key"`
	Value      json.RawMessage `json:"value"`
	Text       bool            `json:"text"`
	Forgotten  bool            `json:"forgotten"`
	Kind       string          `json:"kind"`
	Schema     string          `json:"schema"`
	Confidence *float64        `json:"confidence"`
	Source     string          `json:"source"`
	Tags       []string        `json:"tags"`
	Anchor     string          `json:"anchor"`
	Vector     []float32       `json:"vector"`
	Updated    int64           `json:"updated"`
	ValidFrom  int64           `json:"valid-from"`
	ValidUntil int64           `json:"valid-until"`
	Deadline   int64           `json:"deadline"`
	Pinned     bool            `json:"pinned"`
	Operator   string          `json:"operator"`
	Trace      string          `json:"trace"`
	Reason     string          `json:"reason"`
	Meta       json.RawMessage `json:"meta"`
}

// importLine writes one line as MEM.SET would, unless it changes nothing.
func importLine(tx *engine.Tx, set *Command, text []byte, w *reply.Writer) (written bool, err error) {
	var line importedLine
	if err := json.Unmarshal(text, &line); err != nil {
		return false, ErrImportLine
	}
	key, err := tx.Layout().ParseKey([]byte(line.Key))
	if err != nil {
		return false, err
	}
	if line.Forgotten || line.Deadline != 0 && tx.Past(line.Deadline) {
		return false, nil
	}
	value := []byte(line.Value)
	if line.Text {
		var plain string
		if err := json.Unmarshal(line.Value, &plain); err != nil {
			return false, ErrImportLine
		}
		value = []byte(plain)
	}
	lockRecord(tx, key)
	stood, exists, err := tx.Record(key.Text)
	if err != nil {
		return false, err
	}
	if exists {
		var r memory.Record
		stood.Decode(&r)
		if line.stands(&r, value) {
			return false, nil
		}
	}
	return true, set.data(tx, line.arguments(value), w)
}

// stands says whether the record is what the line says.
func (l *importedLine) stands(r *memory.Record, value []byte) bool {
	same := bytes.Equal(r.Value, value) || !r.Text && bytes.Equal(oneLine(r.Value), value)
	if !same || r.Text != l.Text || r.Kind.String() != l.Kind || r.Pinned != l.Pinned || len(r.Tags) != len(l.Tags) {
		return false
	}
	for i, tag := range l.Tags {
		if string(r.Tags[i]) != tag {
			return false
		}
	}
	return (l.Confidence == nil || *l.Confidence == r.Confidence) && string(r.Source) == l.Source && string(r.Anchor) == l.Anchor &&
		r.ValidFromMs == l.ValidFrom && r.ValidUntilMs == l.ValidUntil && bytes.Equal(r.Vector, l.blob()) &&
		(bytes.Equal(r.Meta, l.Meta) || len(r.Meta) == 0 && string(l.Meta) == "null")
}

func (l *importedLine) blob() (blob []byte) {
	for _, x := range l.Vector {
		blob = binary.LittleEndian.AppendUint32(blob, math.Float32bits(x))
	}
	return blob
}

// arguments are those of the MEM.SET that writes the line.
func (l *importedLine) arguments(value []byte) [][]byte {
	arguments := [][]byte{[]byte(l.Key), value}
	add := func(words ...string) {
		for _, word := range words {
			arguments = append(arguments, []byte(word))
		}
	}
	option := func(word, text string) {
		if text != "" {
			add(word, text)
		}
	}
	instant := func(word string, ms int64) {
		if ms != 0 {
			add(word, strconv.FormatInt(ms, 10))
		}
	}
	if l.Text {
		add("TEXT")
	}
	add("TAGS", strconv.Itoa(len(l.Tags)))
	add(l.Tags...)
	if l.Confidence != nil {
		add("CONFIDENCE", strconv.FormatFloat(*l.Confidence, 'g', -1, 64))
	}
	if blob := l.blob(); len(blob) > 0 {
		add("VECTOR", string(blob))
	}
	if len(l.Meta) > 0 && string(l.Meta) != "null" {
		add("META", string(l.Meta))
	}
	if add("UNPIN"); l.Pinned {
		arguments[len(arguments)-1] = []byte("PIN")
	}
	schema, _, _ := strings.Cut(l.Schema, "@")
	option("KIND", l.Kind)
	option("SCHEMA", schema)
	option("SOURCE", l.Source)
	option("ANCHOR", l.Anchor)
	option("BY", l.Operator)
	option("TRACE", l.Trace)
	option("REASON", l.Reason)
	instant("VALIDFROM", l.ValidFrom)
	instant("VALIDUNTIL", l.ValidUntil)
	instant("PXAT", l.Deadline)
	instant("TIME", l.Updated)
	return arguments
}
