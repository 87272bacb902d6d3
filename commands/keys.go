package commands

import (
	"math"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
)

// This file owns commands on keys of any type: being there, going, moving. It
// must not know deadlines (expire.go), walks by cursor (scan.go) nor serialised
// values (dump.go).

func keyCommands() []*Command {
	return []*Command{
		delCommand(), unlinkCommand(), existsCommand(), touchCommand(), typeCommand(),
		renameCommand(), renameNXCommand(), copyCommand(), moveCommand(),
		keysCommand(), randomKeyCommand(), scanCommand(), objectCommand(),
		expireCommand(), pExpireCommand(), expireAtCommand(), pExpireAtCommand(),
		ttlCommand(), pTTLCommand(), expireTimeCommand(), pExpireTimeCommand(), persistCommand(),
		sortCommand(), sortROCommand(), dumpCommand(), restoreCommand(), restoreAskingCommand(), migrateCommand(), memoryUsageCommand(),
	}
}

type keysParams struct{ keys [][]byte }

func (p *keysParams) keysField() *[][]byte { return &p.keys }

func keysGrammar(flags grammar.KeyFlags) *grammar.Grammar {
	return grammar.Compile[keysParams](grammar.Keys("key", (*keysParams).keysField, flags))
}

// countKeys answers for how many of the keys f says yes; a key named twice
// counts twice, if f still says so.
func countKeys(f func(tx *engine.Tx, key []byte) bool) func(*engine.Tx, *keysParams, *reply.Writer) error {
	return func(tx *engine.Tx, p *keysParams, w *reply.Writer) error {
		n := int64(0)
		for _, key := range p.keys {
			n += intOf(f(tx, key))
		}
		w.Int(n)
		return nil
	}
}

const perShardSum = "response_policy:agg_sum"

func delCommand() *Command {
	return onData(Declaration{
		Name: "del", Family: Generic, Since: "1.0.0",
		Complexity: "O(N) where N is the number of keys that will be removed. When a key to remove holds a value other than a string, the individual complexity for this key is O(M) where M is the number of elements in the list, set, sorted set or hash. Removing a single key that holds a string value is O(1).",
		Summary:    "Delete a key",
		Flags:      Write, Tips: []string{"request_policy:multi_shard", perShardSum},
		Reply: reply.Int(),
	}, keysGrammar(grammar.RM|grammar.Delete), countKeys(deleteKey))
}

// deleteKey is DEL of one key.
func deleteKey(tx *engine.Tx, key []byte) bool { return endKey(tx, key, (*engine.Tx).Delete) }

// unlinkKey is UNLINK of one key.
func unlinkKey(tx *engine.Tx, key []byte) bool { return endKey(tx, key, (*engine.Tx).Unlink) }

func endKey(tx *engine.Tx, key []byte, end func(tx *engine.Tx, key []byte) bool) bool {
	if !end(tx, key) {
		return false
	}
	tx.Notify(engine.EventGeneric, "del", key)
	return true
}

func unlinkCommand() *Command {
	return onData(Declaration{
		Name: "unlink", Family: Generic, Since: "4.0.0",
		Complexity: "O(1) for each key removed regardless of its size. Then the command does O(N) work in a different thread in order to reclaim memory, where N is the number of allocations the deleted objects where composed of.",
		Summary:    "Delete a key asynchronously in another thread. Otherwise it is just as DEL, but non blocking.",
		Flags:      Write | Fast, Tips: []string{"request_policy:multi_shard", perShardSum},
		Reply: reply.Int(),
	}, keysGrammar(grammar.RM|grammar.Delete), countKeys(unlinkKey))
}

func existsCommand() *Command {
	return onData(Declaration{
		Name: "exists", Family: Generic, Since: "1.0.0", Complexity: "O(N) where N is the number of keys to check.",
		Summary: "Determine if a key exists",
		Flags:   ReadOnly | Fast, Tips: []string{"request_policy:multi_shard", perShardSum},
		History: []Change{{"3.0.3", "Accepts multiple `key` arguments."}},
		Reply:   reply.Int(),
	}, keysGrammar(grammar.RO), countKeys(func(tx *engine.Tx, key []byte) bool {
		t, _ := tx.Peek(key)
		return t != engine.TypeNone
	}))
}

func touchCommand() *Command {
	return onData(Declaration{
		Name: "touch", Family: Generic, Since: "3.2.1", Complexity: "O(N) where N is the number of keys that will be touched.",
		Summary: "Alters the last access time of a key(s). Returns the number of existing keys specified.",
		Flags:   ReadOnly | Fast, Tips: []string{"request_policy:multi_shard", perShardSum},
		Reply: reply.Int(),
	}, keysGrammar(grammar.RO), countKeys((*engine.Tx).Lookup))
}

func typeCommand() *Command {
	return onData(Declaration{
		Name: "type", Family: Generic, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Determine the type stored at key",
		Flags:   ReadOnly | Fast,
		Reply:   reply.Status(),
	}, grammar.Compile[keyParams](grammar.Key("key", (*keyParams).keyField, grammar.RO)), runType)
}

func runType(tx *engine.Tx, p *keyParams, w *reply.Writer) error {
	t, _ := tx.Peek(p.key)
	w.Status(t.String())
	return nil
}

type renameParams struct{ key, newKey []byte }

func renameGrammar(target grammar.KeyFlags) *grammar.Grammar {
	return grammar.Compile[renameParams](
		grammar.Key("key", func(p *renameParams) *[]byte { return &p.key }, grammar.RW|grammar.Access|grammar.Delete),
		grammar.Key("newkey", func(p *renameParams) *[]byte { return &p.newKey }, target),
	)
}

func renameCommand() *Command {
	return onData(Declaration{
		Name: "rename", Family: Generic, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Rename a key",
		Flags:   Write,
		Reply:   reply.OK(),
	}, renameGrammar(grammar.OW|grammar.Update), runRename)
}

func runRename(tx *engine.Tx, p *renameParams, w *reply.Writer) error {
	if !tx.Touch(p.key) {
		return ErrNoSuchKey
	}
	if string(p.key) != string(p.newKey) {
		if _, err := tx.Rename(p.key, p.newKey, tx.DB); err != nil {
			return err
		}
		tellRenamed(tx, p)
	}
	w.OK()
	return nil
}

// tellRenamed tells of a key that has another name now.
func tellRenamed(tx *engine.Tx, p *renameParams) {
	tx.Notify(engine.EventGeneric, "rename_from", p.key)
	tx.Notify(engine.EventGeneric, "rename_to", p.newKey)
}

func renameNXCommand() *Command {
	return onData(Declaration{
		Name: "renamenx", Family: Generic, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Rename a key, only if the new key does not exist",
		Flags:   Write | Fast,
		History: []Change{{"3.2.0", "The command no longer returns an error when source and destination names are the same."}},
		Reply:   reply.Int(),
	}, renameGrammar(grammar.OW|grammar.Insert), runRenameNX)
}

func runRenameNX(tx *engine.Tx, p *renameParams, w *reply.Writer) error {
	if !tx.Touch(p.key) {
		return ErrNoSuchKey
	}
	if string(p.key) == string(p.newKey) || tx.Exists(p.newKey) {
		w.Int(0)
		return nil
	}
	if _, err := tx.Rename(p.key, p.newKey, tx.DB); err != nil {
		return err
	}
	tellRenamed(tx, p)
	w.Int(1)
	return nil
}

type copyParams struct {
	source, target []byte
	db             int64
	dbMax          int64 // the greatest of all DB that were given: each is checked
	hasDB, replace bool
	err            error
}

func copyCommand() *Command {
	return onData(Declaration{
		Name: "copy", Family: Generic, Since: "6.2.0", Complexity: "O(N) worst case for collections, where N is the number of nested items. O(1) for string values.",
		Summary: "Copy a key",
		Flags:   Write | DenyOOM,
		Reply:   reply.Int(),
	}, grammar.Compile[copyParams](
		grammar.Key("source", func(p *copyParams) *[]byte { return &p.source }, grammar.RO|grammar.Access),
		grammar.Key("destination", func(p *copyParams) *[]byte { return &p.target }, grammar.OW|grammar.Update),
		// A database that is not there comes before the errors behind it, and only
		// the transaction knows how many there are.
		grammar.Late(func(p *copyParams) *error { return &p.err }, grammar.Options(
			grammar.Value("destination-db", setCopyDB).Typed(grammar.TypeInteger).Sample("0", "1", "15", "16", "-1").After("DB").
				Present(grammar.BoolOf(func(p *copyParams) *bool { return &p.hasDB })),
			grammar.Token("REPLACE", func(p *copyParams) *bool { return &p.replace }),
		)),
	), runCopy)
}

func setCopyDB(p *copyParams, arg []byte) *grammar.Error {
	db, ok := grammar.ParseInt(arg)
	if !ok {
		return grammar.Fail(grammar.NotInteger, "")
	}
	if db < math.MinInt32 || db > math.MaxInt32 {
		err := grammar.Fail(grammar.OutOfRange, "")
		err.Min, err.Max = math.MinInt32, math.MaxInt32
		return err
	}
	p.db, p.dbMax = db, max(p.dbMax, db)
	if db < 0 {
		p.dbMax = math.MaxInt64
	}
	return nil
}

func runCopy(tx *engine.Tx, p *copyParams, w *reply.Writer) error {
	if p.dbMax >= int64(tx.Databases()) {
		return ErrDBIndex
	}
	if p.err != nil {
		return p.err
	}
	db := tx.DB
	if p.hasDB {
		db = int(p.db)
	}
	if db == tx.DB && string(p.source) == string(p.target) {
		return ErrSameObject
	}
	if !tx.Lookup(p.source) || tx.ExistsIn(db, p.target) && !p.replace {
		w.Int(0)
		return nil
	}
	if _, err := tx.Copy(p.source, p.target, db); err != nil {
		return err
	}
	tx.NotifyIn(db, engine.EventGeneric, "copy_to", p.target)
	w.Int(1)
	return nil
}

type moveParams struct {
	key []byte
	db  int64
}

func moveCommand() *Command {
	return onData(Declaration{
		Name: "move", Family: Generic, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Move a key to another database",
		Flags:   Write | Fast,
		Reply:   reply.Int(),
	}, grammar.Compile[moveParams](
		grammar.Key("key", func(p *moveParams) *[]byte { return &p.key }, grammar.RW|grammar.Access|grammar.Update),
		grammar.Int("db", func(p *moveParams) *int64 { return &p.db }).Range(math.MinInt32, math.MaxInt32),
	), runMove)
}

func runMove(tx *engine.Tx, p *moveParams, w *reply.Writer) error {
	if p.db < 0 || p.db >= int64(tx.Databases()) {
		return ErrDBIndex
	}
	if int(p.db) == tx.DB {
		return ErrSameObject
	}
	if !tx.Touch(p.key) || tx.ExistsIn(int(p.db), p.key) {
		w.Int(0)
		return nil
	}
	if _, err := tx.Rename(p.key, p.key, int(p.db)); err != nil {
		return err
	}
	tx.Notify(engine.EventGeneric, "move_from", p.key)
	tx.NotifyIn(int(p.db), engine.EventGeneric, "move_to", p.key)
	w.Int(1)
	return nil
}

type patternParams struct{ pattern []byte }

func keysCommand() *Command {
	return onData(Declaration{
		Name: "keys", Family: Generic, Since: "1.0.0",
		Complexity: "O(N) with N being the number of keys in the database, under the assumption that the key names in the database and the given pattern have limited length.",
		Summary:    "Find all keys matching the given pattern",
		Flags:      ReadOnly, Lock: LockNone, Categories: []string{"dangerous"},
		Tips:  []string{"request_policy:all_shards", "nondeterministic_output_order"},
		Reply: reply.ArrayOf(reply.Bulk()),
	}, grammar.Compile[patternParams](
		grammar.Pattern("pattern", func(p *patternParams) *[]byte { return &p.pattern }),
	), runKeys)
}

func runKeys(tx *engine.Tx, p *patternParams, w *reply.Writer) error {
	list := w.DeferArray(0)
	n := 0
	all := len(p.pattern) == 1 && p.pattern[0] == '*'
	tx.Keys(func(key []byte) {
		if all || memory.Match(p.pattern, key, false) {
			w.Bulk(key)
			n++
		}
	})
	w.Close(list, n)
	return nil
}

func randomKeyCommand() *Command {
	return onData(Declaration{
		Name: "randomkey", Family: Generic, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Return a random key from the keyspace",
		Flags:   ReadOnly | ArbitraryKeys, Lock: LockNone,
		Tips:  []string{"request_policy:all_shards", "nondeterministic_output"},
		Reply: reply.Nullable(reply.Bulk()),
	}, grammar.Compile[noParams](), runRandomKey)
}

func runRandomKey(tx *engine.Tx, _ *noParams, w *reply.Writer) error {
	key, ok := tx.RandomKey(nil)
	if !ok {
		w.Null()
		return nil
	}
	w.Bulk(key)
	return nil
}
