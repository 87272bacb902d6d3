package commands

import (
	"errors"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/effect"
	"reminis/engine/memory"
)

// This file owns MEM.IMPORT: which of the lines that MEM.EXPORT gave are changes
// here, and that those of an owner all happen or none. How a line reads it must
// not know.

type memImportParams struct{ lines [][]byte }

// importSurveyMax is how often an owner's history is compared with lines without
// locks; after that, writers wait.
const importSurveyMax = 3

// memImportCommand: what a line says passes every check of MEM.SET. A record that
// stands as the line says is skipped, so that a repeated import changes nothing.
// With history, its versions are written one after the other with the numbers and
// times that they had; those that are there already are not written again. Their
// events are of the import: whoever asks AT a time before it finds nothing.
func memImportCommand() *Command {
	set := memSetGrammar()
	return onData(memoryAdminDeclaration(Declaration{
		Name: "mem.import", Complexity: "O(L*log(N)+V) where L is the number of lines, N that of their owners' records and V that of versions in the lines and of those here",
		Summary: "Write records, and their history, from lines that MEM.EXPORT gave",
		Flags:   Write | DenyOOM, Offload: true, Lock: LockNone,
		Reply: reply.Record(reply.Field{Key: "read", Value: reply.Int()}, reply.Field{Key: "written", Value: reply.Int()},
			reply.Field{Key: "skipped", Value: reply.Int()}, reply.Field{Key: "failed", Value: reply.Int()}),
	}), grammar.Compile[memImportParams](
		grammar.Rest("line", func(p *memImportParams) *[][]byte { return &p.lines }),
	), func(tx *engine.Tx, p *memImportParams, w *reply.Writer) error { return runMemImport(tx, p, set, w) })
}

func runMemImport(tx *engine.Tx, p *memImportParams, set *grammar.Grammar, w *reply.Writer) error {
	var written, skipped int64
	groups := importGroups(tx.Layout(), p.lines)
	for _, lines := range groups {
		x := importing{tx: tx, set: set, lines: lines}
		if err := x.run(); err == nil {
			written, skipped = written+x.written, skipped+x.skipped
		}
	}
	read := int64(len(p.lines))
	writeMap(w, []memory.Field{
		{Name: "read", Kind: memory.FieldInteger, Integer: read},
		{Name: "written", Kind: memory.FieldInteger, Integer: written},
		{Name: "skipped", Kind: memory.FieldInteger, Integer: skipped},
		{Name: "failed", Kind: memory.FieldInteger, Integer: read - written - skipped},
	})
	return nil
}

// importGroups are the lines of each owner, in the order in which the owners
// appear. What is no line belongs to none and fails alone.
func importGroups(layout memory.Layout, texts [][]byte) (groups [][]*importedLine) {
	places := map[string]int{}
	for _, text := range texts {
		line, err := parseImported(layout, text)
		if err != nil {
			continue
		}
		owner := string(line.key.Owner())
		at, known := places[owner]
		if !known {
			at = len(groups)
			places[owner], groups = at, append(groups, nil)
		}
		groups[at] = append(groups[at], line)
	}
	return groups
}

// importing is the lines of one owner on their way.
type importing struct {
	tx               *engine.Tx
	set              *grammar.Grammar // of MEM.SET
	lines            []*importedLine
	dimensions       int // of the vectors so far
	written, skipped int64
}

// run writes all lines, or none.
func (x *importing) run() error {
	all := x.tx.HoldsAll()
	if !all {
		defer x.tx.Commit()
	}
	for try := 1; ; try++ {
		if try > importSurveyMax {
			x.lock()
		}
		locked, seq := x.tx.Locked(), x.tx.LastSeq()
		if err := x.survey(); err != nil {
			return err
		}
		if locked {
			break
		}
		x.lock()
		if view, _ := x.tx.OwnerView(x.lines[0].key.Owner()); !view.ChangedSince(seq) {
			break
		}
		x.tx.Commit()
	}
	keys := make([]memory.Key, len(x.lines))
	for i, line := range x.lines {
		keys[i] = line.key
	}
	x.tx.Draft(keys)
	if err := x.write(); err != nil {
		x.tx.Discard()
		return err
	}
	x.tx.Publish()
	return nil
}

func (x *importing) lock() {
	texts := make([][]byte, len(x.lines))
	for i, line := range x.lines {
		texts[i] = line.key.Text
	}
	x.tx.LockRecords(texts, 0)
}

// survey finds out how many versions of each line are here already. It may read
// from disk.
func (x *importing) survey() error {
	view, ok := x.tx.OwnerView(x.lines[0].key.Owner())
	for _, line := range x.lines {
		if line.known = 0; !ok || len(line.versions) == 0 {
			continue
		}
		newest, err := newestVersion(view, line.key.Text)
		if err != nil {
			return err
		}
		if newest != nil {
			line.known = line.knownWith(newest)
		}
	}
	return nil
}

// newestVersion is the last retained version of a record, nil without one, or
// where it is a list whose items are gone.
func newestVersion(view *engine.OwnerView, key []byte) (newest *memory.Record, err error) {
	var failed error
	err = view.History(key, 0, ^uint64(0), true, func(c engine.Change) bool {
		if c.Kind != effect.RecordPut {
			return true
		}
		var bytes []byte
		if bytes, failed = c.Record(); failed == nil {
			newest = new(memory.Record)
			mustDecode(bytes, newest)
		} else if failed == engine.ErrRetention {
			failed = nil
		}
		return false
	})
	return newest, errors.Join(err, failed)
}

// write writes the lines, one after the other.
func (x *importing) write() error {
	before := map[string]*importedLine{}
	for _, line := range x.lines {
		if earlier := before[line.record.Key]; earlier != nil {
			if earlier.text == line.text {
				x.skipped++
				continue
			}
			line.known = 0 // of what was found here, something else became
		}
		before[line.record.Key] = line
		changed, err := x.line(line)
		if size, limit := x.tx.DraftBytes(), memory.LimitApplyBytes(); err == nil && size > limit.Default {
			err = memory.ErrTooLarge("change", size, limit)
		}
		switch {
		case err != nil:
			return err
		case changed:
			x.written++
		default:
			x.skipped++
		}
	}
	return nil
}

// line writes what of a line is not here yet, and says whether that is anything.
func (x *importing) line(line *importedLine) (changed bool, err error) {
	gone := line.forgotten || x.tx.Past(line.record.deadlineMs)
	stood, exists, err := x.tx.Standing(line.key.Text)
	if err != nil {
		return false, err
	}
	var r memory.Record
	if exists {
		stood.Decode(&r)
	}
	if line.known == len(line.versions) && (gone && !exists || !gone && exists && line.record.same(&r)) {
		return false, nil
	}
	if len(line.versions) == 0 {
		if gone {
			return false, nil
		}
		was := line.record.was(x.tx, true)
		was.version = 0 // numbers without a history mean nothing here
		return true, x.put(line, &line.record, was)
	}
	for i := line.known; i < len(line.versions); i++ {
		v := line.versions[i]
		if err := x.put(line, v, v.was(x.tx, line.stands(v))); err != nil {
			return false, err
		}
	}
	if gone {
		x.end(line.key.Text)
	} else if line.known == len(line.versions) {
		return true, x.put(line, &line.record, line.record.was(x.tx, true))
	}
	return true, nil
}

// put writes one version as MEM.SET does. One whose number is not above that of
// what stands begins anew.
func (x *importing) put(line *importedLine, version *importedRecord, was asWritten) error {
	if n := len(version.Vector); n > 0 && !was.passed {
		// A draft knows only the vectors that were there before it.
		if err := memory.CheckDimensions(n, x.dimensions); err != nil {
			return err
		}
		x.dimensions = n
	}
	if stood, ok, _ := x.tx.Standing(line.key.Text); ok && was.version != 0 {
		var r memory.Record
		if mustDecode(stood.Bytes, &r); r.Version >= was.version {
			x.end(line.key.Text)
		}
	}
	return version.put(x.tx, x.set, was)
}

// end forgets a record.
func (x *importing) end(key []byte) {
	event := x.tx.NewEvent()
	if x.tx.ForgetRecord(key, &event) {
		x.tx.NoteForgotten(key)
	}
}
