package memory

// This file owns every limit of this package: name, value, why. No other file
// compares a size with a literal number.

// Limit is one bound on what a caller may send. Its name appears in the error
// that refuses what is beyond it.
type Limit struct {
	Name    string
	Default int
	Unit    string // what is counted, plural
	Reason  string
}

const (
	// minSegments is the shortest key: product, user and a name.
	minSegments = 3

	// PreviewMax is how many characters of a value the timeline shows.
	PreviewMax = 50
)

// The limits are functions rather than variables so that nobody can change one
// while the server runs; each returns a constant.

func limitSegments() Limit {
	return Limit{"mem-key-segments", 16, "segments", "a key is a path for people, and every segment costs in each scope check"}
}

func limitKey() Limit {
	return Limit{"mem-key-bytes", 1024, "bytes", "keys are held in memory twice, in the table and in the owner's tree"}
}

func limitScope() Limit {
	return Limit{"mem-scope-bytes", 1024, "bytes", "a scope longer than any key matches nothing"}
}

// LimitValue bounds one record's value, and the result of a patch.
func LimitValue() Limit {
	return Limit{"mem-value-bytes", 8 << 20, "bytes", "one record fits one journal batch and one reply without stalling others"}
}

// LimitListItems bounds the items of one list.
func LimitListItems() Limit {
	return Limit{"mem-list-items", 65536, "items", "each is found by itself in recall, and a read joins them all"}
}

func limitValueDepth() Limit {
	return Limit{"mem-value-depth", 512, "levels", "every later reader of the value may recurse; 512 levels cost it a few hundred kilobytes of stack"}
}

func limitPatchDepth() Limit {
	return Limit{"mem-patch-depth", 128, "levels", "merging recurses along the patch"}
}

func limitPatchOperations() Limit {
	return Limit{"mem-patch-operations", 10000, "operations", "each operation may walk the whole value"}
}

func limitPatchWork() Limit {
	return Limit{"mem-patch-work", 256 << 20, "bytes", "bytes walked, moved and compared by one patch: about half a second"}
}

func limitPath() Limit {
	return Limit{"mem-path-bytes", 4096, "bytes", "the parser of paths recurses along nested parentheses"}
}

func limitPaths() Limit {
	return Limit{"mem-paths", 64, "paths", "every path walks the value again"}
}

func limitPathWork() Limit {
	return Limit{"mem-path-work", 10_000_000, "steps", "nodes visited by one read: about a second"}
}

func limitPathResult() Limit {
	return Limit{"mem-path-result-bytes", 64 << 20, "bytes", "a path may select the same node many times"}
}

func limitFilter() Limit {
	return Limit{"mem-filter-bytes", 4096, "bytes", "each part of a filter may walk every value in the scope"}
}

func limitFilterDepth() Limit {
	return Limit{"mem-filter-depth", 32, "levels", "the parser of filters recurses along parentheses and functions"}
}

func limitFilterWork() Limit {
	return Limit{"mem-filter-work", 1 << 30, "bytes", "bytes of values walked by the filter of one recall: about two seconds"}
}

func limitFilterSteps() Limit {
	return Limit{"mem-filter-steps", 50_000_000, "steps", "nodes visited by the queries and expressions in the filter of one recall: a few seconds"}
}

// LimitTags bounds how many tags a record has.
func LimitTags() Limit {
	return Limit{"mem-tags", 64, "tags", "tags are compared one by one in every recall"}
}

func limitTag() Limit {
	return Limit{"mem-tag-bytes", 256, "bytes", "a tag is a label, not a text"}
}

// LimitName bounds what names something: schema, source, operator, trace id,
// command id.
func LimitName() Limit {
	return Limit{"mem-name-bytes", 256, "bytes", "names are kept in every version and every event"}
}

// LimitNote bounds what a person writes beside a change: reason, caller.
func LimitNote() Limit {
	return Limit{"mem-note-bytes", 4096, "bytes", "notes are kept in every event and shown on one line"}
}

// LimitAnchor bounds an explicit anchor.
func LimitAnchor() Limit {
	return Limit{"mem-anchor-bytes", 64 << 10, "bytes", "the anchor is indexed word by word and scanned while it is not"}
}

// LimitMeta bounds the META document.
func LimitMeta() Limit {
	return Limit{"mem-meta-bytes", 64 << 10, "bytes", "meta is copied into every version"}
}

// LimitApplyCommands bounds the commands of one MEM.APPLY.
func LimitApplyCommands() Limit {
	return Limit{"mem-apply-commands", 1000, "commands", "they lock what they change until all are done"}
}

// LimitApplyBytes bounds what the commands of one MEM.APPLY write.
func LimitApplyBytes() Limit {
	return Limit{"mem-apply-bytes", 64 << 20, "bytes", "all of it is held beside what stands until the last command is checked"}
}

// LimitPolicies bounds the policies of a server.
func LimitPolicies() Limit {
	return Limit{"mem-policies", 1000, "policies", "every write looks for the policies of its key one by one"}
}

// LimitGrants bounds the grants of a server.
func LimitGrants() Limit {
	return Limit{"mem-grants", 10_000, "grants", "they are kept in memory, and copied when one changes"}
}

// LimitGrantMembers bounds the members of one grant.
func LimitGrantMembers() Limit {
	return Limit{"mem-grant-members", 64, "members", "every member is looked for in every value that is read by the grant"}
}

// LimitPolicySettings bounds the settings of one policy.
func LimitPolicySettings() Limit {
	return Limit{"mem-policy-settings", 64, "settings", "every path of a policy walks every value that is written"}
}

// LimitHistoryVersions bounds what HISTORY may ask for.
func LimitHistoryVersions() Limit {
	return Limit{"mem-history-versions", 1_000_000, "versions", "a version is looked for among all of its record"}
}

// LimitSchema bounds a schema document.
func LimitSchema() Limit {
	return Limit{"mem-schema-bytes", 256 << 10, "bytes", "a schema is compiled at every start and held in memory, compiled"}
}

// LimitSchemaDepth bounds how deep a schema document is nested.
func LimitSchemaDepth() Limit {
	return Limit{"mem-schema-depth", 128, "levels", "the compiler recurses along the document"}
}

// LimitSchemas bounds the versions of all schemas together.
func LimitSchemas() Limit {
	return Limit{"mem-schemas", 1000, "schemas", "all of them are compiled at every start, at about a millisecond each"}
}

// LimitSchemaWork bounds one check of a value.
func LimitSchemaWork() Limit {
	return Limit{"mem-schema-work", 2_000_000, "steps", "subschemas tried on the parts of one value: about a second"}
}

// LimitSchemaNumber bounds the digits, and the exponent, of a number that a
// schema checks.
func LimitSchemaNumber() Limit {
	return Limit{"mem-schema-number", 1000, "digits", "numbers are compared exactly, as fractions"}
}

// Limits lists every limit, for documentation and for tests.
func Limits() []Limit {
	return []Limit{
		limitSegments(), limitKey(), limitScope(), LimitValue(), LimitListItems(), limitValueDepth(),
		limitPatchDepth(), limitPatchOperations(), limitPatchWork(),
		limitPath(), limitPaths(), limitPathWork(), limitPathResult(),
		limitFilter(), limitFilterDepth(), limitFilterWork(), limitFilterSteps(),
		LimitTags(), limitTag(), LimitName(), LimitNote(), LimitAnchor(), LimitMeta(),
		LimitApplyCommands(), LimitApplyBytes(),
		LimitPolicies(), LimitPolicySettings(), LimitGrants(), LimitGrantMembers(), LimitHistoryVersions(),
		LimitSchema(), LimitSchemaDepth(), LimitSchemas(), LimitSchemaWork(), LimitSchemaNumber(),
	}
}
