package commands

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"reminis/commands/grammar"
	"reminis/engine"
	"reminis/engine/memory"
	"reminis/engine/schema"
)

// This file owns the lines that MEM.IMPORT reads: a record as MEM.EXPORT writes
// it, and as the arguments of the MEM.SET that writes it again. It must not know
// what is here already.

// importedRecord is a record, or one version of it.
type importedRecord struct {
	Key        string          `json:"key"`
	Value      json.RawMessage `json:"value"`
	Text       bool            `json:"text"`
	Kind       string          `json:"kind"`
	Version    uint64          `json:"version"`
	Schema     string          `json:"schema"`
	Confidence *float64        `json:"confidence"`
	Source     string          `json:"source"`
	Tags       []string        `json:"tags"`
	Anchor     string          `json:"anchor"`
	Vector     []float32       `json:"vector"`
	Created    int64           `json:"created"`
	Updated    int64           `json:"updated"`
	ValidFrom  int64           `json:"valid-from"`
	ValidUntil int64           `json:"valid-until"`
	Deadline   json.RawMessage `json:"deadline"` // null: none; absent: that of any write
	Pinned     bool            `json:"pinned"`
	Operator   string          `json:"operator"`
	Trace      string          `json:"trace"`
	Reason     string          `json:"reason"`
	Meta       json.RawMessage `json:"meta"`
	Op         string          `json:"op"` // that made the version

	deadlineMs int64 // 0: none
}

// importedLine is a line, and what is known of it here.
type importedLine struct {
	record    importedRecord
	forgotten bool
	key       memory.Key
	text      string // the line as it was given
	// versions are what its history says, oldest first. The last is the record
	// itself, unless that is gone.
	versions []*importedRecord
	known    int // versions that are here already
}

func parseImported(layout memory.Layout, text []byte) (*importedLine, error) {
	line := &importedLine{text: string(text)}
	var rest struct {
		Forgotten bool             `json:"forgotten"`
		History   []importedRecord `json:"history"`
	}
	if json.Unmarshal(text, &line.record) != nil || json.Unmarshal(text, &rest) != nil || !line.record.readDeadline() {
		return nil, ErrImportLine
	}
	var err error
	if line.key, err = layout.ParseKey([]byte(line.record.Key)); err != nil {
		return nil, err
	}
	line.forgotten = rest.Forgotten
	for i := range rest.History {
		v := &rest.History[i]
		v.Key = line.record.Key // a history is of its line's record
		if !v.readDeadline() {
			return nil, ErrImportLine
		}
		line.versions = append(line.versions, v)
	}
	if n := len(line.versions); n > 0 && !line.forgotten {
		last := line.versions[n-1]
		if line.record.Op = last.Op; last.Version == line.record.Version {
			n--
		}
		line.versions = append(line.versions[:n], &line.record)
	}
	return line, nil
}

// readDeadline says whether the deadline is a number, or none.
func (v *importedRecord) readDeadline() bool {
	return isAbsent(v.Deadline) || json.Unmarshal(v.Deadline, &v.deadlineMs) == nil
}

// stands says whether a version of the line is the record that is to stand.
func (l *importedLine) stands(v *importedRecord) bool { return v == &l.record }

// knownWith counts the line's versions up to the one that is the newest here: that
// one has what came before it behind it, as far as it is retained.
func (l *importedLine) knownWith(newest *memory.Record) int {
	for known := len(l.versions); known > 0; known-- {
		v := l.versions[known-1]
		if v.Version == newest.Version && (v.Updated == 0 || v.Updated == newest.UpdatedMs) && v.same(newest) {
			return known
		}
	}
	return 0
}

// same says whether a record is what the line says.
func (v *importedRecord) same(r *memory.Record) bool {
	value, err := v.value()
	same := err == nil && (bytes.Equal(r.Value, value) || !r.Text && bytes.Equal(oneLine(r.Value), value))
	if !same || r.Text != v.Text || r.Kind.String() != v.Kind || r.Pinned != v.Pinned || len(r.Tags) != len(v.Tags) {
		return false
	}
	for i, tag := range v.Tags {
		if string(r.Tags[i]) != tag {
			return false
		}
	}
	return (v.Confidence == nil || *v.Confidence == r.Confidence) && string(r.Source) == v.Source && string(r.Anchor) == v.Anchor &&
		r.ValidFromMs == v.ValidFrom && r.ValidUntilMs == v.ValidUntil && bytes.Equal(r.Vector, v.blob()) &&
		(bytes.Equal(r.Meta, v.Meta) || len(r.Meta) == 0 && isAbsent(v.Meta))
}

func isAbsent(member json.RawMessage) bool { return len(member) == 0 || string(member) == "null" }

// value is the record's: JSON, or the text that a JSON string stands for.
func (v *importedRecord) value() ([]byte, error) {
	if !v.Text {
		return v.Value, nil
	}
	var plain string
	if err := json.Unmarshal(v.Value, &plain); err != nil {
		return nil, ErrImportLine
	}
	return []byte(plain), nil
}

func (v *importedRecord) blob() (blob []byte) {
	for _, x := range v.Vector {
		blob = binary.LittleEndian.AppendUint32(blob, math.Float32bits(x))
	}
	return blob
}

// was is what a version had where it was written. Of one that no longer stands, a
// deadline that has passed would end what follows.
func (v *importedRecord) was(tx *engine.Tx, stands bool) asWritten {
	w := asWritten{version: v.Version, createdMs: v.Created, passed: !stands}
	w.op, _ = memory.ParseOp([]byte(v.Op))
	if stands {
		w.lasts = len(v.Deadline) > 0 && v.deadlineMs == 0
		return w
	}
	if !tx.Past(v.deadlineMs) {
		w.deadlineMs = v.deadlineMs
	}
	if _, _, ok := schema.SplitLabel([]byte(v.Schema)); ok {
		w.schema = []byte(v.Schema)
	}
	return w
}

// put writes the version as MEM.SET does, whose grammar set is.
func (v *importedRecord) put(tx *engine.Tx, set *grammar.Grammar, was asWritten) error {
	arguments, err := v.arguments(was.passed)
	if err != nil {
		return err
	}
	p := set.NewParams().(*memSetParams)
	if err := set.Parse(arguments, p); err != nil {
		return err
	}
	var outcome memory.Status
	p.was, p.write.returns, p.write.outcome = was, returnStatus, &outcome
	return runMemSet(tx, p, nil)
}

// arguments are those of the MEM.SET that writes the version. One that has passed
// says its schema and its deadline otherwise.
func (v *importedRecord) arguments(passed bool) ([][]byte, error) {
	value, err := v.value()
	if err != nil {
		return nil, err
	}
	arguments := [][]byte{[]byte(v.Key), value}
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
	if v.Text {
		add("TEXT")
	}
	add("TAGS", strconv.Itoa(len(v.Tags)))
	add(v.Tags...)
	if v.Confidence != nil {
		add("CONFIDENCE", strconv.FormatFloat(*v.Confidence, 'g', -1, 64))
	}
	if blob := v.blob(); len(blob) > 0 {
		add("VECTOR", string(blob))
	}
	if !isAbsent(v.Meta) {
		add("META", string(v.Meta))
	}
	pin := "UNPIN"
	if v.Pinned {
		pin = "PIN"
	}
	add(pin)
	option("KIND", v.Kind)
	option("SOURCE", v.Source)
	option("ANCHOR", v.Anchor)
	option("BY", v.Operator)
	option("TRACE", v.Trace)
	option("REASON", v.Reason)
	instant("VALIDFROM", v.ValidFrom)
	instant("VALIDUNTIL", v.ValidUntil)
	instant("TIME", v.Updated)
	if !passed {
		name, _, _ := strings.Cut(v.Schema, "@")
		option("SCHEMA", name)
		instant("PXAT", v.deadlineMs)
	}
	return arguments, nil
}
