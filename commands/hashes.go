package commands

import (
	"math"
	"strconv"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns the commands that read and write fields of a hash. Random
// fields are in hashes_random.go. It must not know how a hash is stored.

func hashCommands() []*Command {
	return []*Command{
		hSetCommand(), hMSetCommand(), hSetNXCommand(), hDelCommand(),
		hGetCommand(), hMGetCommand(), hExistsCommand(), hStrLenCommand(), hLenCommand(),
		hGetAllCommand(), hKeysCommand(), hValsCommand(), hScanCommand(), hRandFieldCommand(),
		hIncrByCommand(), hIncrByFloatCommand(),
	}
}

type fieldParams struct{ key, field, value []byte }

func (p *fieldParams) keyField() *[]byte   { return &p.key }
func (p *fieldParams) fieldField() *[]byte { return &p.field }
func (p *fieldParams) valueField() *[]byte { return &p.value }

type fieldsParams struct {
	key    []byte
	fields [][]byte
}

func (p *fieldsParams) keyField() *[]byte      { return &p.key }
func (p *fieldsParams) fieldsField() *[][]byte { return &p.fields }

func fieldGrammar(flags grammar.KeyFlags) *grammar.Grammar {
	return grammar.Compile[fieldParams](
		grammar.Key("key", (*fieldParams).keyField, flags),
		grammar.Bytes("field", (*fieldParams).fieldField),
	)
}

func fieldsGrammar(flags grammar.KeyFlags) *grammar.Grammar {
	return grammar.Compile[fieldsParams](
		grammar.Key("key", (*fieldsParams).keyField, flags),
		grammar.Rest("field", (*fieldsParams).fieldsField),
	)
}

func fieldValuesGrammar() *grammar.Grammar {
	return grammar.Compile[fieldsParams](
		grammar.Key("key", (*fieldsParams).keyField, grammar.RW|grammar.Update),
		grammar.Pairs("field_value", "field", "value", (*fieldsParams).fieldsField),
	)
}

// hashForRead reads the hash of a command that only reads, and counts the hit,
// which a key of another type is too.
func hashForRead(tx *engine.Tx, key []byte) (engine.Hash, error) {
	h, err := tx.Hash(key)
	tx.CountHit(key, err != nil || h.Len() > 0)
	return h, err
}

func hSetCommand() *Command {
	return onData(Declaration{
		Name: "hset", Family: Hashes, Since: "2.0.0",
		Complexity: "O(1) for each field/value pair added, so O(N) to add N field/value pairs when the command is called with multiple field/value pairs.",
		Summary:    "Set the string value of a hash field",
		Flags:      Write | DenyOOM | Fast,
		History:    []Change{{"4.0.0", "Accepts multiple `field` and `value` arguments."}},
		Reply:      reply.Int(),
	}, fieldValuesGrammar(), func(tx *engine.Tx, p *fieldsParams, w *reply.Writer) error {
		added, err := setFields(tx, p)
		if err != nil {
			return err
		}
		w.Int(added)
		return nil
	})
}

func hMSetCommand() *Command {
	return onData(Declaration{
		Name: "hmset", Family: Hashes, Since: "2.0.0", Complexity: "O(N) where N is the number of fields being set.",
		Summary: "Set multiple hash fields to multiple values", DeprecatedSince: "4.0.0", ReplacedBy: "`HSET` with multiple field-value pairs",
		Flags: Write | DenyOOM | Fast,
		Reply: reply.OK(),
	}, fieldValuesGrammar(), func(tx *engine.Tx, p *fieldsParams, w *reply.Writer) error {
		if _, err := setFields(tx, p); err != nil {
			return err
		}
		w.OK()
		return nil
	})
}

func setFields(tx *engine.Tx, p *fieldsParams) (added int64, err error) {
	if _, err := tx.Hash(p.key); err != nil {
		return 0, err
	}
	added = int64(tx.HashSetPairs(p.key, p.fields))
	tx.Notify(engine.EventHash, "hset", p.key)
	return added, nil
}

func hSetNXCommand() *Command {
	return onData(Declaration{
		Name: "hsetnx", Family: Hashes, Since: "2.0.0", Complexity: "O(1)",
		Summary: "Set the value of a hash field, only if the field does not exist",
		Flags:   Write | DenyOOM | Fast,
		Reply:   reply.Int(),
	}, grammar.Compile[fieldParams](
		grammar.Key("key", (*fieldParams).keyField, grammar.RW|grammar.Insert),
		grammar.Bytes("field", (*fieldParams).fieldField),
		grammar.Bytes("value", (*fieldParams).valueField),
	), runHSetNX)
}

func runHSetNX(tx *engine.Tx, p *fieldParams, w *reply.Writer) error {
	h, err := tx.Hash(p.key)
	if err != nil {
		return err
	}
	if h.Has(p.field) {
		w.Int(0)
		return nil
	}
	tx.HashSet(p.key, p.field, p.value)
	tx.Notify(engine.EventHash, "hset", p.key)
	w.Int(1)
	return nil
}

func hDelCommand() *Command {
	return onData(Declaration{
		Name: "hdel", Family: Hashes, Since: "2.0.0", Complexity: "O(N) where N is the number of fields to be removed.",
		Summary: "Delete one or more hash fields",
		Flags:   Write | Fast,
		History: []Change{{"2.4.0", "Accepts multiple `field` arguments."}},
		Reply:   reply.Int(),
	}, fieldsGrammar(grammar.RW|grammar.Delete), runHDel)
}

func runHDel(tx *engine.Tx, p *fieldsParams, w *reply.Writer) error {
	if _, err := tx.Hash(p.key); err != nil {
		return err
	}
	n := int64(0)
	for _, field := range p.fields {
		n += intOf(tx.HashDelete(p.key, field))
	}
	if n > 0 {
		tx.Notify(engine.EventHash, "hdel", p.key)
		if !tx.Exists(p.key) {
			tx.Notify(engine.EventGeneric, "del", p.key)
		}
	}
	w.Int(n)
	return nil
}

func hGetCommand() *Command {
	return onData(Declaration{
		Name: "hget", Family: Hashes, Since: "2.0.0", Complexity: "O(1)",
		Summary: "Get the value of a hash field",
		Flags:   ReadOnly | Fast,
		Reply:   reply.Nullable(reply.Bulk()),
	}, fieldGrammar(grammar.RO|grammar.Access), runHGet)
}

func runHGet(tx *engine.Tx, p *fieldParams, w *reply.Writer) error {
	h, err := hashForRead(tx, p.key)
	if err != nil {
		return err
	}
	fieldOrNull(w, h, p.field)
	return nil
}

// fieldOrNull writes the value of a field: no allocation.
func fieldOrNull(w *reply.Writer, h engine.Hash, field []byte) {
	var buf [20]byte
	if value, ok := h.Get(field, buf[:]); ok {
		w.Bulk(value)
		return
	}
	w.Null()
}

func hMGetCommand() *Command {
	return onData(Declaration{
		Name: "hmget", Family: Hashes, Since: "2.0.0", Complexity: "O(N) where N is the number of fields being requested.",
		Summary: "Get the values of all the given hash fields",
		Flags:   ReadOnly | Fast,
		Reply:   reply.ArrayOf(reply.Nullable(reply.Bulk())),
	}, fieldsGrammar(grammar.RO|grammar.Access), runHMGet)
}

func runHMGet(tx *engine.Tx, p *fieldsParams, w *reply.Writer) error {
	h, err := hashForRead(tx, p.key)
	if err != nil {
		return err
	}
	w.Array(len(p.fields))
	for _, field := range p.fields {
		fieldOrNull(w, h, field)
	}
	return nil
}

func hExistsCommand() *Command {
	return onData(Declaration{
		Name: "hexists", Family: Hashes, Since: "2.0.0", Complexity: "O(1)",
		Summary: "Determine if a hash field exists",
		Flags:   ReadOnly | Fast,
		Reply:   reply.Int(),
	}, fieldGrammar(grammar.RO), func(tx *engine.Tx, p *fieldParams, w *reply.Writer) error {
		h, err := hashForRead(tx, p.key)
		if err != nil {
			return err
		}
		w.Int(intOf(h.Has(p.field)))
		return nil
	})
}

func hStrLenCommand() *Command {
	return onData(Declaration{
		Name: "hstrlen", Family: Hashes, Since: "3.2.0", Complexity: "O(1)",
		Summary: "Get the length of the value of a hash field",
		Flags:   ReadOnly | Fast,
		Reply:   reply.Int(),
	}, fieldGrammar(grammar.RO), func(tx *engine.Tx, p *fieldParams, w *reply.Writer) error {
		h, err := hashForRead(tx, p.key)
		if err != nil {
			return err
		}
		var buf [20]byte
		value, _ := h.Get(p.field, buf[:])
		w.Int(int64(len(value)))
		return nil
	})
}

func hLenCommand() *Command {
	return onData(Declaration{
		Name: "hlen", Family: Hashes, Since: "2.0.0", Complexity: "O(1)",
		Summary: "Get the number of fields in a hash",
		Flags:   ReadOnly | Fast,
		Reply:   reply.Int(),
	}, grammar.Compile[keyParams](grammar.Key("key", (*keyParams).keyField, grammar.RO)), func(tx *engine.Tx, p *keyParams, w *reply.Writer) error {
		h, err := hashForRead(tx, p.key)
		if err != nil {
			return err
		}
		w.Int(int64(h.Len()))
		return nil
	})
}

// wholeHash declares a command that answers all of a hash.
func wholeHash(name, summary string, shape reply.Shape, run func(h engine.Hash, w *reply.Writer)) *Command {
	return onData(Declaration{
		Name: name, Family: Hashes, Since: "2.0.0", Complexity: "O(N) where N is the size of the hash.", Summary: summary,
		Flags: ReadOnly, Tips: []string{"nondeterministic_output_order"}, Reply: shape,
	}, grammar.Compile[keyParams](grammar.Key("key", (*keyParams).keyField, grammar.RO|grammar.Access)),
		func(tx *engine.Tx, p *keyParams, w *reply.Writer) error {
			h, err := hashForRead(tx, p.key)
			if err == nil {
				run(h, w)
			}
			return err
		})
}

func hGetAllCommand() *Command {
	return wholeHash("hgetall", "Get all the fields and values in a hash", reply.MapOf(reply.Bulk(), reply.Bulk()), func(h engine.Hash, w *reply.Writer) {
		w.Map(h.Len())
		h.Each(func(field, value []byte) bool {
			w.Bulk(field)
			w.Bulk(value)
			return true
		})
	})
}

func hKeysCommand() *Command {
	return wholeHash("hkeys", "Get all the fields in a hash", reply.ArrayOf(reply.Bulk()), func(h engine.Hash, w *reply.Writer) {
		w.Array(h.Len())
		h.Each(func(field, _ []byte) bool {
			w.Bulk(field)
			return true
		})
	})
}

func hValsCommand() *Command {
	return wholeHash("hvals", "Get all the values in a hash", reply.ArrayOf(reply.Bulk()), func(h engine.Hash, w *reply.Writer) {
		w.Array(h.Len())
		h.Each(func(_, value []byte) bool {
			w.Bulk(value)
			return true
		})
	})
}

func hScanCommand() *Command {
	return onData(Declaration{
		Name: "hscan", Family: Hashes, Since: "2.8.0",
		Complexity: "O(1) for every call. O(N) for a complete iteration, including enough command calls for the cursor to return back to 0. N is the number of elements inside the collection..",
		Summary:    "Incrementally iterate hash fields and associated values",
		Flags:      ReadOnly, Tips: []string{nondeterministicOutput},
		Reply: reply.Tuple(reply.Bulk(), reply.ArrayOf(reply.Bulk())),
	}, elementScanGrammar(), runHScan)
}

func runHScan(tx *engine.Tx, p *elementScanParams, w *reply.Writer) error {
	h, err := hashForRead(tx, p.key)
	if err != nil {
		return err
	}
	if h.Len() > 0 && p.err != nil {
		return p.err
	}
	var found scanned
	next := h.Scan(p.cursor, p.step(), func(field, value []byte) {
		if p.accepts(field) {
			found.add(field)
			found.add(value)
		}
	})
	found.reply(w, next)
	return nil
}

type hIncrParams struct {
	key, field []byte
	amount     int64
	text       [20]byte // where the numbers are written
}

func hIncrByCommand() *Command {
	return onData(Declaration{
		Name: "hincrby", Family: Hashes, Since: "2.0.0", Complexity: "O(1)",
		Summary: "Increment the integer value of a hash field by the given number",
		Flags:   Write | DenyOOM | Fast,
		Reply:   reply.Int(),
	}, grammar.Compile[hIncrParams](
		grammar.Key("key", func(p *hIncrParams) *[]byte { return &p.key }, grammar.RW|grammar.Access|grammar.Update),
		grammar.Bytes("field", func(p *hIncrParams) *[]byte { return &p.field }),
		grammar.Int("increment", func(p *hIncrParams) *int64 { return &p.amount }),
	), runHIncrBy)
}

// runHIncrBy: no allocation.
func runHIncrBy(tx *engine.Tx, p *hIncrParams, w *reply.Writer) error {
	h, err := tx.Hash(p.key)
	if err != nil {
		return err
	}
	value := int64(0)
	if text, ok := h.Get(p.field, p.text[:]); ok {
		if value, ok = grammar.ParseInt(text); !ok {
			return ErrHashInteger
		}
	}
	if p.amount < 0 && value < 0 && p.amount < math.MinInt64-value || p.amount > 0 && value > 0 && p.amount > math.MaxInt64-value {
		return ErrOverflow
	}
	value += p.amount
	tx.HashSet(p.key, p.field, strconv.AppendInt(p.text[:0], value, 10))
	tx.Notify(engine.EventHash, "hincrby", p.key)
	w.Int(value)
	return nil
}

type hIncrFloatParams struct {
	key, field []byte
	amount     reply.LongDouble
}

func hIncrByFloatCommand() *Command {
	return onData(Declaration{
		Name: "hincrbyfloat", Family: Hashes, Since: "2.6.0", Complexity: "O(1)",
		Summary: "Increment the float value of a hash field by the given amount",
		Flags:   Write | DenyOOM | Fast,
		Reply:   reply.Bulk(),
	}, grammar.Compile[hIncrFloatParams](
		grammar.Key("key", func(p *hIncrFloatParams) *[]byte { return &p.key }, grammar.RW|grammar.Access|grammar.Update),
		grammar.Bytes("field", func(p *hIncrFloatParams) *[]byte { return &p.field }),
		grammar.Value("increment", func(p *hIncrFloatParams, arg []byte) *grammar.Error {
			var ok bool
			if p.amount, ok = reply.ParseLongDouble(arg); !ok {
				return grammar.Fail(grammar.NotFloat, "")
			}
			if p.amount.IsInf() {
				return grammar.Fail(grammar.Other, "value is NaN or Infinity")
			}
			return nil
		}).Typed(grammar.TypeDouble).Sample("0", "1", "1.5", "-2.25", "3e2", "0.1", "inf"),
	), runHIncrByFloat)
}

func runHIncrByFloat(tx *engine.Tx, p *hIncrFloatParams, w *reply.Writer) error {
	h, err := tx.Hash(p.key)
	if err != nil {
		return err
	}
	var buf [20]byte
	var value reply.LongDouble
	if text, ok := h.Get(p.field, buf[:]); ok {
		if value, ok = reply.ParseLongDouble(text); !ok {
			return ErrHashFloat
		}
	}
	sum, ok := value.Add(&p.amount)
	if !ok {
		return ErrFloatNaN
	}
	text := sum.Append(nil)
	tx.HashSet(p.key, p.field, text)
	tx.Notify(engine.EventHash, "hincrbyfloat", p.key)
	w.Bulk(text)
	return nil
}
