package memory

// This file owns policies: the fields that one has, how they read, and how they
// are written down. Which of several policies decides is policy_set.go's.

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Setting is one field of one policy, read and valid.
type Setting struct {
	field  policyField
	kind   Kind      // of TTL, HISTORY, HALFLIFE
	path   string    // of REDACT, ENCRYPT, INDEX
	name   string    // of SCHEMA; empty: none
	number int64     // ms, count, bytes; 0: none
	ageMs  int64     // of HISTORY
	how    Redaction // of REDACT
	choice uint8     // of AUDIT, CONSENT
}

// policyField is what a setting is about. Numbers are on disk: append only.
type policyField uint8

const (
	policyTTL policyField = iota + 1
	policyHistory
	policyAudit
	policySchema
	policyHalfLife
	policyMaxRecords
	policyMaxBytes
	policyConsent
	policyRedact
	policyEncrypt
	policyIndex
)

// fieldForm is how a field is written.
type fieldForm struct {
	field  policyField
	name   string
	byKind bool // NAME.kind
	byPath bool // NAME path
	bare   bool // nothing follows
	read   func(s *Setting, text []byte) error
	write  func(s *Setting) string
}

func fieldForms() []fieldForm {
	return []fieldForm{
		{field: policyTTL, name: "TTL", byKind: true, read: readDuration, write: writeDuration},
		{field: policyHistory, name: "HISTORY", byKind: true, read: readHistory, write: writeHistory},
		{field: policyAudit, name: "AUDIT", read: readChoice(auditWords()), write: writeChoice(auditWords())},
		{field: policySchema, name: "SCHEMA", read: readSchemaName, write: func(s *Setting) string { return orNone(s.name) }},
		{field: policyHalfLife, name: "HALFLIFE", byKind: true, read: readDuration, write: writeDuration},
		{field: policyMaxRecords, name: "MAXRECORDS", read: readCount, write: writeCount},
		{field: policyMaxBytes, name: "MAXBYTES", read: readBytes, write: writeCount},
		{field: policyConsent, name: "CONSENT", read: readChoice(consentWords()), write: writeChoice(consentWords())},
		{field: policyRedact, name: "REDACT", byPath: true, read: readRedaction, write: func(s *Setting) string { return s.how.String() }},
		{field: policyEncrypt, name: "ENCRYPT", byPath: true, bare: true},
		{field: policyIndex, name: "INDEX", byPath: true, bare: true},
	}
}

// AuditLevel is what of a key's commands leaves events.
type AuditLevel uint8

const (
	AuditWrites AuditLevel = iota // the default
	AuditAll
	AuditNone
)

func auditWords() []string   { return []string{"WRITES", "ALL", "NONE"} }
func consentWords() []string { return []string{"OPTIONAL", "REQUIRED"} }

// none is the word that lifts what a shorter scope asks for.
const none = "NONE"

// ParseSettings reads `field value…` as MEM.POLICY SET takes it. A field that is
// repeated counts as it stands last.
func ParseSettings(args [][]byte) ([]Setting, error) {
	var all []Setting
	for len(args) > 0 {
		s, rest, err := parseSetting(args)
		if err != nil {
			return nil, err
		}
		all, args = withSetting(all, s), rest
	}
	if limit := LimitPolicySettings(); len(all) > limit.Default {
		return nil, errTooLarge("policy", len(all), limit)
	}
	return all, nil
}

// withSetting sets a setting among others.
func withSetting(all []Setting, s Setting) []Setting {
	if at := slices.IndexFunc(all, s.sameField); at >= 0 {
		all[at] = s
		return all
	}
	return append(all, s)
}

// sameField says whether two settings set the same thing.
func (s Setting) sameField(other Setting) bool {
	return s.field == other.field && s.kind == other.kind && s.path == other.path
}

func parseSetting(args [][]byte) (s Setting, rest [][]byte, err error) {
	name, suffix, dotted := bytes.Cut(args[0], []byte{'.'})
	rest = args[1:]
	for _, form := range fieldForms() {
		if !equalFold(name, form.name) || dotted != form.byKind {
			continue
		}
		s.field = form.field
		if form.byKind {
			if s.kind, err = ParseKind(suffix); err != nil {
				return s, nil, err
			}
		}
		if form.byPath {
			if len(rest) == 0 {
				return s, nil, errPolicyValue(args[0])
			}
			if _, err = ParsePath(rest[0]); err != nil {
				return s, nil, err
			}
			s.path, rest = string(rest[0]), rest[1:]
		}
		if form.bare {
			return s, rest, nil
		}
		if len(rest) == 0 {
			return s, nil, errPolicyValue(args[0])
		}
		return s, rest[1:], form.read(&s, rest[0])
	}
	return s, nil, errPolicyField(args[0])
}

func (s *Setting) form() fieldForm { return fieldForms()[s.field-1] }

// SchemaName is the schema that the setting names, empty when it names none.
func (s *Setting) SchemaName() string { return s.name }

// Field is the setting's name, as in TTL.profile or REDACT $.email.
func (s *Setting) Field() string {
	form := s.form()
	switch {
	case form.byKind:
		return form.name + "." + s.kind.String()
	case form.byPath:
		return form.name + " " + s.path
	}
	return form.name
}

// Value is the setting's value as text; that of a field which has only a path
// is YES.
func (s *Setting) Value() string {
	if form := s.form(); form.write != nil {
		return form.write(s)
	}
	return "YES"
}

// AppendArgs appends the setting as ParseSettings reads it.
func (s *Setting) AppendArgs(args [][]byte) [][]byte {
	form := s.form()
	switch {
	case form.byPath:
		args = append(args, []byte(form.name), []byte(s.path))
	default:
		args = append(args, []byte(s.Field()))
	}
	if form.bare {
		return args
	}
	return append(args, []byte(s.Value()))
}

// The readers of values.

// durationUnits are what may stand behind a number of time, longest first where
// one ends with another; without one it is seconds.
func durationUnits() []struct {
	suffix string
	ms     int64
} {
	return []struct {
		suffix string
		ms     int64
	}{{"ms", 1}, {"s", 1000}, {"m", 60 * 1000}, {"h", hourMs}, {"d", dayMs}, {"", 1000}}
}

// parseDuration reads seconds, or a number with one of ms s m h d; NONE is 0.
func parseDuration(text []byte) (ms int64, ok bool) {
	if equalFold(text, none) {
		return 0, true
	}
	lowered := bytes.ToLower(text)
	for _, unit := range durationUnits() {
		number, found := bytes.CutSuffix(lowered, []byte(unit.suffix))
		if !found {
			continue
		}
		return parseScaled(number, unit.ms)
	}
	return 0, false
}

// parseScaled reads a number that is not negative, times scale.
func parseScaled(number []byte, scale int64) (int64, bool) {
	if !isInteger(number) || number[0] == '-' {
		return 0, false
	}
	n, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil || n > settingMax/scale {
		return 0, false
	}
	return n * scale, true
}

// settingMax keeps sums of settings and times from overflowing.
const settingMax = math.MaxInt64 / 4

func durationText(ms int64) string {
	if ms == 0 {
		return none
	}
	if ms%1000 == 0 {
		return strconv.FormatInt(ms/1000, 10)
	}
	return strconv.FormatInt(ms, 10) + "ms"
}

func readDuration(s *Setting, text []byte) error {
	ms, ok := parseDuration(text)
	if s.number = ms; !ok {
		return errPolicyDuration(s.Field(), text)
	}
	return nil
}

func writeDuration(s *Setting) string { return durationText(s.number) }

// readHistory reads `versions` or `versions,age`.
func readHistory(s *Setting, text []byte) error {
	versions, age, aged := bytes.Cut(text, []byte{','})
	n, ok := parseScaled(versions, 1)
	if s.number = n; !ok || n > int64(LimitHistoryVersions().Default) {
		return errPolicyHistory(s.Field(), text)
	}
	if aged {
		if s.ageMs, ok = parseDuration(age); !ok {
			return errPolicyHistory(s.Field(), text)
		}
	}
	return nil
}

func writeHistory(s *Setting) string {
	if s.ageMs == 0 {
		return strconv.FormatInt(s.number, 10)
	}
	return strconv.FormatInt(s.number, 10) + "," + durationText(s.ageMs)
}

func readCount(s *Setting, text []byte) error {
	if equalFold(text, none) {
		return nil
	}
	n, ok := parseScaled(text, 1)
	if s.number = n; !ok || n == 0 {
		return errPolicyCount(s.Field(), text)
	}
	return nil
}

// readBytes reads a number of bytes; k, kb, m, mb, g and gb multiply it as in
// redis.conf.
func readBytes(s *Setting, text []byte) error {
	if equalFold(text, none) {
		return nil
	}
	lowered := bytes.ToLower(text)
	for _, unit := range []struct {
		suffix string
		scale  int64
	}{{"kb", 1 << 10}, {"mb", 1 << 20}, {"gb", 1 << 30}, {"k", 1e3}, {"m", 1e6}, {"g", 1e9}, {"b", 1}, {"", 1}} {
		number, found := bytes.CutSuffix(lowered, []byte(unit.suffix))
		if !found {
			continue
		}
		n, ok := parseScaled(number, unit.scale)
		if s.number = n; !ok || n == 0 {
			break
		}
		return nil
	}
	return errPolicyBytes(s.Field(), text)
}

func writeCount(s *Setting) string {
	if s.number == 0 {
		return none
	}
	return strconv.FormatInt(s.number, 10)
}

func readChoice(words []string) func(*Setting, []byte) error {
	return func(s *Setting, text []byte) error {
		for i, word := range words {
			if equalFold(text, word) {
				s.choice = uint8(i)
				return nil
			}
		}
		return errPolicyWord(s.Field(), text, strings.Join(words, ", "))
	}
}

func writeChoice(words []string) func(*Setting) string {
	return func(s *Setting) string { return words[s.choice] }
}

func readRedaction(s *Setting, text []byte) error {
	for how := RedactNone; how <= RedactDrop; how++ {
		if equalFold(text, how.String()) {
			s.how = how
			return nil
		}
	}
	return errPolicyWord("REDACT", text, "HASH, LAST4, DROP, NONE")
}

func readSchemaName(s *Setting, text []byte) error {
	if equalFold(text, none) {
		return nil
	}
	s.name = string(text)
	return CheckSchemaName(text)
}

func orNone(name string) string {
	if name == "" {
		return none
	}
	return name
}

// CheckSchemaName checks the name of a schema, which stands before a version in
// `name@version`.
func CheckSchemaName(name []byte) error {
	if len(name) == 0 {
		return errEmpty("schema name")
	}
	if bytes.IndexByte(name, '@') >= 0 {
		return userError("schema name '%s' has an @, which separates a name from its version", quoteForError(name))
	}
	if err := checkPrintable("schema name", name); err != nil {
		return err
	}
	return CheckText("schema name", name, LimitName())
}
