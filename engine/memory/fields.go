package memory

// This file owns the names and the order of what REC, EVENT, HIT and STATUS
// consist of, once for every protocol, and their JSON form. Writers of RESP walk
// the same fields.

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"unicode/utf8"
)

// FieldKind says how a field's value reads.
type FieldKind uint8

const (
	FieldNull     FieldKind = iota
	FieldText               // Bytes, a text
	FieldDocument           // Bytes, valid JSON: a bulk in RESP, embedded in JSON
	FieldInteger            // Integer
	FieldDouble             // Double
	FieldFlag               // Integer 0 or 1; true or false in JSON
	FieldList               // List, texts
	FieldMap                // Fields
	FieldVector             // Bytes, little-endian float32: a bulk in RESP, numbers in JSON
)

// Field is one field of a map that is replied.
type Field struct {
	Name    string
	Kind    FieldKind
	Bytes   []byte
	Integer int64
	Double  float64
	List    [][]byte
	Fields  []Field
}

func textField(name string, text []byte) Field {
	if len(text) == 0 {
		return Field{Name: name}
	}
	return Field{Name: name, Kind: FieldText, Bytes: text}
}

func documentField(name string, text []byte) Field {
	if len(text) == 0 {
		return Field{Name: name}
	}
	return Field{Name: name, Kind: FieldDocument, Bytes: text}
}

func vectorField(blob []byte) Field {
	if len(blob) == 0 {
		return Field{Name: "vector"}
	}
	return Field{Name: "vector", Kind: FieldVector, Bytes: blob}
}

func valueField(value []byte, text bool) Field {
	if text {
		return Field{Name: "value", Kind: FieldText, Bytes: value}
	}
	return Field{Name: "value", Kind: FieldDocument, Bytes: value}
}

func integerField(name string, n int64) Field {
	return Field{Name: name, Kind: FieldInteger, Integer: n}
}

// presentField is an integer that is absent when 0.
func presentField(name string, n int64) Field {
	if n == 0 {
		return Field{Name: name}
	}
	return integerField(name, n)
}

func flagField(name string, on bool) Field {
	f := Field{Name: name, Kind: FieldFlag}
	if on {
		f.Integer = 1
	}
	return f
}

// RecordFieldCount is the number of fields of REC.
const RecordFieldCount = 20

// VisitRecord gives the fields of REC, in order. deadlineMs is the deadline that the
// record has now, or had at the time asked for.
func VisitRecord(key []byte, r *Record, deadlineMs int64, visit func(Field)) {
	visit(textField("key", key))
	visit(valueField(r.Value, r.Text))
	visit(Field{Name: "kind", Kind: FieldText, Bytes: r.Kind.text()})
	visit(integerField("version", int64(r.Version)))
	visit(textField("schema", r.Schema))
	visit(Field{Name: "confidence", Kind: FieldDouble, Double: r.Confidence})
	visit(textField("source", r.Source))
	visit(Field{Name: "tags", Kind: FieldList, List: r.Tags})
	visit(textField("anchor", r.Anchor))
	visit(vectorField(r.Vector))
	visit(integerField("created", r.CreatedMs))
	visit(integerField("updated", r.UpdatedMs))
	visit(presentField("valid-from", r.ValidFromMs))
	visit(presentField("valid-until", r.ValidUntilMs))
	visit(presentField("deadline", deadlineMs))
	visit(flagField("pinned", r.Pinned))
	visit(textField("operator", r.Operator))
	visit(textField("trace", r.Trace))
	visit(textField("reason", r.Reason))
	visit(documentField("meta", r.Meta))
}

// AppendRecordFields appends the fields of REC.
func AppendRecordFields(dst []Field, key []byte, r *Record, deadlineMs int64) []Field {
	VisitRecord(key, r, deadlineMs, func(f Field) { dst = append(dst, f) })
	return dst
}

// AppendHistoryFields appends the fields of one version in MEM.HISTORY: REC,
// then seq and op.
func AppendHistoryFields(dst []Field, key []byte, r *Record, seq uint64, op Op) []Field {
	return append(AppendRecordFields(dst, key, r, r.DeadlineMs),
		integerField("seq", int64(seq)),
		Field{Name: "op", Kind: FieldText, Bytes: []byte(op.String())})
}

// AppendEventFields appends the fields of EVENT. The payload's hash is shown in
// hexadecimal.
func AppendEventFields(dst []Field, seq uint64, e *Event) []Field {
	var hash []byte
	if e.Hashed {
		hash = hex.AppendEncode(nil, e.PayloadHash[:])
	}
	return append(dst,
		integerField("seq", int64(seq)),
		integerField("time", e.TimeMs),
		Field{Name: "op", Kind: FieldText, Bytes: []byte(e.Op.String())},
		textField("key", e.Key),
		presentField("version", int64(e.Version)),
		presentField("old_version", int64(e.OldVersion)),
		textField("user", e.User),
		textField("operator", e.Operator),
		textField("client", e.Client),
		textField("caller", e.Caller),
		textField("trace", e.Trace),
		textField("command_id", e.CommandID),
		textField("reason", e.Reason),
		textField("payload_hash", hash),
	)
}

// Hit is one result of recall.
type Hit struct {
	Key     []byte
	Item    int64 // position of an appended item, from 1; 0: the whole record
	Value   []byte
	Text    bool
	Kind    Kind
	TimeMs  int64
	Source  []byte
	Score   float64
	Explain []Field // nil without EXPLAIN
}

// HitFieldCount is the number of fields of HIT without an explanation.
const HitFieldCount = 7

// VisitHit gives the fields of HIT, in order.
func VisitHit(h *Hit, visit func(Field)) {
	visit(textField("key", h.Key))
	visit(presentField("item", h.Item))
	visit(valueField(h.Value, h.Text))
	visit(Field{Name: "kind", Kind: FieldText, Bytes: h.Kind.text()})
	visit(integerField("time", h.TimeMs))
	visit(textField("source", h.Source))
	visit(Field{Name: "score", Kind: FieldDouble, Double: h.Score})
	if h.Explain != nil {
		visit(Field{Name: "explain", Kind: FieldMap, Fields: h.Explain})
	}
}

// TurnFieldCount is the number of fields of a turn.
const TurnFieldCount = 3

// VisitTurn gives the fields of one turn of a conversation, in order; n is its
// number in its list, 0: it is in none.
func VisitTurn(n, timeMs int64, value []byte, text bool, visit func(Field)) {
	visit(presentField("n", n))
	visit(integerField("time", timeMs))
	visit(valueField(value, text))
}

// Load is what MEM.LOAD says of itself.
type Load struct {
	Owner, Session []byte
	Seq            int64
	LoadedAtMs     int64
	Tokens         int64
	New            bool
}

// AppendLoadFields appends the fields of a load.
func AppendLoadFields(dst []Field, l *Load) []Field {
	return append(dst,
		textField("owner", l.Owner),
		textField("session", l.Session),
		integerField("seq", l.Seq),
		integerField("loaded_at", l.LoadedAtMs),
		integerField("tokens", l.Tokens),
		flagField("new", l.New),
	)
}

// Status is what RETURN STATUS says of one write.
type Status struct {
	Verdict   string // StatusOK, StatusUnchanged, StatusDuplicated
	CommandID []byte
	Key       []byte
	Version   uint64
}

// The verdicts of a Status.
const (
	StatusOK         = "ok"
	StatusUnchanged  = "unchanged"
	StatusDuplicated = "duplicated"
)

// AppendStatusFields appends the fields of STATUS.
func AppendStatusFields(dst []Field, s *Status) []Field {
	return append(dst,
		Field{Name: "status", Kind: FieldText, Bytes: []byte(s.Verdict)},
		textField("command_id", s.CommandID),
		textField("key", s.Key),
		integerField("version", int64(s.Version)),
	)
}

// AppendJSON appends the fields as one JSON object.
func AppendJSON(dst []byte, fields []Field) []byte {
	dst = append(dst, '{')
	for i := range fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendQuoted(dst, []byte(fields[i].Name)), ':')
		dst = appendFieldJSON(dst, &fields[i])
	}
	return append(dst, '}')
}

// JSONObject writes an object of the fields that it is given.
type JSONObject struct {
	Text []byte
	open bool
}

// Field adds a field.
func (o *JSONObject) Field(f Field) {
	if o.open {
		o.Text = append(o.Text, ',')
	} else {
		o.Text, o.open = append(o.Text, '{'), true
	}
	o.Text = append(AppendQuoted(o.Text, []byte(f.Name)), ':')
	o.Text = appendFieldJSON(o.Text, &f)
}

// Close ends the object; the next field begins another one.
func (o *JSONObject) Close() {
	if !o.open {
		o.Text = append(o.Text, '{')
	}
	o.Text, o.open = append(o.Text, '}'), false
}

func appendFieldJSON(dst []byte, f *Field) []byte {
	switch f.Kind {
	case FieldText:
		return AppendQuoted(dst, f.Bytes)
	case FieldDocument:
		return append(dst, f.Bytes...)
	case FieldInteger:
		return strconv.AppendInt(dst, f.Integer, 10)
	case FieldDouble:
		return appendDoubleJSON(dst, f.Double)
	case FieldFlag:
		return strconv.AppendBool(dst, f.Integer != 0)
	case FieldList:
		dst = append(dst, '[')
		for i, text := range f.List {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendQuoted(dst, text)
		}
		return append(dst, ']')
	case FieldMap:
		return AppendJSON(dst, f.Fields)
	case FieldVector:
		return appendVectorJSON(dst, f.Bytes)
	}
	return append(dst, "null"...)
}

func appendVectorJSON(dst, blob []byte) []byte {
	dst = append(dst, '[')
	for i := 0; i+4 <= len(blob); i += 4 {
		if i > 0 {
			dst = append(dst, ',')
		}
		number := math.Float32frombits(binary.LittleEndian.Uint32(blob[i:]))
		dst = strconv.AppendFloat(dst, float64(number), 'g', -1, 32)
	}
	return append(dst, ']')
}

// appendDoubleJSON appends the shortest form; JSON has no infinities and no
// NaN, they are null.
func appendDoubleJSON(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}

// AppendQuoted appends text as a JSON string. Invalid UTF-8 becomes U+FFFD; <,
// > and & stand as they are.
func AppendQuoted(dst, text []byte) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c < 0x20 || c == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, size := utf8.DecodeRune(text[i:])
			if r == 0x2028 || r == 0x2029 {
				dst = append(dst, '\\', 'u', '2', '0', '2', digits[r&15])
			} else {
				dst = utf8.AppendRune(dst, r)
			}
			i += size
			continue
		}
		i++
	}
	return append(dst, '"')
}
