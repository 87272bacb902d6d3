package schema

// This file owns the schemas of a server: all versions by name. It knows nobody
// who uses them.

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Registry holds schemas by name and version. It never changes: With and
// Without give another one.
type Registry struct {
	byName map[string][]*Schema // versions ascending
	count  int
}

// Len is the number of versions of all schemas.
func (r *Registry) Len() int {
	if r == nil {
		return 0
	}
	return r.count
}

// With gives a registry that has s too, in place of the same version.
func (r *Registry) With(s *Schema) *Registry {
	next := r.Without(s.Name, s.Version)
	versions := append(slices.Clone(next.byName[s.Name]), s)
	slices.SortFunc(versions, func(a, b *Schema) int { return cmp.Compare(a.Version, b.Version) })
	next.byName[s.Name] = versions
	next.count++
	return next
}

// Without gives a registry that lacks a version.
func (r *Registry) Without(name string, version int64) *Registry {
	next := &Registry{byName: map[string][]*Schema{}}
	if r != nil {
		next.byName, next.count = maps.Clone(r.byName), r.count
	}
	versions := slices.DeleteFunc(slices.Clone(next.byName[name]), func(s *Schema) bool { return s.Version == version })
	next.count -= len(next.byName[name]) - len(versions)
	next.byName[name] = versions
	if len(versions) == 0 {
		delete(next.byName, name)
	}
	return next
}

// Versions are those of a name, ascending.
func (r *Registry) Versions(name string) []*Schema {
	if r == nil {
		return nil
	}
	return r.byName[name]
}

// Newest is the newest version of a name, nil when there is none.
func (r *Registry) Newest(name string) *Schema {
	versions := r.Versions(name)
	if len(versions) == 0 {
		return nil
	}
	return versions[len(versions)-1]
}

// Get is a version, nil when there is none.
func (r *Registry) Get(name string, version int64) *Schema {
	for _, s := range r.Versions(name) {
		if s.Version == version {
			return s
		}
	}
	return nil
}

// All are all versions, by name and version.
func (r *Registry) All() []*Schema {
	if r == nil {
		return nil
	}
	var all []*Schema
	for _, name := range slices.SortedFunc(maps.Keys(r.byName), strings.Compare) {
		all = append(all, r.byName[name]...)
	}
	return all
}

// Migrate brings a value whose record is labelled name@version to the newest
// version of that name. newest is nil when there is nothing to do: no such
// schema, no version behind it, or a label that is none.
func (r *Registry) Migrate(label, value []byte) (migrated []byte, newest *Schema, err error) {
	name, version, ok := SplitLabel(label)
	if !ok || r == nil {
		return value, nil, nil
	}
	for _, s := range r.byName[name] {
		if s.Version <= version {
			continue
		}
		if value, err = s.Migrated(value); err != nil {
			return nil, s, err
		}
		newest = s
	}
	return value, newest, nil
}
