package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"reminis/engine/memory"
)

// This file owns the rules that are kept beside records in the tests of the whole
// system: schemas, policies, consent and grants; random lines that change them,
// and a plain model of what they are. What rules do to records it must not know.

// unrulyOwner is the owner whose consent and history change: what was written of
// others is there for ever.
const unrulyOwner = "app:u3"

// ruleMark begins every line of a text of rules.
const ruleMark = "rule "

// modelRules are rules by name; values are as commands show them.
type modelRules struct {
	schemas  map[string]map[int]bool      // versions by name; their documents follow from them
	policies map[string]map[string]string // fields by scope
	grants   map[string]string            // members and end, by user and scope
	consent  map[string]map[string]string // states of kinds, by space and owner
}

func newModelRules() modelRules {
	return modelRules{map[string]map[int]bool{}, map[string]map[string]string{}, map[string]string{}, map[string]map[string]string{}}
}

func (r modelRules) clone() modelRules {
	return modelRules{cloneAll(r.schemas), cloneAll(r.policies), maps.Clone(r.grants), cloneAll(r.consent)}
}

func cloneAll[K comparable, V any](all map[string]map[K]V) map[string]map[K]V {
	copied := maps.Clone(all)
	for name, one := range copied {
		copied[name] = maps.Clone(one)
	}
	return copied
}

// ruleSchemas are the names of schemas, ruleUsers those who are granted something.
func ruleSchemas() []string { return []string{"note", "fact"} }
func ruleUsers() []string   { return []string{"bob", "eve"} }

// schemaDocument is a version of any schema. A version gives a record another
// member than the one before, with a default; its migration does so too.
func schemaDocument(version int) (document, migrate string) {
	var members []string
	for v := 1; v <= version; v++ {
		members = append(members, fmt.Sprintf(`"tone%d":{"type":"string","default":"calm"}`, v))
	}
	return fmt.Sprintf(`{"type":"object","properties":{"line":{"type":"integer"},%s}}`, strings.Join(members, ",")),
		fmt.Sprintf(`{"tone%d":"migrated"}`, version)
}

// isRule says whether a line is one of those that rule makes, about rules alone.
func isRule(words []string) bool {
	return words[0] == "MEM.SCHEMA" || words[0] == "MEM.POLICY" || words[0] == "MEM.CONSENT" || words[0] == "MEM.GRANT" || words[0] == "MEM.REVOKE"
}

// rule is a line that changes rules.
func (g *generator) rule() []string {
	number := func(below int) string { return fmt.Sprint(1 + g.r.IntN(below)) }
	switch g.r.IntN(8) {
	case 0, 1:
		name, version := pick(g.r, ruleSchemas()...), 1+g.r.IntN(5)
		switch g.r.IntN(6) {
		case 0:
			return []string{"MEM.SCHEMA", "DEL", name, fmt.Sprint(version)}
		case 1:
			return []string{"MEM.SCHEMA", "MIGRATE", name}
		}
		document, migrate := schemaDocument(version)
		return []string{"MEM.SCHEMA", "SET", name, fmt.Sprint(version), document, "MIGRATE", migrate}
	case 2, 3:
		if g.r.IntN(3) == 0 {
			return []string{"MEM.POLICY", "DEL", pick(g.r, unrulyOwner, unrulyOwner+":*", unrulyOwner+":s1", "app")}
		}
		kind := pick(g.r, kindProfile, kindSession, kindSemantic)
		if g.r.IntN(3) == 0 {
			return []string{"MEM.POLICY", "SET", "app", "TTL." + kind, number(3), "HALFLIFE." + kind, number(9)}
		}
		line := []string{"MEM.POLICY", "SET", pick(g.r, unrulyOwner, unrulyOwner+":*", unrulyOwner+":s1"), "HISTORY." + kind, number(4)}
		return append(line, pick(g.r, []string{"MAXRECORDS", number(12)}, []string{"CONSENT", pick(g.r, "REQUIRED", "OPTIONAL")}, nil)...)
	case 4, 5:
		line := []string{"MEM.CONSENT", pick(g.r, "GRANT", "GRANT", "REVOKE"), unrulyOwner}
		return append(line, pick(g.r, nil, []string{"KINDS", "1", pick(g.r, kindProfile, kindSession, kindSemantic)})...)
	}
	scope, user := pick(g.r, "app", "app:u1", "app:u1:s1", "app:u2:*"), pick(g.r, ruleUsers()...)
	if g.r.IntN(3) == 0 {
		return []string{"MEM.REVOKE", scope, "FROM", user}
	}
	line := []string{"MEM.GRANT", scope, "TO", user}
	if g.r.IntN(2) == 0 {
		line = append(line, "FIELDS", "1", "$.f"+number(3))
	}
	if g.r.IntN(3) == 0 {
		line = append(line, "UNTIL", fmt.Sprint(testStartMs+1_000_000_000+g.r.IntN(2)))
	}
	return line
}

// schema knows SET and DEL, and leaves MIGRATE to records.
func (m *model) schema(args []string) string {
	name := args[1]
	if args[0] == "MIGRATE" {
		return ""
	}
	version, _ := strconv.Atoi(args[2])
	label := fmt.Sprintf("%s@%d", name, version)
	versions := slices.Sorted(maps.Keys(m.rules.schemas[name]))
	if args[0] == "DEL" {
		at := slices.Index(versions, version)
		switch {
		case at < 0:
			return number(0)
		case at > 0 && at < len(versions)-1:
			return "-ERR schema " + label + " is between others, values pass through it; only the oldest and the newest version can go\r\n"
		}
		delete(m.rules.schemas[name], version)
		return number(1)
	}
	if slices.Contains(versions, version) {
		return modelOK
	}
	if len(versions) > 0 && version < versions[len(versions)-1] {
		return fmt.Sprintf("-ERR schema %s is older than %s@%d; versions ascend\r\n", label, name, versions[len(versions)-1])
	}
	if m.rules.schemas[name] == nil {
		m.rules.schemas[name] = map[int]bool{}
	}
	m.rules.schemas[name][version] = true
	return modelOK
}

func (m *model) policy(args []string) string {
	fields := m.rules.policies[args[1]]
	if args[0] == "DEL" {
		delete(m.rules.policies, args[1])
		return truth(fields != nil)
	}
	if fields == nil {
		fields = map[string]string{}
	}
	m.rules.policies[args[1]] = fields
	for i := 2; i < len(args); i += 2 {
		fields[args[i]] = args[i+1]
	}
	return modelOK
}

func (m *model) consent(args []string) string {
	kinds := []string{kindProfile, kindSemantic}
	if len(args) > 2 {
		kinds = args[4:]
	}
	state := map[string]string{"GRANT": "granted", "REVOKE": "revoked"}[args[0]]
	who := fmt.Sprint(m.spaces[m.db], " ", args[1])
	if m.rules.consent[who] == nil {
		m.rules.consent[who] = map[string]string{}
	}
	changed := int64(0)
	for _, kind := range kinds {
		if m.rules.consent[who][kind] != state {
			m.rules.consent[who][kind] = state
			changed++
		}
	}
	return number(changed)
}

func (m *model) grant(args []string) string {
	name, members, untilMs := args[2]+" "+args[0], "", "0"
	for i := 3; i < len(args); i++ {
		switch args[i] {
		case "FIELDS":
			members = args[i+2]
		case "UNTIL":
			untilMs = args[i+1]
		}
	}
	what := members + " until " + untilMs
	changed := m.rules.grants[name] != what
	m.rules.grants[name] = what
	return truth(changed)
}

func (m *model) revoke(args []string) string {
	name := args[2] + " " + args[0]
	_, there := m.rules.grants[name]
	delete(m.rules.grants, name)
	return truth(there)
}

// rulesText prints all rules, and the libraries of functions, which are kept as they
// are.
func (m *model) rulesText() string {
	var lines []string
	for name, versions := range m.rules.schemas {
		for version := range versions {
			document, migrate := schemaDocument(version)
			lines = append(lines, fmt.Sprintf("schema %s@%d %s %s", name, version, document, migrate))
		}
	}
	for scope, fields := range m.rules.policies {
		for field, value := range fields {
			lines = append(lines, fmt.Sprintf("policy %s %s %s", scope, field, value))
		}
	}
	for name, what := range m.rules.grants {
		lines = append(lines, fmt.Sprintf("grant %s %s", name, what))
	}
	for db, space := range m.spaces {
		for _, owner := range recordOwners() {
			for kind, state := range m.rules.consent[fmt.Sprint(space, " ", owner)] {
				lines = append(lines, fmt.Sprintf("consent %d %s %s %s", db, owner, kind, state))
			}
		}
	}
	return rulesLines(append(lines, m.libraryLines()...))
}

// rulesText prints all rules, as the model does.
func (w *world) rulesText() string {
	var lines []string
	rules := w.engine.Rules()
	for _, s := range rules.Schemas().All() {
		lines = append(lines, fmt.Sprintf("schema %s %s %s", s.Label(), s.Document, s.Migrate))
	}
	for _, policy := range rules.Policies().All() {
		for i := range policy.Settings {
			lines = append(lines, fmt.Sprintf("policy %s %s %s", policy.Scope.Text(), policy.Settings[i].Field(), policy.Settings[i].Value()))
		}
	}
	for _, user := range ruleUsers() {
		for _, g := range rules.Grants().Of(user) {
			members := ""
			for _, path := range g.Members {
				members += path.String()
			}
			lines = append(lines, fmt.Sprintf("grant %s %s %s until %d", user, g.Scope.Text(), members, g.UntilMs))
		}
	}
	for db := range worldDatabases {
		tx := w.engine.Begin()
		tx.DB = db
		for _, owner := range recordOwners() {
			view, ok := tx.OwnerView([]byte(owner))
			if !ok {
				continue
			}
			for kind := memory.Working; kind <= memory.Semantic; kind++ {
				if state := view.Consent().Of(kind); state != memory.ConsentUnset {
					lines = append(lines, fmt.Sprintf("consent %d %s %s %s", db, owner, kind, state))
				}
			}
		}
		tx.Done()
	}
	return rulesLines(append(lines, w.libraryLines()...))
}

func rulesLines(lines []string) string {
	slices.Sort(lines)
	out := ""
	for _, line := range lines {
		out += ruleMark + line + "\n"
	}
	return out
}
