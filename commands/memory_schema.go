package commands

import (
	"bytes"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
	"reminis/engine/schema"
)

// This file owns MEM.SCHEMA: what values must be, version by version. What a
// schema is and does is package schema's.

func memSchemaCommand() *Command {
	return container(memoryAdminDeclaration(Declaration{
		Name: "mem.schema", Complexity: "Depends on subcommand.",
		Summary: "A container for commands on schemas of memory records",
	}), memSchemaSetCommand(), memSchemaGetCommand(), memSchemaListCommand(), memSchemaDelCommand(),
		memSchemaCheckCommand(), memSchemaMigrateCommand(), helpCommand("mem.schema",
			"CHECK <name> <value>",
			"    Check a JSON value against the newest version of a schema.",
			"DEL <name> <version>",
			"    Remove the newest or the oldest version of a schema.",
			"GET <name> [<version>]",
			"    Return a version's document, by default the newest.",
			"LIST",
			"    List all versions of all schemas.",
			"MIGRATE <name>",
			"    Bring records to the newest version; call it again while some are left.",
			"SET <name> <version> <json-schema> [MIGRATE <patch>]",
			"    Add a version. The patch makes values of the version before fit it: a JSON",
			"    Patch, or an object to merge.",
		))
}

type memSchemaParams struct {
	name       []byte
	version    int64
	hasVersion bool
	document   []byte // or the value to be checked
	migrate    []byte
}

func schemaNameNode() grammar.Node {
	return grammar.Value("name", func(p *memSchemaParams, arg []byte) *grammar.Error {
		p.name = arg
		return fromMemory(memory.CheckSchemaName(arg))
	}).Typed(grammar.TypeString).Sample("note")
}

func schemaVersionNode() grammar.Node {
	return grammar.Int("version", func(p *memSchemaParams) *int64 { return &p.version }).Range(1, schemaVersionMax).
		Fail(grammar.OutOfRange, string(ErrSchemaVersion)).Fail(grammar.NotInteger, string(ErrSchemaVersion))
}

// schemaVersionMax keeps versions exact in every client's numbers.
const schemaVersionMax = 1 << 53

// memSchemaSetCommand: versions ascend, and one that is there stays as it is,
// since records were checked against it. The same again is no error.
func memSchemaSetCommand() *Command {
	return onData(memoryAdminDeclaration(Declaration{
		Name: "set", Complexity: "O(M) for a document of M bytes",
		Summary: "Add a version of a schema",
		Flags:   Write | DenyOOM, Offload: true, Lock: LockNone,
		Reply: reply.OK(),
	}), grammar.Compile[memSchemaParams](
		schemaNameNode(), schemaVersionNode(),
		grammar.Bytes("json-schema", func(p *memSchemaParams) *[]byte { return &p.document }).Sample("{}"),
		grammar.Options(grammar.Bytes("patch", func(p *memSchemaParams) *[]byte { return &p.migrate }).After("MIGRATE").Sample("{}")),
	), runMemSchemaSet)
}

func runMemSchemaSet(tx *engine.Tx, p *memSchemaParams, w *reply.Writer) error {
	s, err := schema.Compile(string(p.name), p.version, p.document, p.migrate)
	if err != nil {
		return err
	}
	if !tx.HoldsAll() {
		tx.LockAll()
	}
	all := tx.Rules().Schemas()
	if same := all.Get(s.Name, s.Version); same != nil {
		if !bytes.Equal(same.Document, s.Document) || !bytes.Equal(same.Migrate, s.Migrate) {
			return errSchemaExists(s.Label())
		}
		w.OK()
		return nil
	}
	if limit := memory.LimitSchemas(); all.Len() >= limit.Default {
		return memory.ErrTooLarge("server", all.Len()+1, limit)
	}
	if newest := all.Newest(s.Name); newest != nil {
		if s.Version < newest.Version {
			return errSchemaOlder(s.Label(), newest.Label())
		}
		if removed := schema.Removed(newest, s); len(removed) > 0 {
			return memory.ErrSchemaRemoves(s.Label(), removed[0])
		}
	}
	event := schemaEvent(tx, "set ", s)
	tx.SetSchema(s, &event)
	w.OK()
	return nil
}

// schemaEvent says in the server's chain what was done to a schema.
func schemaEvent(tx *engine.Tx, what string, s *schema.Schema) memory.Event {
	event := tx.NewEvent()
	event.Op, event.Reason = memory.OpSchema, []byte(what+s.Label())
	return event
}

func memSchemaGetCommand() *Command {
	return onData(memoryAdminDeclaration(Declaration{
		Name: "get", Complexity: "O(1)",
		Summary: "Get a version of a schema",
		Flags:   ReadOnly, Lock: LockNone,
		Reply: reply.Nullable(reply.Bulk()),
	}), grammar.Compile[memSchemaParams](
		schemaNameNode(),
		grammar.Opt(schemaVersionNode().Present(grammar.BoolOf(func(p *memSchemaParams) *bool { return &p.hasVersion }))),
	), func(tx *engine.Tx, p *memSchemaParams, w *reply.Writer) error {
		s := tx.Rules().Schemas().Newest(string(p.name))
		if p.hasVersion {
			s = tx.Rules().Schemas().Get(string(p.name), p.version)
		}
		if s == nil {
			w.Null()
			return nil
		}
		w.Bulk(s.Document)
		return nil
	})
}

func memSchemaListCommand() *Command {
	return onData(memoryAdminDeclaration(Declaration{
		Name: "list", Complexity: "O(N) where N is the number of versions of all schemas",
		Summary: "List all versions of all schemas",
		Flags:   ReadOnly, Lock: LockNone,
		Reply: reply.ArrayOf(reply.Record(
			reply.Field{Key: "name", Value: reply.Bulk()}, reply.Field{Key: "version", Value: reply.Int()})),
	}), grammar.Compile[noParams](), func(tx *engine.Tx, _ *noParams, w *reply.Writer) error {
		all := tx.Rules().Schemas().All()
		w.Array(len(all))
		for _, s := range all {
			w.Map(2)
			w.BulkString("name")
			w.BulkString(s.Name)
			w.BulkString("version")
			w.Int(s.Version)
		}
		return nil
	})
}

// memSchemaDelCommand: a version between others stays, because values pass
// through it. Records of a removed schema keep its label and are written
// unchecked.
func memSchemaDelCommand() *Command {
	return onData(memoryAdminDeclaration(Declaration{
		Name: "del", Complexity: "O(N) where N is the number of versions of all schemas",
		Summary: "Remove a version of a schema",
		Flags:   Write, Lock: LockAll,
		Reply: reply.Int(),
	}), grammar.Compile[memSchemaParams](schemaNameNode(), schemaVersionNode()), runMemSchemaDel)
}

func runMemSchemaDel(tx *engine.Tx, p *memSchemaParams, w *reply.Writer) error {
	versions := tx.Rules().Schemas().Versions(string(p.name))
	for i, s := range versions {
		if s.Version != p.version {
			continue
		}
		if i > 0 && i < len(versions)-1 {
			return errSchemaBetween(s.Label())
		}
		event := schemaEvent(tx, "del ", s)
		tx.RemoveSchema(s, &event)
		w.Int(1)
		return nil
	}
	w.Int(0)
	return nil
}

func memSchemaCheckCommand() *Command {
	return onData(memoryAdminDeclaration(Declaration{
		Name: "check", Complexity: "O(M) for a value of M bytes",
		Summary: "Check a value against the newest version of a schema",
		Flags:   ReadOnly, Offload: true, Lock: LockNone,
		Reply: reply.OK(),
	}), grammar.Compile[memSchemaParams](
		schemaNameNode(),
		grammar.Bytes("value", func(p *memSchemaParams) *[]byte { return &p.document }).Sample("{}"),
	), func(tx *engine.Tx, p *memSchemaParams, w *reply.Writer) error {
		s := tx.Rules().Schemas().Newest(string(p.name))
		if s == nil {
			return errNoSchema(p.name)
		}
		if err := memory.CheckValue(p.document, false); err != nil {
			return err
		}
		if err := s.Check(p.document); err != nil {
			return err
		}
		w.OK()
		return nil
	})
}

// memSchemaMigrateCommand works through the session's database, a record at a
// time: others come in between. A record that was migrated has a new version.
func memSchemaMigrateCommand() *Command {
	count := reply.Int()
	return onData(memoryAdminDeclaration(Declaration{
		Name: "migrate", Complexity: "O(N) where N is the number of the database's records",
		Summary: "Bring records to the newest version of their schema",
		Flags:   Write | DenyOOM, Offload: true, Lock: LockNone,
		Reply: reply.Record(reply.Field{Key: "migrated", Value: count}, reply.Field{Key: "failed", Value: count}, reply.Field{Key: "left", Value: count}),
	}), grammar.Compile[memSchemaParams](schemaNameNode()), runMemSchemaMigrate)
}

// migratePage is how many records one MEM.SCHEMA MIGRATE brings up: about a
// second's work on a worker. The others are left for the next.
const migratePage = 10_000

func runMemSchemaMigrate(tx *engine.Tx, p *memSchemaParams, w *reply.Writer) error {
	newest := tx.Rules().Schemas().Newest(string(p.name))
	if newest == nil {
		return errNoSchema(p.name)
	}
	migrated, failed, left := int64(0), int64(0), int64(0)
	for _, owner := range tx.OwnersUnder(nil) {
		view, ok := tx.OwnerView([]byte(owner))
		if !ok {
			continue
		}
		view.Ascend(nil, func(s engine.Stored, _ uint64) bool {
			switch {
			case tx.Past(s.DeadlineMs) || !isBehind(s, newest):
			case migrated >= migratePage:
				left++
			default:
				moved, err := migrateRecord(tx, s.Key, newest)
				migrated += int64(flagByte(moved))
				failed += int64(flagByte(err != nil))
			}
			return true
		})
	}
	w.Map(3)
	w.BulkString("migrated")
	w.Int(migrated)
	w.BulkString("failed")
	w.Int(failed)
	w.BulkString("left")
	w.Int(left)
	return nil
}

// isBehind says whether a record has an older version of a schema.
func isBehind(s engine.Stored, newest *schema.Schema) bool {
	var r memory.Record
	mustDecode(s.Bytes, &r)
	name, version, ok := schema.SplitLabel(r.Schema)
	return ok && name == newest.Name && version < newest.Version
}

// migrateRecord stores a record at the newest version of its schema, as old as
// it is, and says whether it did. Its migration, or a rule, may be against it. A
// record that has changed meanwhile is judged as it is now.
func migrateRecord(tx *engine.Tx, text []byte, newest *schema.Schema) (moved bool, err error) {
	key, err := tx.Layout().ParseKey(text)
	if err != nil {
		return false, err
	}
	if !tx.HoldsAll() {
		tx.LockRecords([][]byte{text}, 0)
		defer tx.Commit()
	}
	options := writeOptions{expiry: expiryOther, reason: []byte("schema " + newest.Label())}
	c := change{tx: tx, key: key, options: &options}
	var nowhere reply.Writer
	if _, err := c.begin(&nowhere); err != nil || !c.exists || !isBehind(c.stood, newest) {
		return false, err
	}
	r := *c.oldWhole()
	options.timeMs, options.hasTime = r.UpdatedMs, true
	if err := migrate(tx, &r); err != nil {
		return false, err
	}
	if err := c.next(&r); err != nil {
		return false, err
	}
	err = c.commit(memory.OpPatch, &r, &nowhere)
	return err == nil, err
}
