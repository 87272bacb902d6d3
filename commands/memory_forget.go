package commands

import (
	"encoding/binary"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
)

// This file owns MEM.FORGET and MEM.ROLLBACK: the end of a record, and an old
// version's return.

type memForgetParams struct {
	keys  [][]byte
	scope []byte
	write writeOptions
}

// memForgetCommand: the keys of one command, and what a scope has of one owner,
// go in one change.
func memForgetCommand() *Command {
	g := grammar.Compile[memForgetParams](
		grammar.OneOf("what",
			grammar.NumKeys("numkeys", "key", func(p *memForgetParams) *[][]byte { return &p.keys }, grammar.RM|grammar.Delete).After("KEYS"),
			grammar.Bytes("scope", func(p *memForgetParams) *[]byte { return &p.scope }).After("SCOPE").Typed(grammar.TypePattern),
		),
		grammar.Options(whoClauses(func(p *memForgetParams) *writeOptions { return &p.write })...),
	)
	return naming(onDataOffloading(memoryDeclaration(Declaration{
		Name: "mem.forget", Complexity: "O(K*log(N)) where K is the number of records removed and N that of their owner's",
		Summary: "Remove memory records; their history stays",
		Flags:   Write,
		Reply:   reply.OneOf(reply.Int(), reply.Null(), statusShape()),
	}), g, func(p *memForgetParams) bool { return p.scope != nil }, runMemForget), g, func(p *memForgetParams, visit func([]byte, grammar.KeyFlags)) {
		visit(p.scope, grammar.RM|grammar.Delete|grammar.NotKey)
	})
}

func runMemForget(tx *engine.Tx, p *memForgetParams, w *reply.Writer) error {
	if p.write.hasIfVersion && len(p.keys) != 1 {
		return ErrForgetVersion
	}
	if p.write.returns == returnRecord {
		return ErrForgetRecord
	}
	f := forgetting{tx: tx, options: &p.write}
	if p.scope != nil {
		scope, err := tx.Layout().ParseScope(p.scope)
		if err != nil {
			return err
		}
		f.payload = p.write.digest([]byte("forget scope"), p.scope)
		return f.scope(scope, w)
	}
	keys := make([]memory.Key, len(p.keys))
	for i, text := range p.keys {
		var err error
		if keys[i], err = tx.Layout().ParseKey(text); err != nil {
			return err
		}
	}
	f.payload = p.write.digest(append([][]byte{[]byte("forget")}, p.keys...)...)
	return f.keys(keys, w)
}

// forgetting is one MEM.FORGET on its way.
type forgetting struct {
	tx      *engine.Tx
	options *writeOptions
	payload memory.PayloadDigest
	removed int64 // by this command, or by the one that it repeats
	fresh   int64 // by this command
	kept    bool  // something that is remembered over restarts was removed
}

// keys forgets records whose shards are locked. An ID belongs to the owner of
// the first key.
func (f *forgetting) keys(keys []memory.Key, w *reply.Writer) error {
	first := change{tx: f.tx, key: keys[0], options: f.options}
	for i := len(keys) - 1; i >= 0; i-- {
		stood, ok, err := f.tx.Standing(keys[i].Text)
		if err != nil {
			return err
		}
		if first.exists = ok; ok {
			mustDecode(stood.Bytes, &first.old)
		}
	}
	if done, err := f.repeated(keys[0].Owner(), w, keys[0].Text); done || err != nil {
		return err
	}
	if !first.holds(conditionNone) {
		return first.skip(w)
	}
	for i := range keys {
		if stood, ok, _ := f.tx.Standing(keys[i].Text); ok {
			f.forget(stood)
		}
	}
	f.done(keys[0].Owner(), f.removed)
	f.reply(keys[0].Text, w)
	return nil
}

// scope forgets what stands in a scope, one owner after the other. Each owner's
// records go in one change, for which all shards are locked: a reader sees all
// of them, or none. An ID is kept by every owner that something was removed of.
func (f *forgetting) scope(scope memory.Scope, w *reply.Writer) error {
	owners := ownersIn(f.tx, scope)
	all := f.tx.HoldsAll()
	for _, name := range owners {
		if !all {
			f.tx.LockAll()
		}
		err := f.scopeOf(scope, name, w)
		if !all {
			f.tx.Commit()
		}
		if err != nil {
			return err
		}
	}
	f.reply(nil, w)
	return nil
}

func (f *forgetting) scopeOf(scope memory.Scope, name string, w *reply.Writer) error {
	view, ok := f.tx.OwnerView([]byte(name))
	if !ok {
		return nil
	}
	if len(f.options.id) > 0 {
		done, verdict := f.tx.CommandDone([]byte(name), memory.DigestID([]byte(name), f.options.id), f.payload)
		switch verdict {
		case memory.Conflict, memory.Erased:
			return verdict.Err(f.options.id)
		case memory.Duplicated:
			f.removed += int64(done.Version)
			return nil
		}
	}
	f.kept = false
	before := f.removed
	eachRecord(view.Standing(), scope, nil, func(s engine.Stored, _ uint64) bool {
		f.forget(s)
		return true
	})
	f.done([]byte(name), f.removed-before)
	return nil
}

func (f *forgetting) forget(s engine.Stored) {
	f.kept = f.kept || kindOf(s).Journaled()
	c := change{tx: f.tx, options: f.options}
	e := c.event(memory.OpForget, s.Key)
	if f.tx.ForgetRecord(s.Key, &e) {
		f.tx.NoteForgotten(s.Key)
		f.removed++
		f.fresh++
	}
}

// repeated replies when the ID was carried out already.
func (f *forgetting) repeated(owner []byte, w *reply.Writer, key []byte) (bool, error) {
	if len(f.options.id) == 0 {
		return false, nil
	}
	done, verdict := f.tx.CommandDone(owner, memory.DigestID(owner, f.options.id), f.payload)
	switch verdict {
	case memory.Conflict, memory.Erased:
		return false, verdict.Err(f.options.id)
	case memory.Fresh:
		return false, nil
	}
	f.removed = int64(done.Version)
	f.reply(key, w)
	return true, nil
}

// done remembers that the command's ID removed so many records of the owner.
func (f *forgetting) done(owner []byte, removed int64) {
	if len(f.options.id) > 0 && removed > 0 {
		f.tx.MarkDone(owner, memory.DigestID(owner, f.options.id), f.payload, uint64(removed), f.kept)
	}
}

func (f *forgetting) reply(key []byte, w *reply.Writer) {
	switch {
	case f.options.returns != returnStatus:
		w.Int(f.removed)
	case f.removed == 0:
		f.options.status(memory.StatusUnchanged, key, 0, w)
	case f.fresh == 0:
		f.options.status(memory.StatusDuplicated, key, 0, w)
	default:
		f.options.status(memory.StatusOK, key, 0, w)
	}
}

type memRollbackParams struct {
	key        []byte
	version    int64
	hasVersion bool
	at         memory.Moment
	write      writeOptions
}

// memRollbackCommand: the old version comes back as it was, its kind and pin
// too; its deadline is that of a write now. A forgotten record goes on with the
// version after its last.
func memRollbackCommand() *Command {
	clauses := []grammar.Node{
		grammar.OneOf("what",
			grammar.Int("version", func(p *memRollbackParams) *int64 { return &p.version }).NonNegative().After("VERSION").
				Present(grammar.BoolOf(func(p *memRollbackParams) *bool { return &p.hasVersion })),
			momentNode(func(p *memRollbackParams) *memory.Moment { return &p.at }),
		).Required(),
	}
	return onData(memoryDeclaration(Declaration{
		Name: "mem.rollback", Complexity: "O(log(N)+V) where N is the number of the owner's records and V that of the record's versions",
		Summary: "Write an old version of a memory record again as a new one",
		Flags:   Write | DenyOOM, Offload: true,
		Reply: writeShape(),
	}), grammar.Compile[memRollbackParams](
		grammar.Key("key", func(p *memRollbackParams) *[]byte { return &p.key }, grammar.RW|grammar.Access|grammar.Update),
		grammar.Options(append(clauses, writeClauses(func(p *memRollbackParams) *writeOptions { return &p.write })...)...),
	), runMemRollback)
}

// rollbackTries bounds how often the past is read again because the record
// changed meanwhile.
const rollbackTries = 100

// runMemRollback reads the past without a lock and writes under the key's, if
// what stands is still what stood.
func runMemRollback(tx *engine.Tx, p *memRollbackParams, w *reply.Writer) error {
	for range rollbackTries {
		// Inside EXEC everything is locked, and the first try succeeds.
		key, view, err := pastOf(tx, p.key)
		if err != nil {
			return err
		}
		old, err := p.find(key, view)
		if replied, err := p.restore(tx, key, old, err, w); replied || err != nil {
			return err
		}
		tx.Commit()
	}
	return ErrRollbackRace
}

// pastRecord is what MEM.ROLLBACK finds before it locks.
type pastRecord struct {
	wanted []byte        // the version to write again, encoded; nil: there is none
	last   uint64        // the last version that the record had
	stood  engine.Stored // what stood; without Key: nothing
}

func (p *memRollbackParams) find(key memory.Key, view *engine.OwnerView) (old pastRecord, err error) {
	if view == nil {
		return old, nil
	}
	old.stood, _ = view.Get(key.Text)
	err = view.History(key.Text, 0, ^uint64(0), true, func(c engine.Change) bool {
		old.last = c.Version
		return c.Version == 0
	})
	if err != nil {
		return old, err
	}
	if p.hasVersion {
		made, _, err := view.Version(key.Text, uint64(p.version))
		old.wanted = made.Bytes
		return old, err
	}
	r, _, ok, err := view.At(key.Text, p.at)
	if ok {
		old.wanted = r.Bytes
	}
	return old, err
}

// restore writes the old version under the key's lock, unless it could not be
// found. It does not, and says so, when what stands is not what stood.
func (p *memRollbackParams) restore(tx *engine.Tx, key memory.Key, old pastRecord, notFound error, w *reply.Writer) (replied bool, err error) {
	lockRecord(tx, key)
	c := change{tx: tx, key: key, options: &p.write}
	if len(p.write.id) > 0 {
		c.payload = p.write.digest([]byte("rollback"), key.Text, p.target())
	}
	if replied, err := c.begin(w); replied || err != nil {
		return true, err
	}
	if notFound != nil {
		return true, notFound
	}
	if old.wanted == nil {
		return true, ErrNoVersion
	}
	if (old.stood.Key != nil) != c.exists || old.stood.Seq != c.stood.Seq {
		return false, nil
	}
	if !c.holds(conditionNone) {
		w.Null()
		return true, nil
	}
	var r memory.Record
	mustDecode(old.wanted, &r)
	createdMs := r.CreatedMs
	if err := migrate(tx, &r); err != nil {
		return true, err
	}
	if err := c.next(&r); err != nil {
		return true, err
	}
	if !c.exists {
		r.Version, r.CreatedMs = old.last+1, createdMs
	}
	return true, c.commit(memory.OpRollback, &r, w)
}

// target is the version asked for, for a digest.
func (p *memRollbackParams) target() []byte {
	target := []byte{flagByte(p.hasVersion), flagByte(p.at.BySeq)}
	target = binary.BigEndian.AppendUint64(target, uint64(p.version))
	target = binary.BigEndian.AppendUint64(target, p.at.Seq)
	return binary.BigEndian.AppendUint64(target, uint64(p.at.TimeMs))
}
