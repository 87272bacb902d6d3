package commands

import (
	"encoding/binary"
	"math"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
)

// This file owns what all writes of memory records share: their common options,
// and the one way of a change from its checks to its reply. It must not know how
// the new record comes to be what it is.

// returning is what RETURN asks for.
type returning uint8

const (
	returnDefault returning = iota // an integer
	returnVersion
	returnRecord
	returnStatus
)

// writeOptions are the common options of every write.
type writeOptions struct {
	ifVersion    int64
	hasIfVersion bool
	expiry       expiry
	amount       int64
	by           []byte
	trace        []byte
	caller       []byte
	reason       []byte
	timeMs       int64
	hasTime      bool
	id           []byte
	returns      returning

	// Of one of several changes that all happen or none: the ID of all of them,
	// and where it says how it went, instead of a reply.
	idOfAll []byte
	outcome *memory.Status
}

// writtenID is the command ID as events and replies have it.
func (o *writeOptions) writtenID() []byte {
	if len(o.id) == 0 {
		return o.idOfAll
	}
	return o.id
}

// whoClauses are the common options that say who, why, and how to reply.
func whoClauses[T any](field func(T) *writeOptions) []grammar.Node {
	var clauses []grammar.Node
	for _, n := range []grammar.Node{
		grammar.Int("version", func(o *writeOptions) *int64 { return &o.ifVersion }).NonNegative().After("IFVERSION").
			Present(grammar.BoolOf(func(o *writeOptions) *bool { return &o.hasIfVersion })),
		textNode("operator", "BY", memory.LimitName(), func(o *writeOptions) *[]byte { return &o.by }),
		textNode("trace", "TRACE", memory.LimitName(), func(o *writeOptions) *[]byte { return &o.trace }),
		textNode("caller", "CALLER", memory.LimitNote(), func(o *writeOptions) *[]byte { return &o.caller }),
		textNode("reason", "REASON", memory.LimitNote(), func(o *writeOptions) *[]byte { return &o.reason }),
		timeNode("time", "TIME", func(o *writeOptions) *int64 { return &o.timeMs }).
			Present(grammar.BoolOf(func(o *writeOptions) *bool { return &o.hasTime })),
		textNode("command-id", "ID", memory.LimitName(), func(o *writeOptions) *[]byte { return &o.id }),
		grammar.Enum("returning", func(o *writeOptions) *returning { return &o.returns }, "VERSION", "RECORD", "STATUS").After("RETURN"),
	} {
		clauses = append(clauses, grammar.Lift(field, n))
	}
	return clauses
}

// writeClauses are all common options.
func writeClauses[T any](field func(T) *writeOptions) []grammar.Node {
	amount := func(o *writeOptions) *int64 { return &o.amount }
	ttl := grammar.Choice("expiration", func(o *writeOptions) *expiry { return &o.expiry },
		grammar.Int("seconds", amount).After("EX").Defer(),
		grammar.Int("milliseconds", amount).After("PX").Defer(),
		grammar.UnixTime("unix-time-seconds", amount).After("EXAT").Defer(),
		grammar.UnixTime("unix-time-milliseconds", amount).After("PXAT").Defer(),
		grammar.Token[*writeOptions]("KEEPTTL", nil),
	)
	return append(whoClauses(field), grammar.Lift(field, ttl))
}

// needsPast says whether the reply may need a version that no longer stands, so
// that the command cannot run where nothing may be read from disk: a repeated ID
// replies as its first did.
func (o *writeOptions) needsPast() bool { return len(o.id) > 0 && o.returns == returnRecord }

// digest stands for what a command asks for: parts, and the common options but
// for ID, TIME and RETURN.
func (o *writeOptions) digest(parts ...[]byte) memory.PayloadDigest {
	var numbers [26]byte
	binary.BigEndian.PutUint64(numbers[:], uint64(o.ifVersion))
	binary.BigEndian.PutUint64(numbers[8:], uint64(o.amount))
	numbers[16], numbers[17] = flagByte(o.hasIfVersion), byte(o.expiry)
	return memory.DigestPayload(append(parts, numbers[:], o.by, o.trace, o.caller, o.reason)...)
}

func flagByte(on bool) byte {
	if on {
		return 1
	}
	return 0
}

// change is one write on its way: what stood, and what is asked.
type change struct {
	tx      *engine.Tx
	key     memory.Key
	options *writeOptions
	payload memory.PayloadDigest
	policy  *memory.Policy // of the key

	stood  engine.Stored
	old    memory.Record // what stood, when exists
	exists bool
	whole  bool          // the value is what the command says, not what became of an older one
	passed bool          // the version no longer stood where it was written
	added  []memory.Item // of the list that the new record is

	supersedes []byte // the record whose validity ends where that of the new one begins
}

// writing is the memory that a write works in. It is part of the command's params,
// which are pooled, so that a write allocates none of it.
type writing struct {
	change change
	record memory.Record
}

// begin begins a change of what tx has at key, which it locks. parts are what the
// command's ID stands for beside the common options; they are asked for only where
// there is an ID. It replies, and says so, when that was carried out already.
func (m *writing) begin(tx *engine.Tx, key memory.Key, options *writeOptions, a *attributes, parts func() [][]byte, w *reply.Writer) (replied bool, err error) {
	lockRecords(tx, key, a.supersedes)
	m.change, m.record = change{tx: tx, key: key, options: options}, memory.Record{}
	m.record.Reset()
	m.record.Kind = memory.DefaultKind
	if len(options.id) > 0 {
		m.change.payload = options.digest(parts()...)
	}
	return m.change.begin(w)
}

// begin reads what stands at the change's key, whose shard is locked. It
// replies, and says so, when the command's ID was carried out already; that may
// read from disk and then releases the locks.
func (c *change) begin(w *reply.Writer) (replied bool, err error) {
	c.policy = c.tx.Policy(c.key.Text)
	c.stood, c.exists, err = c.tx.Standing(c.key.Text)
	if err != nil {
		return false, err
	}
	if c.exists {
		mustDecode(c.stood.Bytes, &c.old) // a list without its items
		if consent := c.tx.Consent(c.key.Owner()); consent.Hides(c.old.Kind) {
			return false, errNoConsent(c.key.Owner(), c.old.Kind, memory.ConsentRevoked)
		}
	}
	owner := c.key.Owner()
	if len(c.options.id) > 0 {
		done, verdict := c.tx.CommandDone(owner, memory.DigestID(owner, c.options.id), c.payload)
		switch verdict {
		case memory.Conflict, memory.Erased:
			return false, verdict.Err(c.options.id)
		case memory.Duplicated:
			return true, c.replyDuplicated(done.Version, w)
		}
	}
	c.tx.NoteWrite(owner)
	return false, nil
}

// holds says whether NX, XX and IFVERSION hold; IFVERSION 0 asks for no record.
func (c *change) holds(when condition) bool {
	version := uint64(0)
	if c.exists {
		version = c.old.Version
	}
	return !(when == conditionAbsent && c.exists || when == conditionPresent && !c.exists ||
		c.options.hasIfVersion && uint64(c.options.ifVersion) != version)
}

// skip replies that NX, XX or IFVERSION did not hold. Where it takes others with
// it, that is an error.
func (c *change) skip(w *reply.Writer) error {
	if c.options.outcome != nil {
		return errVersionStands(c.old.Version, uint64(c.options.ifVersion), c.exists)
	}
	w.Null()
	return nil
}

// next begins the record that the change makes: what every version has of its
// command, and its deadline.
//
// A record of another kind begins with that kind's default TTL, unless the
// command says otherwise.
func (c *change) next(r *memory.Record) error {
	o, now := c.options, c.tx.NowMs()
	r.Version, r.CreatedMs, r.UpdatedMs = 1, now, now
	if o.hasTime {
		r.CreatedMs, r.UpdatedMs = o.timeMs, o.timeMs
	}
	before, beforeMs := (*memory.Record)(nil), int64(0)
	if c.exists {
		r.Version, r.CreatedMs = c.old.Version+1, c.old.CreatedMs
		if r.Kind == c.old.Kind {
			before, beforeMs = &c.old, c.stood.DeadlineMs
		}
	}
	r.Operator, r.Trace, r.Reason = c.operator(), o.trace, o.reason
	switch {
	case o.expiry == expiryNone || o.expiry == expiryOther && !c.exists:
		r.DeadlineMs, r.SlideMs = c.policy.Rule(r.Kind).DeadlineAfterWrite(now, before, beforeMs)
	case o.expiry == expiryOther:
		r.DeadlineMs, r.SlideMs = c.stood.DeadlineMs, c.old.SlideMs
	default:
		var err error
		r.DeadlineMs, err = o.expiry.deadline(o.amount, now)
		r.SlideMs = 0
		return err
	}
	return nil
}

// operator is who claims to act: by default whoever is authenticated.
func (c *change) operator() []byte {
	if len(c.options.by) > 0 {
		return c.options.by
	}
	return c.tx.UserName()
}

// event says that op happened to a key.
func (c *change) event(op memory.Op, key []byte) memory.Event {
	o := c.options
	e := c.tx.NewEvent()
	e.Op, e.Key = op, key
	e.Operator, e.Caller, e.Trace, e.CommandID, e.Reason = c.operator(), o.caller, o.trace, o.writtenID(), o.reason
	return e
}

// commit makes r what stands, if the rules let it. Every write of a record comes
// through here.
func (c *change) commit(op memory.Op, r *memory.Record, w *reply.Writer) error {
	if err := c.govern(r, c.whole); err != nil {
		return err
	}
	superseded, err := c.superseded(r)
	if err != nil {
		return err
	}
	e := c.event(op, c.key.Text)
	e.Version = r.Version
	if c.exists {
		e.OldVersion = c.old.Version
	}
	if superseded != nil {
		superseded.end()
	}
	c.put(r, &e)
	if x := c.options.expiry; x != expiryNone && x != expiryOther {
		c.tx.Notify(engine.EventGeneric, "expire", c.key.Text)
	}
	c.tx.NoteCommitted(c.key.Owner())
	c.done(r.Version, r.Kind.Journaled())
	c.reply(memory.StatusOK, r.Version, func() (*memory.Record, int64) {
		if made, ok, _ := c.tx.Record(c.key.Text); ok && r.List != 0 {
			made.Decode(r)
		}
		return r, r.DeadlineMs
	}, w)
	return nil
}

// oldWhole is what stood, a list with its items.
func (c *change) oldWhole() *memory.Record {
	if c.old.List != 0 {
		c.stood.Decode(&c.old)
	}
	return &c.old
}

// put writes the new record, of whose right to be nothing is left to ask.
func (c *change) put(r *memory.Record, e *memory.Event) {
	rule := c.policy.Rule(r.Kind)
	keep := engine.Retention{Versions: rule.HistoryVersions, AgeMs: rule.HistoryAgeMs}
	if r.List != 0 {
		c.tx.AppendRecord(c.key, r, c.added, e, keep)
	} else {
		c.tx.PutRecord(c.key, r, e, keep)
	}
}

// done remembers the command's ID.
func (c *change) done(result uint64, kept bool) {
	if len(c.options.id) > 0 {
		owner := c.key.Owner()
		c.tx.MarkDone(owner, memory.DigestID(owner, c.options.id), c.payload, result, kept)
	}
}

// reply says how a write went.
func (c *change) reply(verdict string, version uint64, record func() (*memory.Record, int64), w *reply.Writer) {
	switch c.options.returns {
	case returnRecord:
		r, deadlineMs := record()
		writeMap(w, memory.AppendRecordFields(nil, c.key.Text, r, deadlineMs))
	case returnStatus:
		c.options.status(verdict, c.key.Text, version, w)
	default:
		w.Int(int64(version))
	}
}

// status says how it went with one key.
func (o *writeOptions) status(verdict string, key []byte, version uint64, w *reply.Writer) {
	status := memory.Status{Verdict: verdict, CommandID: o.writtenID(), Key: key, Version: version}
	if o.outcome != nil {
		*o.outcome = status
		return
	}
	writeMap(w, memory.AppendStatusFields(nil, &status))
}

// replyDuplicated replies as the command did that made this version.
func (c *change) replyDuplicated(version uint64, w *reply.Writer) error {
	r, deadlineMs := c.oldWhole(), c.stood.DeadlineMs
	if c.options.returns == returnRecord && !(c.exists && c.old.Version == version) {
		if !c.tx.HoldsAll() {
			c.tx.Commit()
		}
		view, _ := c.tx.OwnerView(c.key.Owner())
		made, ok, err := view.Version(c.key.Text, version)
		if err == engine.ErrRetention || err == nil && !ok {
			return ErrVersionGone
		}
		if err != nil {
			return err
		}
		r, deadlineMs = new(memory.Record), made.DeadlineMs
		mustDecode(made.Bytes, r)
	}
	c.reply(memory.StatusDuplicated, version, func() (*memory.Record, int64) { return r, deadlineMs }, w)
	return nil
}

// attributes are what a record has beside its value, as options of a write.
type attributes struct {
	kind          memory.Kind
	confidence    float64
	hasConfidence bool
	source        []byte
	tags          [][]byte
	hasTags       bool
	anchor        []byte
	hasAnchor     bool
	meta          []byte
	vector        []byte
	hasVector     bool
	pin           pinning
	schema        []byte
	validFrom     int64
	hasValidFrom  bool
	validUntil    int64
	hasValidUntil bool
	supersedes    []byte
}

// pinning is PIN or UNPIN.
type pinning uint8

const (
	pinKept pinning = iota
	pinOn
	pinOff
)

// attributeClauses are the options that set attributes, and those to come.
func attributeClauses[T any](field func(T) *attributes) []grammar.Node {
	var clauses []grammar.Node
	for _, n := range []grammar.Node{
		parsed("kind", "KIND", memory.ParseKind, func(a *attributes) *memory.Kind { return &a.kind }).Sample("profile"),
		parsed("confidence", "CONFIDENCE", memory.ParseConfidence, func(a *attributes) *float64 { return &a.confidence }).
			Present(grammar.BoolOf(func(a *attributes) *bool { return &a.hasConfidence })).Sample("0.5"),
		textNode("source", "SOURCE", memory.LimitName(), func(a *attributes) *[]byte { return &a.source }),
		grammar.Counted("numtags", "tag", func(a *attributes) *[][]byte { return &a.tags }).After("TAGS").
			Range(0, math.MaxInt32).Present(grammar.BoolOf(func(a *attributes) *bool { return &a.hasTags })),
		textNode("anchor", "ANCHOR", memory.LimitAnchor(), func(a *attributes) *[]byte { return &a.anchor }).
			Present(grammar.BoolOf(func(a *attributes) *bool { return &a.hasAnchor })),
		grammar.Value("meta", func(a *attributes, arg []byte) *grammar.Error {
			a.meta = arg
			return fromMemory(memory.CheckMeta(arg))
		}).After("META").Typed(grammar.TypeString).Sample("{}"),
		grammar.Enum("pinning", func(a *attributes) *pinning { return &a.pin }, "PIN", "UNPIN"),
		parsed("schema", "SCHEMA", parseSchemaName, func(a *attributes) *[]byte { return &a.schema }).Sample("note"),
		vectorNode(func(a *attributes) *[]byte { return &a.vector }).
			Present(grammar.BoolOf(func(a *attributes) *bool { return &a.hasVector })),
		timeNode("valid-from", "VALIDFROM", func(a *attributes) *int64 { return &a.validFrom }).
			Present(grammar.BoolOf(func(a *attributes) *bool { return &a.hasValidFrom })),
		timeNode("valid-until", "VALIDUNTIL", func(a *attributes) *int64 { return &a.validUntil }).
			Present(grammar.BoolOf(func(a *attributes) *bool { return &a.hasValidUntil })),
		grammar.Key("superseded", func(a *attributes) *[]byte { return &a.supersedes }, grammar.RW|grammar.Access|grammar.Update).
			After("SUPERSEDES").Searched(),
	} {
		clauses = append(clauses, grammar.Lift(field, n))
	}
	return clauses
}

// apply sets the attributes that were given.
func (a *attributes) apply(c *change, r *memory.Record) (err error) {
	if a.kind != memory.KindUnset {
		r.Kind = a.kind
	}
	if a.hasConfidence {
		r.Confidence = a.confidence
	}
	if len(a.source) > 0 {
		r.Source = a.source
	}
	if a.hasTags {
		if r.Tags, err = memory.CheckTags(a.tags); err != nil {
			return err
		}
	}
	if a.hasAnchor {
		r.Anchor = a.anchor
	}
	if len(a.meta) > 0 {
		r.Meta = a.meta
	}
	if a.hasVector {
		r.Vector = a.vector
	}
	if a.pin != pinKept {
		r.Pinned = a.pin == pinOn
	}
	if a.hasValidFrom {
		r.ValidFromMs = a.validFrom
	}
	if a.hasValidUntil {
		r.ValidUntilMs = a.validUntil
	}
	if r.ValidUntilMs != 0 && r.ValidFromMs >= r.ValidUntilMs {
		return ErrValidity
	}
	c.supersedes = a.supersedes
	return c.adoptSchema(r, a.schema)
}

// parts are the attributes for a digest.
func (a *attributes) parts() [][]byte {
	var numbers [12]byte
	binary.BigEndian.PutUint64(numbers[:], math.Float64bits(a.confidence))
	numbers[8], numbers[9], numbers[10], numbers[11] = byte(a.kind), flagByte(a.hasConfidence), flagByte(a.hasTags)|flagByte(a.hasAnchor)<<1|flagByte(a.hasVector)<<2, byte(a.pin)
	validity := []byte{flagByte(a.hasValidFrom) | flagByte(a.hasValidUntil)<<1}
	validity = binary.BigEndian.AppendUint64(validity, uint64(a.validFrom))
	validity = binary.BigEndian.AppendUint64(validity, uint64(a.validUntil))
	parts := [][]byte{numbers[:], validity, a.source, a.anchor, a.meta, a.schema, a.vector, a.supersedes}
	return append(parts, a.tags...)
}
