package commands

import (
	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
)

// This file owns what the commands on memory records share: the list of them,
// arguments that read like those of memory records, and reading what stands. It
// must not know what any of the commands does.

func memoryCommands() []*Command {
	return []*Command{
		memSetCommand(), memPatchCommand(), memAppendCommand(), memApplyCommand(), memForgetCommand(), memEraseCommand(), memExportCommand(), memImportCommand(), memRollbackCommand(),
		memGetCommand(), memMGetCommand(), memHistoryCommand(), memDiffCommand(),
		memLinkCommand(), memUnlinkCommand(), memLinksCommand(), memRecallCommand(), memLoadCommand(), memAuditCommand(), memNSCommand(),
		memSchemaCommand(), memPolicyCommand(), memConsentCommand(),
		memSessionCommand(), memStatsCommand(), memDebugCommand(), memGrantCommand(), memRevokeCommand(),
	}
}

// The ACL categories of memory commands: every one has one of them.
const (
	memoryCategory      = "memory"       // what an agent does with its records
	memoryAdminCategory = "memory-admin" // rules, rights, erasure, copies of all that there is
)

// memoryDeclaration fills in what the memory commands of agents have in common.
func memoryDeclaration(d Declaration) Declaration { return ofMemory(d, memoryCategory) }

// memoryAdminDeclaration does so for the commands of those who administer
// records.
func memoryAdminDeclaration(d Declaration) Declaration { return ofMemory(d, memoryAdminCategory) }

func ofMemory(d Declaration, category string) Declaration {
	d.Family, d.Since = Memory, "1.0.0"
	d.Categories = append(d.Categories, category)
	return d
}

// fromMemory is an error of package memory, which has its code, for the parser.
func fromMemory(err error) *grammar.Error {
	if err == nil {
		return nil
	}
	return grammar.Fail(grammar.Other, err.Error())
}

// parsed declares an argument behind a word that package memory reads.
func parsed[T, V any](name, word string, parse func([]byte) (V, error), field func(T) *V) grammar.Node {
	return grammar.Value(name, func(p T, arg []byte) *grammar.Error {
		v, err := parse(arg)
		*field(p) = v
		return fromMemory(err)
	}).After(word)
}

// timeNode declares a time: integer Unix ms, or RFC 3339.
func timeNode[T any](name, word string, field func(T) *int64) grammar.Node {
	return parsed(name, word, memory.ParseTime, field).Typed(grammar.TypeUnixTime).Sample("1700000000000")
}

// momentNode declares AT: a time, or seq:n.
func momentNode[T any](field func(T) *memory.Moment) grammar.Node {
	return parsed("moment", "AT", memory.ParseMoment, field).Sample("1700000000000")
}

// textNode declares a text that is kept beside a value. An empty one is absent.
func textNode[T any](name, word string, limit memory.Limit, field func(T) *[]byte) grammar.Node {
	return grammar.Value(name, func(p T, arg []byte) *grammar.Error {
		*field(p) = arg
		return fromMemory(memory.CheckText(name, arg, limit))
	}).After(word).Sample("text")
}

// vectorNode declares VECTOR: float32, little-endian; an empty one is none.
func vectorNode[T any](field func(T) *[]byte) grammar.Node {
	return grammar.Value("blob", func(p T, arg []byte) *grammar.Error {
		*field(p) = arg
		if len(arg) == 0 {
			return nil
		}
		_, err := engine.ParseVector(arg)
		return fromMemory(err)
	}).After("VECTOR").Typed(grammar.TypeString).Sample("\x00\x00\x80\x3f")
}

// format is FORMAT, where the only other form is JSON.
type format uint8

const (
	formatPlain format = iota
	formatJSON
)

func formatNode[T any](field func(T) *format) grammar.Node {
	return grammar.Enum("format", field, "JSON").After("FORMAT").Fail(grammar.Syntax, string(ErrFormat))
}

// withRecord locks key, unless all is locked, gives what stands there to read,
// and releases it: for commands that read the past, which need no lock.
func withRecord(tx *engine.Tx, key memory.Key, read func(r engine.Stored, ok bool) error) error {
	if !tx.HoldsAll() {
		tx.LockKeys([][]byte{key.Text})
		defer tx.Commit()
	}
	r, ok, err := tx.Record(key.Text)
	if err != nil {
		return err
	}
	return read(r, ok)
}

// pastOf is the view in which the past of key can be read, nil when its owner
// never was. It fails where key holds another type, or a working record, of
// which there is no past.
func pastOf(tx *engine.Tx, text []byte) (memory.Key, *engine.OwnerView, error) {
	key, err := tx.Layout().ParseKey(text)
	if err != nil {
		return key, nil, err
	}
	err = withRecord(tx, key, func(r engine.Stored, ok bool) error {
		if ok && kindOf(r) == memory.Working {
			return ErrNoHistory
		}
		return nil
	})
	if err != nil {
		return key, nil, err
	}
	view, _ := tx.OwnerView(key.Owner())
	return key, view, nil
}

// mustDecode reads a record that the engine keeps. What does not decode would
// have been refused when it was recovered.
func mustDecode(bytes []byte, r *memory.Record) {
	if err := memory.Decode(bytes, r); err != nil {
		panic("commands: a stored record does not decode: " + err.Error())
	}
}

func kindOf(s engine.Stored) memory.Kind {
	var r memory.Record
	mustDecode(s.Bytes, &r)
	return r.Kind
}

// ownersIn are the owners that may have something in a scope, in order.
func ownersIn(tx *engine.Tx, scope memory.Scope) []string {
	if owner, ok := scope.Owner(); ok {
		return []string{string(owner)}
	}
	return tx.OwnersUnder(scope.OwnerPrefix(tx.Layout()))
}

// eachRecord visits the records of a view that stand and are in the scope, from
// key on, in order of key, until visit returns false.
func eachRecord(view *engine.OwnerView, scope memory.Scope, from []byte, visit func(s engine.Stored, doc uint64) bool) {
	literal := scope.Literal()
	if _, one := scope.Owner(); !one {
		literal = nil
	}
	if string(from) < string(literal) {
		from = literal
	}
	view.Ascend(from, func(s engine.Stored, doc uint64) bool {
		if len(s.Key) < len(literal) || string(s.Key[:len(literal)]) != string(literal) {
			return false
		}
		if view.Past(s.DeadlineMs) || !scope.Contains(s.Key) {
			return true
		}
		return visit(s, doc)
	})
}

// ownerNode declares the owner that a command is about; flags say what it does
// with the owner's records, for the check of rights.
func ownerNode[T any](field func(T) *[]byte, flags grammar.KeyFlags) grammar.Node {
	return grammar.Key("owner", field, flags|grammar.NotKey)
}

// scopeNode declares the scope that a command reads.
func scopeNode[T any](name string, field func(T) *[]byte) grammar.Node {
	return grammar.Key(name, field, grammar.RO|grammar.Access|grammar.NotKey)
}

// The shapes of the contract's records. Maps have every field, absent ones null.

func recordFields() []reply.Field {
	text, number := reply.Nullable(reply.Bulk()), reply.Nullable(reply.Int())
	return []reply.Field{
		{Key: "key", Value: reply.Bulk()}, {Key: "value", Value: reply.Bulk()}, {Key: "kind", Value: reply.Bulk()},
		{Key: "version", Value: reply.Int()}, {Key: "schema", Value: text}, {Key: "confidence", Value: reply.Double()},
		{Key: "source", Value: text}, {Key: "tags", Value: reply.ArrayOf(reply.Bulk())}, {Key: "anchor", Value: text},
		{Key: "vector", Value: text}, {Key: "created", Value: reply.Int()}, {Key: "updated", Value: reply.Int()},
		{Key: "valid-from", Value: number}, {Key: "valid-until", Value: number}, {Key: "deadline", Value: number},
		{Key: "pinned", Value: reply.Int()}, {Key: "operator", Value: text}, {Key: "trace", Value: text},
		{Key: "reason", Value: text}, {Key: "meta", Value: text},
	}
}

func recordShape() reply.Shape { return reply.Record(recordFields()...) }

func versionShape() reply.Shape {
	return reply.Record(append(recordFields(),
		reply.Field{Key: "seq", Value: reply.Int()}, reply.Field{Key: "op", Value: reply.Nullable(reply.Bulk())})...)
}

func statusShape() reply.Shape {
	return reply.Record(
		reply.Field{Key: "status", Value: reply.Bulk()}, reply.Field{Key: "command_id", Value: reply.Nullable(reply.Bulk())},
		reply.Field{Key: "key", Value: reply.Nullable(reply.Bulk())}, reply.Field{Key: "version", Value: reply.Int()})
}

func eventShape() reply.Shape {
	text, number := reply.Nullable(reply.Bulk()), reply.Nullable(reply.Int())
	return reply.Record(
		reply.Field{Key: "seq", Value: reply.Int()}, reply.Field{Key: "time", Value: reply.Int()},
		reply.Field{Key: "op", Value: reply.Bulk()}, reply.Field{Key: "key", Value: text},
		reply.Field{Key: "version", Value: number}, reply.Field{Key: "old_version", Value: number},
		reply.Field{Key: "user", Value: text}, reply.Field{Key: "operator", Value: text},
		reply.Field{Key: "client", Value: text}, reply.Field{Key: "caller", Value: text},
		reply.Field{Key: "trace", Value: text}, reply.Field{Key: "command_id", Value: text},
		reply.Field{Key: "reason", Value: text}, reply.Field{Key: "payload_hash", Value: text},
		reply.Field{Key: "old", Value: text}, reply.Field{Key: "new", Value: text})
}

func hitShape() reply.Shape {
	text := reply.Nullable(reply.Bulk())
	return reply.Record(
		reply.Field{Key: "key", Value: reply.Bulk()}, reply.Field{Key: "item", Value: reply.Nullable(reply.Int())},
		reply.Field{Key: "value", Value: reply.Bulk()}, reply.Field{Key: "kind", Value: reply.Bulk()},
		reply.Field{Key: "time", Value: reply.Int()}, reply.Field{Key: "source", Value: text},
		reply.Field{Key: "score", Value: reply.Double()}, reply.Field{Key: "explain", Value: reply.MapOf(reply.Bulk(), reply.Any())})
}

// writeMap writes fields as a map.
func writeMap(w *reply.Writer, fields []memory.Field) {
	w.Map(len(fields))
	for i := range fields {
		writeNamed(w, &fields[i])
	}
}

// writeNamed writes a field of a map.
func writeNamed(w *reply.Writer, f *memory.Field) {
	w.BulkString(f.Name)
	writeField(w, f)
}

func writeField(w *reply.Writer, f *memory.Field) {
	switch f.Kind {
	case memory.FieldNull:
		w.Null()
	case memory.FieldText, memory.FieldDocument, memory.FieldVector:
		w.Bulk(f.Bytes)
	case memory.FieldInteger, memory.FieldFlag:
		w.Int(f.Integer)
	case memory.FieldDouble:
		w.Double(f.Double)
	case memory.FieldList:
		w.Array(len(f.List))
		for _, text := range f.List {
			w.Bulk(text)
		}
	case memory.FieldMap:
		writeMap(w, f.Fields)
	}
}

// writeMaps writes a list of maps, or one bulk of JSON.
func writeMaps(w *reply.Writer, list [][]memory.Field, as format) {
	if as == formatJSON {
		w.Bulk(appendMapsJSON(nil, list))
		return
	}
	w.Array(len(list))
	for _, fields := range list {
		writeMap(w, fields)
	}
}

func appendMapsJSON(dst []byte, list [][]memory.Field) []byte {
	dst = append(dst, '[')
	for i, fields := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = memory.AppendJSON(dst, fields)
	}
	return append(dst, ']')
}
