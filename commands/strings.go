package commands

import (
	"math"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns the commands that read and write strings whole: GET, SET and
// what grew around them. It must not know commands that look inside a string
// (strings_edit.go), nor numbers in strings (strings_incr.go).

func stringCommands() []*Command {
	return []*Command{
		getCommand(), setCommand(), setNXCommand(), setEXCommand(), pSetEXCommand(),
		getSetCommand(), getDelCommand(), getEXCommand(),
		mGetCommand(), mSetCommand(), mSetNXCommand(),
		appendCommand(), strLenCommand(), getRangeCommand(), subStrCommand(), setRangeCommand(),
		incrCommand(), decrCommand(), incrByCommand(), decrByCommand(), incrByFloatCommand(),
		lcsCommand(),
	}
}

// bulkOrNull writes a value as GET does: nil is a key that does not exist.
func bulkOrNull(w *reply.Writer, value []byte) {
	if value == nil {
		w.Null()
		return
	}
	w.Bulk(value)
}

func intOf(condition bool) int64 {
	if condition {
		return 1
	}
	return 0
}

// keyParams is the params of a command on one key and nothing else.
type keyParams struct{ key []byte }

func (p *keyParams) keyField() *[]byte { return &p.key }

// keyValueParams is the params of a command on one key and a value.
type keyValueParams struct{ key, value []byte }

func (p *keyValueParams) keyField() *[]byte   { return &p.key }
func (p *keyValueParams) valueField() *[]byte { return &p.value }

func getCommand() *Command {
	return onData(Declaration{
		Name: "get", Family: Strings, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Get the value of a key",
		Flags:   ReadOnly | Fast,
		Reply:   reply.Nullable(reply.Bulk()),
	}, grammar.Compile[keyParams](
		grammar.Key("key", (*keyParams).keyField, grammar.RO|grammar.Access),
	), runGet)
}

// runGet: no allocation.
func runGet(tx *engine.Tx, p *keyParams, w *reply.Writer) error {
	value, err := tx.String(p.key)
	if err != nil {
		return err
	}
	bulkOrNull(w, value)
	return nil
}

// expiry is how a clause of SET or GETEX gives a deadline.
type expiry uint8

const (
	expiryNone expiry = iota
	expirySeconds
	expiryMs
	expiryUnixSeconds
	expiryUnixMs
	expiryOther // KEEPTTL of SET, PERSIST of GETEX
)

// deadline is the point in time that amount means, in Unix milliseconds. It
// must be after 1970 and within 64 bits (t_string.c
// getExpireMillisecondsOrReply).
func (x expiry) deadline(amount, nowMs int64) (deadlineMs int64, err error) {
	if amount <= 0 {
		return 0, errExpireTime()
	}
	if x == expirySeconds || x == expiryUnixSeconds {
		if amount > math.MaxInt64/1000 {
			return 0, errExpireTime()
		}
		amount *= 1000
	}
	if x == expirySeconds || x == expiryMs {
		if amount > math.MaxInt64-nowMs {
			return 0, errExpireTime()
		}
		amount += nowMs
	}
	return amount, nil
}

// condition is when SET sets.
type condition uint8

const (
	conditionNone condition = iota
	conditionAbsent
	conditionPresent
)

type setParams struct {
	key, value []byte
	condition  condition
	get        bool
	expiry     expiry
	amount     int64
}

func setCommand() *Command {
	amount := func(p *setParams) *int64 { return &p.amount }
	return onData(Declaration{
		Name: "set", Family: Strings, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Set the string value of a key",
		Flags:   Write | DenyOOM | Brief,
		History: []Change{
			{"2.6.12", "Added the `EX`, `PX`, `NX` and `XX` options."},
			{"6.0.0", "Added the `KEEPTTL` option."},
			{"6.2.0", "Added the `GET`, `EXAT` and `PXAT` option."},
			{"7.0.0", "Allowed the `NX` and `GET` options to be used together."},
		},
		Reply: reply.OneOf(reply.OK(), reply.Bulk(), reply.Null()),
	}, grammar.Compile[setParams](
		grammar.Key("key", func(p *setParams) *[]byte { return &p.key }, grammar.RW|grammar.Access|grammar.Update|grammar.VariableFlags).
			Notes("RW and ACCESS due to the optional `GET` argument"),
		grammar.Bytes("value", func(p *setParams) *[]byte { return &p.value }),
		grammar.Options(
			grammar.Enum("condition", func(p *setParams) *condition { return &p.condition }, "NX", "XX").Since("2.6.12"),
			grammar.Token(wordGet, func(p *setParams) *bool { return &p.get }).Since("6.2.0"),
			grammar.Choice("expiration", func(p *setParams) *expiry { return &p.expiry },
				grammar.Int("seconds", amount).After("EX").Defer().Since("2.6.12"),
				grammar.Int("milliseconds", amount).After("PX").Defer().Since("2.6.12"),
				grammar.UnixTime("unix-time-seconds", amount).After("EXAT").Defer().Since("6.2.0"),
				grammar.UnixTime("unix-time-milliseconds", amount).After("PXAT").Defer().Since("6.2.0"),
				grammar.Token[*setParams]("KEEPTTL", nil).Since("6.0.0"),
			),
		),
	).WithKeys("SET reads the key only with GET", setKeys), runSet)
}

// setKeys is db.c's setGetKeys.
func setKeys(dst []grammar.KeyRef, argv [][]byte) ([]grammar.KeyRef, bool) {
	flags := grammar.OW | grammar.Update
	for _, arg := range argv[min(2, len(argv)):] {
		if equalFold(arg, wordGet) {
			flags = grammar.RW | grammar.Access | grammar.Update
		}
	}
	return append(dst, grammar.KeyRef{Index: 0, Flags: flags}), true
}

// runSet: no allocation.
func runSet(tx *engine.Tx, p *setParams, w *reply.Writer) error {
	deadlineMs, err := int64(0), error(nil)
	if p.expiry != expiryNone && p.expiry != expiryOther {
		if deadlineMs, err = p.expiry.deadline(p.amount, tx.NowMs()); err != nil {
			return err
		}
	}
	if p.get {
		old, err := tx.String(p.key)
		if err != nil {
			return err
		}
		bulkOrNull(w, old)
	}
	if p.condition != conditionNone && tx.Exists(p.key) != (p.condition == conditionPresent) {
		if !p.get {
			w.Null()
		}
		return nil
	}
	if p.expiry == expiryOther {
		tx.ReplaceString(p.key, p.value)
	} else {
		tx.SetString(p.key, p.value, deadlineMs)
	}
	tx.Notify(engine.EventString, "set", p.key)
	if deadlineMs != 0 {
		tx.Notify(engine.EventGeneric, "expire", p.key)
	}
	if !p.get {
		w.OK()
	}
	return nil
}

func setNXCommand() *Command {
	return onData(Declaration{
		Name: "setnx", Family: Strings, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Set the value of a key, only if the key does not exist",
		Flags:   Write | DenyOOM | Fast,
		Reply:   reply.Int(),
	}, grammar.Compile[keyValueParams](
		grammar.Key("key", (*keyValueParams).keyField, grammar.OW|grammar.Insert),
		grammar.Bytes("value", (*keyValueParams).valueField),
	), runSetNX)
}

func runSetNX(tx *engine.Tx, p *keyValueParams, w *reply.Writer) error {
	exists := tx.Exists(p.key)
	if !exists {
		tx.SetString(p.key, p.value, 0)
		tx.Notify(engine.EventString, "set", p.key)
	}
	w.Int(intOf(!exists))
	return nil
}

type setEXParams struct {
	key, value []byte
	amount     int64
}

func setEXCommand() *Command {
	return onData(Declaration{
		Name: "setex", Family: Strings, Since: "2.0.0", Complexity: "O(1)",
		Summary: "Set the value and expiration of a key",
		Flags:   Write | DenyOOM | Brief,
		Reply:   reply.OK(),
	}, setEXGrammar("seconds"), func(tx *engine.Tx, p *setEXParams, w *reply.Writer) error {
		return runSetEX(tx, p, w, expirySeconds)
	})
}

func pSetEXCommand() *Command {
	return onData(Declaration{
		Name: "psetex", Family: Strings, Since: "2.6.0", Complexity: "O(1)",
		Summary: "Set the value and expiration in milliseconds of a key",
		Flags:   Write | DenyOOM | Brief,
		Reply:   reply.OK(),
	}, setEXGrammar("milliseconds"), func(tx *engine.Tx, p *setEXParams, w *reply.Writer) error {
		return runSetEX(tx, p, w, expiryMs)
	})
}

func setEXGrammar(unit string) *grammar.Grammar {
	return grammar.Compile[setEXParams](
		grammar.Key("key", func(p *setEXParams) *[]byte { return &p.key }, grammar.OW|grammar.Update),
		grammar.Int(unit, func(p *setEXParams) *int64 { return &p.amount }),
		grammar.Bytes("value", func(p *setEXParams) *[]byte { return &p.value }),
	)
}

func runSetEX(tx *engine.Tx, p *setEXParams, w *reply.Writer, unit expiry) error {
	deadlineMs, err := unit.deadline(p.amount, tx.NowMs())
	if err != nil {
		return err
	}
	tx.SetString(p.key, p.value, deadlineMs)
	tx.Notify(engine.EventString, "set", p.key)
	tx.Notify(engine.EventGeneric, "expire", p.key)
	w.OK()
	return nil
}

func getSetCommand() *Command {
	return onData(Declaration{
		Name: "getset", Family: Strings, Since: "1.0.0", Complexity: "O(1)",
		Summary:         "Set the string value of a key and return its old value",
		DeprecatedSince: "6.2.0", ReplacedBy: "`SET` with the `!GET` argument",
		Flags: Write | DenyOOM | Fast,
		Reply: reply.Nullable(reply.Bulk()),
	}, grammar.Compile[keyValueParams](
		grammar.Key("key", (*keyValueParams).keyField, grammar.RW|grammar.Access|grammar.Update),
		grammar.Bytes("value", (*keyValueParams).valueField),
	), runGetSet)
}

func runGetSet(tx *engine.Tx, p *keyValueParams, w *reply.Writer) error {
	old, err := tx.String(p.key)
	if err != nil {
		return err
	}
	bulkOrNull(w, old)
	tx.SetString(p.key, p.value, 0)
	tx.Notify(engine.EventString, "set", p.key)
	return nil
}

func getDelCommand() *Command {
	return onData(Declaration{
		Name: "getdel", Family: Strings, Since: "6.2.0", Complexity: "O(1)",
		Summary: "Get the value of a key and delete the key",
		Flags:   Write | Fast,
		Reply:   reply.Nullable(reply.Bulk()),
	}, grammar.Compile[keyParams](
		grammar.Key("key", (*keyParams).keyField, grammar.RW|grammar.Access|grammar.Delete),
	), runGetDel)
}

func runGetDel(tx *engine.Tx, p *keyParams, w *reply.Writer) error {
	old, err := tx.String(p.key)
	if err != nil {
		return err
	}
	bulkOrNull(w, old)
	if old != nil {
		tx.Delete(p.key)
		tx.Notify(engine.EventGeneric, "del", p.key)
	}
	return nil
}

// getEXParams has the amount unparsed: Redis looks the key up before it reads
// the number (t_string.c getexCommand).
type getEXParams struct {
	key    []byte
	expiry expiry
	amount []byte
}

func getEXCommand() *Command {
	amount := func(p *getEXParams) *[]byte { return &p.amount }
	return onData(Declaration{
		Name: "getex", Family: Strings, Since: "6.2.0", Complexity: "O(1)",
		Summary: "Get the value of a key and optionally set its expiration",
		Flags:   Write | Fast,
		Reply:   reply.Nullable(reply.Bulk()),
	}, grammar.Compile[getEXParams](
		grammar.Key("key", func(p *getEXParams) *[]byte { return &p.key }, grammar.RW|grammar.Access|grammar.Update).
			Notes("RW and UPDATE because it changes the TTL"),
		grammar.Options(
			grammar.Choice("expiration", func(p *getEXParams) *expiry { return &p.expiry },
				grammar.Bytes("seconds", amount).After("EX").Typed(grammar.TypeInteger),
				grammar.Bytes("milliseconds", amount).After("PX").Typed(grammar.TypeInteger),
				grammar.Bytes("unix-time-seconds", amount).After("EXAT").Typed(grammar.TypeUnixTime).Sample("1", "4000000000"),
				grammar.Bytes("unix-time-milliseconds", amount).After("PXAT").Typed(grammar.TypeUnixTime).Sample("1", "4000000000000"),
				grammar.Token[*getEXParams]("PERSIST", nil),
			),
		),
	), runGetEX)
}

func runGetEX(tx *engine.Tx, p *getEXParams, w *reply.Writer) error {
	value, err := tx.String(p.key)
	if err != nil {
		return err
	}
	if value == nil || p.expiry == expiryNone {
		bulkOrNull(w, value)
		return nil
	}
	deadlineMs := int64(0)
	if p.expiry != expiryOther {
		amount, ok := grammar.ParseInt(p.amount)
		if !ok {
			return ErrNotInteger
		}
		if deadlineMs, err = p.expiry.deadline(amount, tx.NowMs()); err != nil {
			return err
		}
	}
	w.Bulk(value)
	before, _ := tx.DeadlineMs(p.key)
	tx.SetDeadline(p.key, deadlineMs)
	switch {
	case deadlineMs == 0 && before == 0:
	case deadlineMs == 0:
		tx.Notify(engine.EventGeneric, "persist", p.key)
	case deadlineMs <= tx.NowMs():
		tx.Notify(engine.EventGeneric, "del", p.key)
	default:
		tx.Notify(engine.EventGeneric, "expire", p.key)
	}
	return nil
}

type mGetParams struct{ keys [][]byte }

func mGetCommand() *Command {
	return onData(Declaration{
		Name: "mget", Family: Strings, Since: "1.0.0", Complexity: "O(N) where N is the number of keys to retrieve.",
		Summary: "Get the values of all the given keys",
		Flags:   ReadOnly | Fast,
		Tips:    []string{"request_policy:multi_shard"},
		Reply:   reply.ArrayOf(reply.Nullable(reply.Bulk())),
	}, grammar.Compile[mGetParams](
		grammar.Keys("key", func(p *mGetParams) *[][]byte { return &p.keys }, grammar.RO|grammar.Access),
	), runMGet)
}

// runMGet: no allocation. A key of another type is null, not an error.
func runMGet(tx *engine.Tx, p *mGetParams, w *reply.Writer) error {
	w.Array(len(p.keys))
	for _, key := range p.keys {
		value, err := tx.String(key)
		if err != nil {
			w.Null()
			continue
		}
		bulkOrNull(w, value)
	}
	return nil
}

// pairsParams is keys and values in turn.
type pairsParams struct{ pairs [][]byte }

func (p *pairsParams) pairsField() *[][]byte { return &p.pairs }

func mSetCommand() *Command {
	return onData(Declaration{
		Name: "mset", Family: Strings, Since: "1.0.1", Complexity: "O(N) where N is the number of keys to set.",
		Summary: "Set multiple keys to multiple values",
		Flags:   Write | DenyOOM,
		Tips:    []string{"request_policy:multi_shard", "response_policy:all_succeeded"},
		Reply:   reply.OK(),
	}, grammar.Compile[pairsParams](
		grammar.KeyPairs("key_value", "key", "value", (*pairsParams).pairsField, grammar.OW|grammar.Update),
	), runMSet)
}

// runMSet: no allocation.
func runMSet(tx *engine.Tx, p *pairsParams, w *reply.Writer) error {
	setPairs(tx, p.pairs)
	w.OK()
	return nil
}

func mSetNXCommand() *Command {
	return onData(Declaration{
		Name: "msetnx", Family: Strings, Since: "1.0.1", Complexity: "O(N) where N is the number of keys to set.",
		Summary: "Set multiple keys to multiple values, only if none of the keys exist",
		Flags:   Write | DenyOOM,
		Tips:    []string{"request_policy:multi_shard", "response_policy:agg_min"},
		Reply:   reply.Int(),
	}, grammar.Compile[pairsParams](
		grammar.KeyPairs("key_value", "key", "value", (*pairsParams).pairsField, grammar.OW|grammar.Insert),
	), runMSetNX)
}

func runMSetNX(tx *engine.Tx, p *pairsParams, w *reply.Writer) error {
	for i := 0; i < len(p.pairs); i += 2 {
		if tx.Exists(p.pairs[i]) {
			w.Int(0)
			return nil
		}
	}
	setPairs(tx, p.pairs)
	w.Int(1)
	return nil
}

func setPairs(tx *engine.Tx, pairs [][]byte) {
	for i := 0; i < len(pairs); i += 2 {
		tx.SetString(pairs[i], pairs[i+1], 0)
		tx.Notify(engine.EventString, "set", pairs[i])
	}
}
