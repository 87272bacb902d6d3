package memory

// This file owns the words of every error that a caller of MEM.* can provoke
// through this package. It knows no command; whoever answers writes Code and
// Text on the wire as they stand.

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Error is an error of the user: what was sent cannot be done. Code is stable
// and upper-case; Text is for people.
type Error struct {
	Code string
	Text string
}

// Error gives the line that goes on the wire behind the `-`.
func (e *Error) Error() string { return e.Code + " " + e.Text }

func userError(format string, args ...any) error {
	return &Error{Code: "ERR", Text: fmt.Sprintf(format, args...)}
}

// Errors about the data itself, not about what was asked: they mean that bytes
// that this server wrote came back different, or that a newer server wrote
// them. They are never shown as the fault of the caller.

// CorruptError is returned when an encoded record or event cannot be decoded.
type CorruptError struct {
	What   string // "record" or "event"
	Offset int    // of the first byte that makes no sense
}

func (e *CorruptError) Error() string {
	return "memory: corrupt " + e.What + " at byte " + strconv.Itoa(e.Offset)
}

// NewerError is returned when a record or an event has a form that only a newer
// version of this program understands.
type NewerError struct {
	What  string // "record" or "event"
	Codec byte   // its codec version, or
	Field uint64 // the field that must be understood and is not
}

func (e *NewerError) Error() string {
	if e.Field != 0 {
		return fmt.Sprintf("memory: %s has field %d of a newer version of this program", e.What, e.Field)
	}
	return fmt.Sprintf("memory: %s has codec version %d, this program knows %d", e.What, e.Codec, codecVersion)
}

// ErrSealed is returned for a sealed payload that was changed, or that belongs
// to another owner, key or place.
var ErrSealed = errors.New("memory: a sealed payload does not open: it was changed, or is another owner's")

// The errors of values and patches.

func errNotJSON(what string, offset int) error {
	return userError("%s is not valid JSON at offset %d", what, offset)
}

func errNotUTF8(what string, offset int) error {
	return userError("%s is not valid UTF-8 at offset %d", what, offset)
}

func errTooDeep(what string, offset int, limit Limit) error {
	return userError("%s is nested too deep at offset %d, limit %s is %d", what, offset, limit.Name, limit.Default)
}

func errTooLarge(what string, size int, limit Limit) error {
	return userError("%s has %d %s, limit %s is %d", what, size, limit.Unit, limit.Name, limit.Default)
}

func errWork(what string, limit Limit) error {
	return userError("%s takes too much work on this value, limit %s is %d", what, limit.Name, limit.Default)
}

func errOperation(index int, format string, args ...any) error {
	return userError("patch operation %d: %s", index, fmt.Sprintf(format, args...))
}

func errNotArray(r *Record) error {
	what := "text"
	if !r.Text {
		what = kindOfJSON(r.Value)
	}
	return userError("the value is %s, items are appended to an array", what)
}

// kindOfJSON names what a valid JSON text is.
func kindOfJSON(text []byte) string {
	n := newNode(text)
	switch n.kind() {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// The errors of keys, owners and scopes.

func errSegmentCount(what string, count int, limit Limit) error {
	if count < minSegments {
		return userError("%s has %d segments, at least %d are needed, as in product:user:session:name", what, count, minSegments)
	}
	return errTooLarge(what, count, limit)
}

func errOwnerSegments(count, want int) error {
	return userError("owner has %d segments, mem-owner-segments is %d", count, want)
}

func errSession(name []byte) error {
	return userError("session '%s' is not one segment of a key", quoteForError(name))
}

func errEmptySegment(what string, index int) error {
	return userError("%s has an empty segment at position %d", what, index)
}

func errBrace(what string) error {
	return userError("%s has a brace inside a segment; percent-encode it as %%7B or %%7D", what)
}

func errGlobInOwner(what string) error {
	return userError("%s has one of * ? [ \\ inside its owner; percent-encode it", what)
}

func errControl(what string, offset int) error {
	return userError("%s has a control character at offset %d", what, offset)
}

func errOwnerTagged(what string) error {
	return userError("%s has its owner in braces, but this store was created with mem-owner-tag no", what)
}

func errOwnerUntagged(what string) error {
	return userError("%s needs its owner in braces, as in {product:user}:session:name: this store was created with mem-owner-tag yes", what)
}

func errEmptyScope() error { return userError("scope is empty; * reads everything") }

func errMemberPath(text []byte) error {
	return userError("field %s is not of the form $.name.name", quoteForError(text))
}

// The errors of option values.

func errTime(text []byte) error {
	return userError("time '%s' is neither integer Unix milliseconds nor RFC 3339", quoteForError(text))
}

func errTimeRange(text []byte) error {
	return userError("time '%s' is out of range, years 1 to 9999 are possible", quoteForError(text))
}

func errZone(text []byte) error {
	return userError("time zone '%s' is not known", quoteForError(text))
}

func errSeq(text []byte) error {
	return userError("sequence '%s' is not an unsigned integer", quoteForError(text))
}

func errConfidence(text []byte) error {
	return userError("confidence '%s' is not a number from 0 to 1", quoteForError(text))
}

func errKind(text []byte) error {
	return userError("kind '%s' is not one of working, session, profile, semantic", quoteForError(text))
}

func errOp(text []byte) error {
	return userError("operation '%s' is not known", quoteForError(text))
}

func errPatchMode(text []byte) error {
	return userError("patch mode '%s' is not one of MERGE, RFC7396, RFC6902", quoteForError(text))
}

// The errors of MEM.APPLY's commands.

func errCommands(text []byte) error {
	return userError("commands is %s, an array is needed", kindOfJSON(text))
}

func errCommand(text []byte) error {
	return userError("a command is %s, an object is needed", kindOfJSON(text))
}

func errCommandMember(name string) error {
	return userError("member %s is not one of action, key, payload, schema, kind, ifversion, command_id, operator, reason, timestamp", quoteForError([]byte(name)))
}

func errCommandType(member, want string) error { return userError("member %s is not %s", member, want) }

func errCommandMissing(member string) error { return userError("member %s is missing", member) }

func errCommandUnused(member, action string) error {
	return userError("member %s does not go with action %s", member, action)
}

func errAction(text []byte) error {
	return userError("action '%s' is not one of upsert, patch, append, delete", quoteForError(text))
}

// ErrAborted is returned when a command of several that all happen or none, the
// one with that index from 0, cannot happen: cause is why.
func ErrAborted(index int, cause error) error {
	return &Error{Code: "APPLYABORT", Text: fmt.Sprintf("%d %s", index, strings.TrimPrefix(cause.Error(), "ERR "))}
}

// The errors of schemas. They name a schema as name@version.

// ErrSchemaValue is returned when a value does not fit its schema; location is a
// JSON Pointer.
func ErrSchemaValue(schema, location, problem string) error {
	if location == "" {
		return userError("schema %s: %s", schema, problem)
	}
	return userError("schema %s: %s: %s", schema, quoteForError([]byte(location)), problem)
}

// ErrSchemaDocument is returned when a document is no JSON Schema, or none that
// this server takes.
func ErrSchemaDocument(schema, problem string) error {
	return userError("schema %s is not usable: %s", schema, Preview(nil, []byte(problem), 256))
}

// ErrSchemaRemoves is returned when a new version lacks a property of the one
// before.
func ErrSchemaRemoves(schema, property string) error {
	return userError("schema %s removes the property %s; mark it deprecated instead", schema, quoteForError([]byte(property)))
}

// ErrSchemaMigration is returned when a migration cannot be applied.
func ErrSchemaMigration(schema string, cause error) error {
	return userError("schema %s: its migration fails: %s", schema, strings.TrimPrefix(cause.Error(), "ERR "))
}

// ErrTooLarge is returned when something is beyond a limit.
func ErrTooLarge(what string, size int, limit Limit) error { return errTooLarge(what, size, limit) }

// ErrWork is returned when something would take too much work.
func ErrWork(what string, limit Limit) error { return errWork(what, limit) }

// The errors of policies.

func errPolicyField(text []byte) error {
	return userError("policy field '%s' is not one of TTL.kind, HISTORY.kind, AUDIT, SCHEMA, HALFLIFE.kind, MAXRECORDS, MAXBYTES, CONSENT, REDACT, ENCRYPT, INDEX", quoteForError(text))
}

func errPolicyValue(field []byte) error {
	return userError("policy field %s has no value", quoteForError(field))
}

func errPolicyDuration(field string, text []byte) error {
	return userError("%s '%s' is not NONE or a number of seconds, or one with ms, s, m, h or d", field, quoteForError(text))
}

func errPolicyHistory(field string, text []byte) error {
	limit := LimitHistoryVersions()
	return userError("%s '%s' is not a number of versions up to %d, or one with an age as in 100,30d; limit %s", field, quoteForError(text), limit.Default, limit.Name)
}

func errPolicyCount(field string, text []byte) error {
	return userError("%s '%s' is not NONE or a positive number", field, quoteForError(text))
}

func errPolicyBytes(field string, text []byte) error {
	return userError("%s '%s' is not NONE or a positive number of bytes, or one with k, kb, m, mb, g or gb", field, quoteForError(text))
}

func errPolicyWord(field string, text []byte, words string) error {
	return userError("%s '%s' is not one of %s", field, quoteForError(text), words)
}

// errQuota refuses a write that would take an owner beyond a policy's limit.
func errQuota(size int64, unit string, d *Decision) error {
	return &Error{Code: "QUOTA", Text: fmt.Sprintf("the owner would have %d %s, %s of the policy of %s is %d",
		size, unit, d.Field(), quoteForError(d.Scope), d.number)}
}

func errEmpty(what string) error { return userError("%s is empty", what) }

func errPath(text []byte, problem string) error {
	return userError("path '%s' is not a JSONPath: %s", quoteForError(text), problem)
}

func errFilter(text []byte, at int, problem string) error {
	return userError("filter '%s' is not an expression: %s at position %d", quoteForError(text), problem, at+1)
}

// ErrPast is returned when a past state has more records than are built again.
func ErrPast(max int) error {
	return userError("the owner had more than %d records, limit mem-past-records", max)
}

// ErrVectorLength is returned for a blob that is no sequence of floats.
func ErrVectorLength(bytes int) error {
	return userError("vector has %d bytes, a multiple of 4 is needed: float32, little-endian", bytes)
}

// ErrVectorSize is returned for a vector of more dimensions than allowed.
func ErrVectorSize(dimensions, max int) error {
	return userError("vector has %d dimensions, limit mem-vector-dimensions is %d", dimensions, max)
}

// ErrVectorNumber is returned for a vector with a NaN or an infinity.
func ErrVectorNumber() error { return userError("vector has a number that is not finite") }

// CheckDimensions says whether a vector goes with those that an owner has, of
// another number of dimensions than 0.
func CheckDimensions(dimensions, owned int) error {
	if owned == 0 || dimensions == owned {
		return nil
	}
	return userError("vector has %d dimensions, those of this owner have %d", dimensions, owned)
}

// ErrLinks is returned when a record would have more links than max.
func ErrLinks(max int) error {
	return userError("record has %d links, limit mem-links is %d", max, max)
}

// errErased has a code of its own: whoever repeats the command must not believe
// that it was carried out.
func errErased(id []byte) error {
	return &Error{Code: "ERASED", Text: fmt.Sprintf("what command id '%s' changed was erased", quoteForError(id))}
}

// quoteForError makes caller's bytes fit for one line of an error.
func quoteForError(text []byte) string { return string(Preview(nil, text, 64)) }
