package schema

// This file owns what lies between two versions: what the newer one removes,
// and how a value comes from one to the other.

import (
	"cmp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"reminis/engine/memory"
)

// Removed lists the properties that old declares and the newer schema does not,
// as JSON Pointers, outer ones first; in them `*` stands for any element or any
// other property. What the newer one declares as false it removes.
func Removed(old, newer *Schema) []string {
	c := comparison{seen: map[string]bool{}}
	c.compare(closure([]*jsonschema.Schema{old.root}), closure([]*jsonschema.Schema{newer.root}), "")
	slices.SortFunc(c.removed, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), strings.Compare(a, b))
	})
	return slices.Compact(c.removed)
}

// comparison walks two schemas side by side. A pair of sets of subschemas that
// was compared is not compared again, so that references end.
type comparison struct {
	seen    map[string]bool
	removed []string
}

// closure is all that may be tried on the same part, in a fixed order.
func closure(list []*jsonschema.Schema) []*jsonschema.Schema {
	var all []*jsonschema.Schema
	var add func(s *jsonschema.Schema)
	add = func(s *jsonschema.Schema) {
		if s == nil || slices.Contains(all, s) {
			return
		}
		all = append(all, s)
		eachInPlace(s, add)
	}
	for _, s := range list {
		add(s)
	}
	slices.SortFunc(all, func(a, b *jsonschema.Schema) int { return strings.Compare(a.Location, b.Location) })
	return all
}

func (c *comparison) compare(old, newer []*jsonschema.Schema, at string) {
	id := identity(old) + "\x00" + identity(newer)
	if len(old) == 0 || c.seen[id] {
		return
	}
	c.seen[id] = true
	before, after := declared(old), declared(newer)
	for _, name := range sortedNames(before) {
		place := at + "/" + escapePointer(name)
		if !allows(before[name]) {
			continue
		}
		if !allows(after[name]) {
			c.removed = append(c.removed, place)
			continue
		}
		c.compare(closure(before[name]), closure(after[name]), place)
	}
	c.compare(closure(unnamed(old)), closure(unnamed(newer)), at+"/*")
}

// identity names a set of subschemas.
func identity(list []*jsonschema.Schema) string {
	var out strings.Builder
	for _, s := range list {
		out.WriteString(s.Location)
		out.WriteByte('\n')
	}
	return out.String()
}

// declared are the properties that a set of subschemas declares.
func declared(list []*jsonschema.Schema) map[string][]*jsonschema.Schema {
	all := map[string][]*jsonschema.Schema{}
	for _, s := range list {
		for name, sub := range s.Properties {
			all[name] = append(all[name], sub)
		}
	}
	return all
}

// allows says whether any of the subschemas lets a value be.
func allows(list []*jsonschema.Schema) bool {
	return slices.ContainsFunc(list, func(s *jsonschema.Schema) bool { return s.Bool == nil || *s.Bool })
}

// unnamed are the subschemas of elements, and of properties without a name.
func unnamed(list []*jsonschema.Schema) (all []*jsonschema.Schema) {
	for _, s := range list {
		all = append(append(all, s.PrefixItems...), s.Items2020)
		switch items := s.Items.(type) { // drafts before 2020-12
		case *jsonschema.Schema:
			all = append(all, items)
		case []*jsonschema.Schema:
			all = append(all, items...)
		}
		for _, sub := range s.PatternProperties {
			all = append(all, sub)
		}
		for _, rest := range []any{s.AdditionalProperties, s.AdditionalItems} {
			if sub, ok := rest.(*jsonschema.Schema); ok {
				all = append(all, sub)
			}
		}
	}
	return all
}

// Migrated gives a value of the version before as one of this version. It is
// not checked.
func (s *Schema) Migrated(value []byte) ([]byte, error) {
	if s.Migrate == nil {
		return value, nil
	}
	mode := memory.PatchMerge
	if strings.TrimLeft(string(s.Migrate), " \t\r\n")[0] == '[' {
		mode = memory.PatchRFC6902
	}
	migrated, _, err := memory.Patch(mode, value, s.Migrate)
	if err != nil {
		return nil, memory.ErrSchemaMigration(s.Label(), err)
	}
	return migrated, nil
}
