package engine

import (
	"encoding/binary"
	"strconv"
	"strings"

	"reminis/engine/effect"
	"reminis/engine/memory"
	"reminis/engine/schema"
)

// This file owns the rules that a server keeps, schemas and policies, and what
// owners consented to: how they are facets, and how those become what every
// write and read asks. It must not know what commands make of a rule.
//
// Rules are facets of the server; what they say together is compiled once per
// change, in apply, and read without a lock. So a write that runs beside the
// change of a rule may still go by the old one.

// The names of facets.
const (
	facetSchema  = "schema/" // name@version
	facetPolicy  = "policy/" // scope
	facetConsent = "consent" // of an owner
)

// Rules are the schemas, policies and grants of a server. They never change; nil Rules
// are none.
type Rules struct {
	schemas  *schema.Registry
	policies *memory.PolicySet
	grants   *memory.GrantSet
}

// Schemas are all schemas.
func (r *Rules) Schemas() *schema.Registry {
	if r == nil {
		return nil
	}
	return r.schemas
}

// Policies are all policies.
func (r *Rules) Policies() *memory.PolicySet {
	if r == nil {
		return nil
	}
	return r.policies
}

// Rules are those that hold now.
func (e *Engine) Rules() *Rules { return e.owners.rules.Load() }

// Rules are those that hold now.
func (tx *Tx) Rules() *Rules { return tx.e.Rules() }

// Policy is what the policies say of a key; nil: nothing.
func (tx *Tx) Policy(key []byte) *memory.Policy { return tx.Rules().Policies().Resolve(key) }

// Policy is what the policies said of a key when the view was made.
func (v *OwnerView) Policy(key []byte) *memory.Policy { return v.rules.Policies().Resolve(key) }

// SetSchema makes s a schema of the server.
func (tx *Tx) SetSchema(s *schema.Schema, event *memory.Event) {
	tx.SetFacet(nil, []byte(facetSchema+s.Label()), encodeSchema(s), event)
}

// RemoveSchema ends a version.
func (tx *Tx) RemoveSchema(s *schema.Schema, event *memory.Event) {
	tx.SetFacet(nil, []byte(facetSchema+s.Label()), nil, event)
}

// SetPolicy makes p the policy of its scope.
func (tx *Tx) SetPolicy(p *memory.ScopePolicy, event *memory.Event) {
	tx.SetFacet(nil, append([]byte(facetPolicy), p.Scope.Text()...), encodePolicy(p), event)
}

// RemovePolicy ends the policy of a scope.
func (tx *Tx) RemovePolicy(scope []byte, event *memory.Event) {
	tx.SetFacet(nil, append([]byte(facetPolicy), scope...), nil, event)
}

// Consent is what an owner consented to. It locks the owner.
func (tx *Tx) Consent(ownerName []byte) memory.Consent { return tx.owner(tx.DB, ownerName).consent }

// Consent is what the view's owner consented to.
func (v *OwnerView) Consent() memory.Consent { return v.consent }

// SetConsent changes what an owner consented to.
func (tx *Tx) SetConsent(ownerName []byte, c memory.Consent, event *memory.Event) {
	tx.SetFacet(ownerName, []byte(facetConsent), c.Encode(), event)
}

// ConsentRequired says whether a record may be written only with its owner's
// consent: as the policy says, else as mem-consent does.
func (tx *Tx) ConsentRequired(p *memory.Policy) bool {
	if required, ok := p.Consent(); ok {
		return required
	}
	return tx.e.Limits.ConsentRequired.Load()
}

// CheckQuota says whether the owner may have r as the record key; it is not
// checked whether r replaces something larger, which is always allowed. It
// locks the owner.
func (tx *Tx) CheckQuota(p *memory.Policy, key memory.Key, r *memory.Record) error {
	if !p.HasQuota() {
		return nil
	}
	owner := tx.owner(tx.DB, key.Owner())
	records, bytes := int64(owner.records.Len()), owner.tally.bytes
	tx.record.encoded = memory.Encode(tx.record.encoded[:0], r)
	size := int64(itemHead+len(key.Text)+len(tx.record.encoded)) + listBytes(key.Text, r)
	old, exists := owner.records.Get(tx.pivotOf(key.Text))
	oldSize := int64(0)
	if exists {
		oldSize = int64(len(old))
		if old.isList() {
			mustDecode(old.record(), &tx.record.record)
			oldSize += listBytes(key.Text, &tx.record.record)
		}
	}
	if exists && size <= oldSize {
		return nil
	}
	if exists {
		return p.CheckQuota(0, bytes+size-oldSize)
	}
	return p.CheckQuota(records+1, bytes+size)
}

// Redact gives the value of a record of an owner as it is to be stored. It
// locks the owner.
func (tx *Tx) Redact(p *memory.Policy, ownerName, value []byte) ([]byte, error) {
	if len(p.Redacted()) == 0 {
		return value, nil
	}
	owner := tx.owner(tx.DB, ownerName)
	tx.ensureKey(owner)
	return memory.Redact(value, p.Redacted(), &owner.key)
}

// audits says whether the policy of an event's key lets it be kept. Policies
// decide about what happens to records day by day; what somebody may have to
// answer for always is kept.
func (tx *Tx) audits(event *memory.Event) bool {
	return !event.Op.OfRecord() || tx.Policy(event.Key).Audit() != memory.AuditNone
}

// The apply side.

// ruleChanged follows a facet that apply has set or removed. What does not
// decode was not written by this program.
func (o *Owner) ruleChanged(owners *owners, x *effect.Effect) {
	name := string(x.Field)
	if o.space != serverSpace {
		if name == facetConsent {
			consent, err := memory.DecodeConsent(x.Value)
			mustRead(name, err)
			o.consent = consent
		}
		return
	}
	before := owners.rules.Load()
	after := &Rules{schemas: before.Schemas(), policies: before.Policies(), grants: before.Grants()}
	if label, ok := strings.CutPrefix(name, facetSchema); ok {
		after.schemas = withSchema(after.schemas, label, x.Value)
	} else if scope, ok := strings.CutPrefix(name, facetPolicy); ok {
		after.policies = withPolicy(after.policies, owners.options.Layout, []byte(scope), x.Value)
	} else if grant, ok := strings.CutPrefix(name, facetGrant); ok {
		after.grants = withGrant(after.grants, owners.options.Layout, grant, x.Value)
	} else {
		return
	}
	owners.rules.Store(after)
}

func withSchema(all *schema.Registry, label string, encoded []byte) *schema.Registry {
	name, version, _ := schema.SplitLabel([]byte(label))
	if len(encoded) == 0 {
		return all.Without(name, version)
	}
	s, err := decodeSchema(name, version, encoded)
	mustRead(label, err)
	return all.With(s)
}

func withPolicy(all *memory.PolicySet, layout memory.Layout, scope, encoded []byte) *memory.PolicySet {
	if len(encoded) == 0 {
		return all.Without(scope)
	}
	p, err := decodePolicy(layout, scope, encoded)
	mustRead(string(scope), err)
	return all.With(p)
}

func mustRead(what string, err error) {
	if err != nil {
		panic("engine: the rule " + strconv.Quote(what) + " does not decode: " + err.Error())
	}
}

// The forms on disk: a schema is its migration, with its length plus one (0:
// none), and its document; a policy is the words that set it, each with its
// length.

func encodeSchema(s *schema.Schema) []byte {
	if s.Migrate == nil {
		return append([]byte{0}, s.Document...)
	}
	encoded := binary.AppendUvarint(nil, uint64(len(s.Migrate))+1)
	return append(append(encoded, s.Migrate...), s.Document...)
}

func decodeSchema(name string, version int64, encoded []byte) (*schema.Schema, error) {
	size, n := binary.Uvarint(encoded)
	if n <= 0 || size > uint64(len(encoded)-n)+1 {
		return nil, &memory.CorruptError{What: "schema"}
	}
	if size == 0 {
		return schema.Compile(name, version, encoded[n:], nil)
	}
	migrate, document := encoded[n:n+int(size)-1], encoded[n+int(size)-1:]
	return schema.Compile(name, version, document, migrate)
}

func encodePolicy(p *memory.ScopePolicy) []byte {
	var encoded []byte
	for i := range p.Settings {
		for _, word := range p.Settings[i].AppendArgs(nil) {
			encoded = append(binary.AppendUvarint(encoded, uint64(len(word))), word...)
		}
	}
	return encoded
}

func decodePolicy(layout memory.Layout, scope, encoded []byte) (*memory.ScopePolicy, error) {
	var words [][]byte
	for len(encoded) > 0 {
		size, n := binary.Uvarint(encoded)
		if n <= 0 || size > uint64(len(encoded)-n) {
			return nil, &memory.CorruptError{What: "policy"}
		}
		words, encoded = append(words, encoded[n:n+int(size)]), encoded[n+int(size):]
	}
	settings, err := memory.ParseSettings(words)
	if err != nil {
		return nil, err
	}
	parsed, err := layout.ParseScope(scope)
	if err != nil {
		return nil, err
	}
	return &memory.ScopePolicy{Scope: parsed, Settings: settings}, nil
}
