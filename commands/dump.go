package commands

import (
	"math"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/dump"
)

// This file owns DUMP and RESTORE, also under the name that clusters use. It must not know the form of a serialised
// value.

func dumpCommand() *Command {
	return onData(Declaration{
		Name: "dump", Family: Generic, Since: "2.6.0",
		Complexity: "O(1) to access the key and additional O(N*M) to serialize it, where N is the number of Redis objects composing the value and M their average size. For small string values the time complexity is thus O(1)+O(1*M) where M is small, so simply O(1).",
		Summary:    "Return a serialized version of the value stored at the specified key.",
		Flags:      ReadOnly, Tips: []string{nondeterministicOutput},
		Reply: reply.Nullable(reply.Bulk()),
	}, grammar.Compile[keyParams](grammar.Key("key", (*keyParams).keyField, grammar.RO|grammar.Access)), runDump)
}

func runDump(tx *engine.Tx, p *keyParams, w *reply.Writer) error {
	if payload := dumpKey(tx, p.key); payload != nil {
		w.Bulk(payload)
	} else {
		w.Null()
	}
	return nil
}

// dumpKey is the value of key as RESTORE takes it, nil when there is none.
func dumpKey(tx *engine.Tx, key []byte) []byte {
	var value []byte
	if tx.Type(key) == engine.TypeMemory {
		value = dumpRecord(tx, key)
	} else {
		value = appendValue(nil, tx, key, dump.Form{Plain: tx.Uncompressed()})
		tx.CountHit(key, value != nil)
	}
	if value == nil {
		return nil
	}
	return dump.Seal(value)
}

// appendValue appends the value of a key with its type, and returns nil when there
// is none, or a memory record.
func appendValue(dst []byte, tx *engine.Tx, key []byte, form dump.Form) []byte {
	// Errors are for keys of another type.
	switch tx.Type(key) {
	case engine.TypeString:
		text, _ := tx.StringForWrite(key)
		return form.AppendStringValue(dst, text)
	case engine.TypeHash:
		h, _ := tx.Hash(key)
		if pack := h.Pack(); pack != nil {
			return form.AppendPackedHash(dst, pack)
		}
		return form.AppendHash(dst, h.Len(), h.Each)
	case engine.TypeSet:
		s, _ := tx.Set(key)
		if ints := s.Ints(); ints != nil {
			return form.AppendIntset(dst, ints)
		}
		return form.AppendSet(dst, s.Len(), s.Each)
	case engine.TypeList:
		l, _ := tx.List(key)
		return form.AppendList(dst, dump.NodeLimit(tx.ListNodeLimit()), func(visit func(engine.Element)) { l.Range(0, l.Len(), visit) })
	case engine.TypeStream:
		s, _ := tx.Stream(key)
		return form.AppendStream(dst, s.Value())
	case engine.TypeSortedSet:
		z, _ := tx.SortedSet(key)
		if pack := z.Pack(); pack != nil {
			return form.AppendPackedSortedSet(dst, pack)
		}
		return form.AppendSortedSet(dst, z.Len(), func(visit func(member []byte, score float64) bool) { z.Range(0, z.Len(), true, visit) })
	}
	return nil
}

type restoreParams struct {
	key, ttl, payload []byte
	replace, absolute bool
	idleSeconds       int64 // -1 when not given
	frequency         int64 // -1 when not given
}

func restoreCommand() *Command {
	return restoring(Declaration{
		Name: "restore", Family: Generic, Since: "2.6.0", Categories: []string{"dangerous"},
		Summary: "Create a key using the provided serialized value, previously obtained using DUMP.",
		Flags:   Write | DenyOOM,
	})
}

// restoreAskingCommand is what a node of a cluster sends for RESTORE while it hands
// over the key's slot. Outside of one they are the same.
func restoreAskingCommand() *Command {
	return restoring(Declaration{
		Name: "restore-asking", Family: Server, Since: "3.0.0", Categories: []string{"keyspace", "dangerous"},
		Summary: "An internal command for migrating keys in a cluster", DocFlags: []string{"syscmd"},
		Flags: Write | DenyOOM | Asking,
	})
}

// restoring completes the declaration of a command that restores a key.
func restoring(d Declaration) *Command {
	set := memSetGrammar()
	d.Complexity = "O(1) to create the new key and additional O(N*M) to reconstruct the serialized value, where N is the number of Redis objects composing the value and M their average size. For small string values the time complexity is thus O(1)+O(1*M) where M is small, so simply O(1). However for sorted set values the complexity is O(N*M*log(N)) because inserting values into sorted sets is O(log(N))."
	d.History = []Change{
		{"3.0.0", "Added the `REPLACE` modifier."},
		{"5.0.0", "Added the `ABSTTL` modifier."},
		{"5.0.0", "Added the `IDLETIME` and `FREQ` options."},
	}
	d.Lock, d.Reply = LockAlone, reply.OK()
	return onData(d, grammar.Compile[restoreParams](
		grammar.Key("key", func(p *restoreParams) *[]byte { return &p.key }, grammar.OW|grammar.Update),
		// The number is read only when the key is known to be free.
		grammar.Bytes("ttl", func(p *restoreParams) *[]byte { return &p.ttl }).Typed(grammar.TypeInteger).Sample("0", "100000", "-1", "x"),
		grammar.Bytes("serialized-value", func(p *restoreParams) *[]byte { return &p.payload }),
		grammar.Options(
			grammar.Token("REPLACE", func(p *restoreParams) *bool { return &p.replace }).Since("3.0.0"),
			grammar.Token("ABSTTL", func(p *restoreParams) *bool { return &p.absolute }).Since("5.0.0"),
			grammar.OneOf("usage",
				grammar.Int("seconds", func(p *restoreParams) *int64 { return &p.idleSeconds }).After("IDLETIME").Default(-1).
					Range(0, math.MaxInt64).Fail(grammar.OutOfRange, "Invalid IDLETIME value, must be >= 0"),
				grammar.Int("frequency", func(p *restoreParams) *int64 { return &p.frequency }).After("FREQ").Default(-1).
					Range(0, math.MaxUint8).Fail(grammar.OutOfRange, "Invalid FREQ value, must be >= 0 and <= 255"),
			).DocumentedAs(
				grammar.Opt(grammar.Int[*restoreParams]("seconds", nil).After("IDLETIME").Since("5.0.0")),
				grammar.Opt(grammar.Int[*restoreParams]("frequency", nil).After("FREQ").Since("5.0.0")),
			),
		),
	), func(tx *engine.Tx, p *restoreParams, w *reply.Writer) error { return runRestore(tx, p, set, w) })
}

func runRestore(tx *engine.Tx, p *restoreParams, set *grammar.Grammar, w *reply.Writer) error {
	if !p.replace && tx.Touch(p.key) {
		return errBusyKey
	}
	deadlineMs, ok := grammar.ParseInt(p.ttl)
	if !ok {
		return ErrNotInteger
	}
	if deadlineMs < 0 {
		return errInvalidTTL
	}
	value, err := readDump(tx, p.payload)
	if err != nil {
		return err
	}
	if deadlineMs != 0 && !p.absolute {
		// A sum beyond the last millisecond wraps into the past, as in Redis.
		deadlineMs += tx.NowMs()
	}
	if note, ok := dump.Note(p.payload); ok {
		if err := restoreRecord(tx, p, set, note, deadlineMs); err != nil {
			return err
		}
		w.OK()
		return nil
	}
	replaced := p.replace && tx.Delete(p.key)
	if deadlineMs == 0 || deadlineMs > tx.NowMs() {
		restoreValue(tx, p, &value, deadlineMs)
		tx.Notify(engine.EventGeneric, "restore", p.key)
	} else if replaced {
		tx.Notify(engine.EventGeneric, "del", p.key)
	}
	w.OK()
	return nil
}

// readDump reads a payload whole before anything is changed.
func readDump(tx *engine.Tx, payload []byte) (dump.Value, error) {
	if dump.Verify(payload, tx.TrustsDumps()) != nil {
		return dump.Value{}, errDumpFooter
	}
	stringMax := int(tx.StringMax())
	// Four strings of the greatest length, and as many short ones as there are.
	limits := dump.Limits{StringBytes: stringMax, TotalBytes: 4 * stringMax}
	value, err := dump.NewReader(payload, limits).Value()
	if err != nil {
		return dump.Value{}, errDumpFormat
	}
	return value, nil
}

// restoreValue makes the key, which is not there, the value.
func restoreValue(tx *engine.Tx, p *restoreParams, value *dump.Value, deadlineMs int64) {
	switch value.Type.Content() {
	case dump.Hash:
		tx.HashSetPairs(p.key, value.Pairs)
	case dump.List:
		tx.ListPush(p.key, engine.List{}, false, value.Elements)
	case dump.SortedSet:
		restoreSortedSet(tx, p.key, value)
	case dump.Set:
		tx.SetAdd(p.key, value.Members)
	case dump.Stream:
		tx.RestoreStream(p.key, value.Stream)
	default:
		tx.SetString(p.key, value.Text, deadlineMs)
	}
	tx.SetDeadline(p.key, deadlineMs)
	p.use(tx)
}

// use makes the key as much used as the line says.
func (p *restoreParams) use(tx *engine.Tx) {
	if tx.LFU() && p.frequency >= 0 {
		tx.SetFrequency(p.key, uint8(p.frequency))
	}
	if !tx.LFU() && p.idleSeconds >= 0 {
		tx.SetIdleSeconds(p.key, p.idleSeconds)
	}
}

func restoreSortedSet(tx *engine.Tx, key []byte, value *dump.Value) {
	longest := 0
	for _, member := range value.Members {
		longest = max(longest, len(member))
	}
	edit := tx.ReplaceSortedSet(key, len(value.Members), longest)
	for i, member := range value.Members {
		edit.Find(member)
		edit.Put(value.Scores[i])
	}
	edit.Close()
}
