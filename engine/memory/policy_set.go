package memory

// This file owns which policy decides: the policies of a server together, and
// what they say of one key. It does not know what their settings do.

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
)

// ScopePolicy is the policy of one scope.
type ScopePolicy struct {
	Scope    Scope
	Settings []Setting
}

// before orders policies by precedence: the longer literal part first; of equal
// ones a namespace before a glob, which may match less of what it names; then
// bytewise, so that the order is total.
func (p *ScopePolicy) before(other *ScopePolicy) int {
	return cmp.Or(
		cmp.Compare(len(other.Scope.Literal()), len(p.Scope.Literal())),
		cmp.Compare(flag(p.Scope.IsGlob()), flag(other.Scope.IsGlob())),
		bytes.Compare(p.Scope.Text(), other.Scope.Text()))
}

func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}

// PolicySet is all policies of a server. It never changes: With and Without give
// another one. Nil is the set without policies.
type PolicySet struct {
	ordered []*ScopePolicy

	// resolved caches what the matching policies say together, by their places
	// in ordered.
	mu       sync.RWMutex
	resolved map[string]*Policy
}

// resolvedMax bounds the cache; globs could match in many combinations.
const resolvedMax = 4096

// Len is the number of policies.
func (s *PolicySet) Len() int {
	if s == nil {
		return 0
	}
	return len(s.ordered)
}

// All are the policies by precedence.
func (s *PolicySet) All() []*ScopePolicy {
	if s == nil {
		return nil
	}
	return s.ordered
}

// Find is the policy of exactly this scope, nil when there is none.
func (s *PolicySet) Find(scope []byte) *ScopePolicy {
	for _, p := range s.All() {
		if bytes.Equal(p.Scope.Text(), scope) {
			return p
		}
	}
	return nil
}

// With gives a set that has p in place of what its scope had.
func (s *PolicySet) With(p *ScopePolicy) *PolicySet {
	next := s.Without(p.Scope.Text())
	next.ordered = append(next.ordered, p)
	slices.SortFunc(next.ordered, (*ScopePolicy).before)
	return next
}

// Without gives a set that has no policy of this scope.
func (s *PolicySet) Without(scope []byte) *PolicySet {
	next := &PolicySet{resolved: map[string]*Policy{}}
	for _, p := range s.All() {
		if !bytes.Equal(p.Scope.Text(), scope) {
			next.ordered = append(next.ordered, p)
		}
	}
	return next
}

// Updated gives the policy p with settings set; p itself stays. p may be nil.
func (p *ScopePolicy) Updated(scope Scope, settings []Setting) (*ScopePolicy, error) {
	next := &ScopePolicy{Scope: scope}
	if p != nil {
		next.Settings = slices.Clone(p.Settings)
	}
	for _, s := range settings {
		next.Settings = withSetting(next.Settings, s)
	}
	slices.SortFunc(next.Settings, func(a, b Setting) int {
		return cmp.Or(cmp.Compare(a.field, b.field), cmp.Compare(a.kind, b.kind), cmp.Compare(a.path, b.path))
	})
	if limit := LimitPolicySettings(); len(next.Settings) > limit.Default {
		return nil, errTooLarge("policy", len(next.Settings), limit)
	}
	return next, nil
}

// Resolve says what the policies together mean for a key: field by field, the
// first in order that sets it. Without a match it is nil. No allocation for what
// was asked before.
func (s *PolicySet) Resolve(key []byte) *Policy {
	if s == nil {
		return nil
	}
	var room [64]byte
	matching := room[:0]
	for i, p := range s.ordered {
		if p.Scope.Contains(key) {
			matching = binary.LittleEndian.AppendUint16(matching, uint16(i))
		}
	}
	if len(matching) == 0 {
		return nil
	}
	s.mu.RLock()
	p := s.resolved[string(matching)]
	s.mu.RUnlock()
	if p != nil {
		return p
	}
	p = s.merge(matching)
	s.mu.Lock()
	if len(s.resolved) < resolvedMax {
		s.resolved[string(matching)] = p
	}
	s.mu.Unlock()
	return p
}

// merge makes one policy of those at these places.
func (s *PolicySet) merge(matching []byte) *Policy {
	p := &Policy{}
	for i := 0; i < len(matching); i += 2 {
		from := s.ordered[binary.LittleEndian.Uint16(matching[i:])]
		for _, setting := range from.Settings {
			if !slices.ContainsFunc(p.Decided, func(d Decision) bool { return d.sameField(setting) }) {
				p.Decided = append(p.Decided, Decision{Setting: setting, Scope: from.Scope.Text()})
			}
		}
	}
	slices.SortStableFunc(p.Decided, func(a, b Decision) int {
		return cmp.Or(cmp.Compare(a.field, b.field), cmp.Compare(a.kind, b.kind), cmp.Compare(a.path, b.path))
	})
	for i := range p.Decided {
		p.adopt(&p.Decided[i])
	}
	return p
}

// Decision is a setting that decides, with the scope whose policy has it.
type Decision struct {
	Setting
	Scope []byte
}

// Policy is what all policies together say of a key. Nil says nothing, so that
// every default stands. It never changes.
type Policy struct {
	Decided []Decision // by field

	ttl, history, halfLife [Semantic + 1]*Decision
	maxRecords, maxBytes   *Decision
	schema, consent        *Decision
	audit                  AuditLevel
	redacted               []ProtectedPath
	encrypted, indexed     []string
}

func (p *Policy) adopt(d *Decision) {
	switch d.field {
	case policyTTL:
		p.ttl[d.kind] = d
	case policyHistory:
		p.history[d.kind] = d
	case policyHalfLife:
		p.halfLife[d.kind] = d
	case policyMaxRecords:
		p.maxRecords = d
	case policyMaxBytes:
		p.maxBytes = d
	case policySchema:
		p.schema = d
	case policyConsent:
		p.consent = d
	case policyAudit:
		p.audit = AuditLevel(d.choice)
	case policyRedact:
		if d.how != RedactNone {
			p.redacted = append(p.redacted, ProtectedPath{Path: d.path, How: d.how})
		}
	case policyEncrypt:
		p.encrypted = append(p.encrypted, d.path)
	case policyIndex:
		p.indexed = append(p.indexed, d.path)
	}
}

// Rule is what a kind means under the policy.
func (p *Policy) Rule(k Kind) Rule {
	rule := k.Rule()
	if p == nil || k > Semantic {
		return rule
	}
	if d := p.ttl[k]; d != nil {
		rule.TTLMs = d.number
	}
	if d := p.history[k]; d != nil && k.Journaled() {
		rule.HistoryVersions, rule.HistoryAgeMs = int(d.number), d.ageMs
	}
	return rule
}

// Audit is what leaves events.
func (p *Policy) Audit() AuditLevel {
	if p == nil {
		return AuditWrites
	}
	return p.audit
}

// Schema is the schema that a record has unless its writer names one; empty:
// none.
func (p *Policy) Schema() string {
	if p == nil || p.schema == nil {
		return ""
	}
	return p.schema.name
}

// HalfLifeMs is the half-life of a kind's relevance; ok is false when no policy
// sets it, and 0 means that it does not decay.
func (p *Policy) HalfLifeMs(k Kind) (ms int64, ok bool) {
	if p == nil || k > Semantic || p.halfLife[k] == nil {
		return 0, false
	}
	return p.halfLife[k].number, true
}

// Consent says whether consent is required; ok is false when no policy says so.
func (p *Policy) Consent() (required, ok bool) {
	if p == nil || p.consent == nil {
		return false, false
	}
	return p.consent.choice == 1, true
}

// Redacted are the paths of a value that are redacted before it is stored.
func (p *Policy) Redacted() []ProtectedPath {
	if p == nil {
		return nil
	}
	return p.redacted
}

// Encrypted are the paths of a value that are neither indexed nor shown but to
// who reads the record itself.
func (p *Policy) Encrypted() []string {
	if p == nil {
		return nil
	}
	return p.encrypted
}

// Indexed are the paths of a value that it is found by; none: all of it.
func (p *Policy) Indexed() []string {
	if p == nil {
		return nil
	}
	return p.indexed
}

// ColumnsOf are the columns that any policy has indexed which may be for a key of
// the owner, by name. An owner's records have one index for all of them.
func (s *PolicySet) ColumnsOf(owner []byte) map[string]Column {
	columns := map[string]Column{}
	keys := append(bytes.Clone(owner), ':')
	for _, p := range s.All() {
		if literal := p.Scope.Literal(); !bytes.HasPrefix(keys, literal) && !bytes.HasPrefix(literal, owner) {
			continue
		}
		for _, setting := range p.Settings {
			if setting.field != policyIndex {
				continue
			}
			if c, ok := ParseColumn(setting.path); ok {
				columns[c.Name] = c
			}
		}
	}
	return columns
}

// HasQuota says whether the policy bounds what an owner has.
func (p *Policy) HasQuota() bool { return p != nil && (p.maxRecords != nil || p.maxBytes != nil) }

// CheckQuota says whether an owner may come to have so many records and bytes.
func (p *Policy) CheckQuota(records, bytes int64) error {
	if p == nil {
		return nil
	}
	if d := p.maxRecords; d != nil && d.number != 0 && records > d.number {
		return errQuota(records, "records", d)
	}
	if d := p.maxBytes; d != nil && d.number != 0 && bytes > d.number {
		return errQuota(bytes, "bytes", d)
	}
	return nil
}

// AppendAnchor appends the text that a record is found by under the policy: its
// own anchor if it has one, else what its value says, but for what is encrypted,
// and of the paths to be indexed if there are any. What cannot be told apart is
// not indexed at all.
func (p *Policy) AppendAnchor(dst []byte, r *Record) []byte {
	encrypted, indexed := p.Encrypted(), p.Indexed()
	if len(r.Anchor) > 0 || r.Text || len(encrypted) == 0 && len(indexed) == 0 {
		return r.AnchorText(dst)
	}
	value, err := Mask(r.Value, encrypted, nil)
	if err == nil && len(indexed) > 0 {
		var paths []*Path
		if paths, err = ParsePaths(indexed); err == nil {
			value, err = SelectPaths(value, paths)
		}
	}
	if err != nil {
		return dst
	}
	return appendStringLeaves(dst, value)
}

// Shown gives a value as it is shown to others than who reads the record itself.
func (p *Policy) Shown(value []byte, text bool) ([]byte, error) {
	if text || len(p.Encrypted()) == 0 {
		return value, nil
	}
	return Mask(value, p.encrypted, AppendQuoted(nil, []byte(MaskedText)))
}

// HideEncrypted leaves of a record's value what is shown. A value of which that
// cannot be told is hidden whole.
func (p *Policy) HideEncrypted(r *Record) {
	value, err := p.Shown(r.Value, r.Text)
	if err != nil {
		value = AppendQuoted(nil, []byte(MaskedText))
	}
	r.Value = value
}
