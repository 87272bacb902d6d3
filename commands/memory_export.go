package commands

import (
	"bytes"
	"strconv"
	"strings"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/effect"
	"reminis/engine/memory"
)

// This file owns MEM.EXPORT: records as lines of JSON, all of them as of one
// moment. A line is a record as FORMAT JSON shows it, with `text`, and with
// `history` where that was asked for: its versions as MEM.HISTORY shows them, with
// `text`.

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
		line = memory.AppendJSON(nil, append(fields, textField(&r)))
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

// textField says whether a value that is shown as a JSON string is a text.
func textField(r *memory.Record) memory.Field {
	return memory.Field{Name: "text", Kind: memory.FieldFlag, Integer: int64(flagByte(r.Text))}
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
		var r memory.Record
		if fields, failed = versionFields(view, key, &c, &r); failed == nil {
			versions = append(versions, append(fields, textField(&r)))
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
