// Package memory defines what a memory is: its key and owner, the scopes that
// read it, the record with its kinds, the audit event and the chain of events,
// patches and paths over JSON values, command ids, and the forms in which
// records and events are shown. All of it is pure: no clock, no lock, no store,
// no randomness. Everything has a limit (limits.go) and every fault of the
// caller a text (errors.go).
//
// # Keys, owners, scopes
//
// A key is a path of 3 to 16 segments; its owner is the first two (or as many
// as the store was created with), and in a store with owner tags stands in
// braces so that a cluster keeps it in one slot. The owner is a prefix of the
// key as it is written, so one length carries it through the engine. A scope is
// a namespace, whose borders are segment borders, or a glob.
//
// Refused in keys, because a key is shown on lines of text and repeated in
// scopes: control characters, invalid UTF-8, braces inside segments, and glob
// characters inside the owner (an owner must be nameable as a scope: the owner
// `ai:*`, once stored, would make every careless concatenation read everybody).
//
// # Binary forms
//
// Records and events are a version byte, a few fixed numbers, then numbered
// fields in ascending order. One value has one form. A newer program marks each
// field it adds as one that older programs may ignore (even; kept when a record
// is written back) or must not (odd; refused with a *NewerError). The rejected
// alternative, JSON or protobuf, either costs several times the bytes and
// allocations of a decode that recall does thousands of times in a query, or
// needs a generator for two messages.
//
// # Lists
//
// A list is a record whose array is kept item by item. Its head has the number
// of the list and says which items there are and how many bytes they take, so
// that limits are checked without reading them. Space around elements goes when
// an array becomes a list; elements stay byte for byte.
//
// # Conflicts, and records that take the place of others
//
// ONCONFLICT compares a change with what stands: NEWEST by event time (TIME, else
// now; of equal times the later to arrive wins), CONFIDENCE by the confidence that
// the change states (one that states none is as sure as what stands). The loser
// changes nothing, not even a deadline, and is replied to as unchanged. FAIL makes
// an error of what NEWEST would leave standing; that nothing at all happened
// meanwhile is what IFVERSION asks.
//
// SUPERSEDES makes a version of the older record whose validity ends where that of
// the newer one begins (VALIDFROM, else its event time), with an event of its own,
// in the same change. A validity that has ended already stays as it is. There are
// no cycles to find: a record does not say what it took the place of.
//
// # The chain
//
// A stored event begins with its own link: SHA-256 over the link before, the
// sequence of the batch before its own, the header, and the digest of the body. The rejected alternative,
// to store the link *before*, needs the following event to notice damage, so it
// cannot say which of two events is bad, and says nothing of the last. The body
// enters by its digest so that MEM.ERASE can destroy it and the chain still
// verifies; a salt derived from the owner's key keeps a short body from being
// guessed from its digest once that key is gone.
//
// # JSON
//
// A value is kept as it was written. Patches and paths open a tree lazily over
// the text and copy what they do not touch byte for byte, so numbers keep their
// digits and members their order at any size. Repeated member names in one
// object are allowed; the last counts, and whoever rewrites the object keeps
// the first place with the last value, as JavaScript does. Validation does not
// recurse; what recurses later is bounded by the depth that it let through.
//
// JSON Patch is our own code over that tree rather than evanphx/json-patch,
// which serves as the oracle in the tests. Measured against RFC 6902, the
// library accepts `-1` and `01` as indices, lets `test` of a missing member
// pass against null, finds 1 and 1.0 different, refuses values that are not
// objects or arrays at the root, and bounds neither the work of a patch nor
// (by default) what `copy` may grow a value to.
//
// JSONPath is parsed by theory/jsonpath, which also evaluates filters; the walk
// is ours because the library walks Go maps: results in random order, numbers
// without their digits. Its match() and search() are replaced (they anchor
// only one side of an alternation, panic on a missing argument, and compile the
// expression again for every node).
//
// GET with one PATH gives the array of what it selects; with several, an array
// of such arrays, one per path, so that no answer depends on guessing which
// path a node came from.
//
// # Policies
//
// A policy is a scope with settings. For a key each field is decided by the
// matching scope with the longest literal part; of equal ones by a namespace
// before a glob, then bytewise. A path of REDACT, ENCRYPT or INDEX is a field of
// its own, so those of all matching scopes add up; REDACT path NONE lifts what a
// shorter scope asks for. NONE as a value means no limit, no deadline, no decay,
// no schema. Times are seconds, or have a unit; a set of policies is immutable and
// remembers what its combinations mean, so that a write neither merges nor
// allocates. The rejected alternative, to compile the policies into a tree of
// segments, saves nothing where a server has a few policies, and cannot hold globs.
//
// INDEX says which paths of a value a record is found by: of its text, these alone
// unless it has an ANCHOR; and FILTER finds records by their values at these paths
// without looking at all others. A filter says what it needs (Need) in terms of such
// columns, always a little more than holds: keys of numbers are floats, of texts
// their first 48 bytes, and the filter itself decides.
//
// REDACT works before anything else sees the value: schema, index, history and
// journal know only what is left of it. HASH is `hmac:` and an HMAC-SHA-256 under
// the owner's key in hexadecimal; what has that form is taken for a hash, so that
// what was read and is written back stays. LAST4 hides a text of less than eight
// characters whole. An explicit ANCHOR is the writer's own text and is not
// redacted; nor is a value that is TEXT.
//
// ENCRYPT says nothing about disk, where all of an owner's payloads are sealed
// anyway: what it selects is not indexed, and stands as "[encrypted]" wherever a
// record is shown that was not asked for by its key (recall, prompts, timelines,
// diffs of an audit).
//
// # Shown to people and models
//
// Timelines and prompts are lines. Whatever comes from outside is escaped so
// that no stored text can end its line, begin another or imitate the header:
// control characters, Unicode's line separators and its direction marks.
package memory
