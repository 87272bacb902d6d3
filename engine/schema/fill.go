package schema

// This file owns defaults.

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"reminis/engine/memory"
)

// Fill gives a valid JSON value with the defaults of what it lacks, in the order
// of their names; the value itself when it lacks nothing. The result is not yet
// checked.
func (s *Schema) Fill(value []byte) ([]byte, error) {
	if err := checkNumbers("value", value); err != nil {
		return nil, err
	}
	v, err := plain(value)
	if err != nil {
		return nil, memory.ErrSchemaValue(s.Label(), "", "it is not JSON")
	}
	f := filling{left: memory.LimitSchemaWork().Default}
	f.here(s.root, v, 0)
	if f.left < 0 {
		return nil, memory.ErrWork("schema "+s.Label(), memory.LimitSchemaWork())
	}
	if len(f.additions) == 0 {
		return value, nil
	}
	if value, err = memory.AddMembers(value, f.additions); err != nil {
		return nil, err
	}
	return value, memory.CheckValue(value, false)
}

// inPlaceMax bounds how many subschemas may be inside one another at one part
// of a value: beyond it they refer to themselves.
const inPlaceMax = 200

// filling is the walk of one value and its schema.
type filling struct {
	path      []string
	additions []memory.Addition
	left      int
}

// here fills what one subschema has for one part. It recurses along the value
// and, inPlace deep, along references.
func (f *filling) here(s *jsonschema.Schema, v any, inPlace int) {
	if s == nil || inPlace > inPlaceMax || f.left < 0 {
		return
	}
	f.left--
	switch v := v.(type) {
	case map[string]any:
		f.object(s, v)
	case []any:
		for i := range v {
			f.inside(itemSchema(s, i), strconv.Itoa(i), v[i])
		}
	}
	eachAlways(s, func(sub *jsonschema.Schema) { f.here(sub, v, inPlace+1) })
}

func (f *filling) object(s *jsonschema.Schema, object map[string]any) {
	for _, name := range sortedNames(s.Properties) {
		sub := s.Properties[name]
		if _, ok := object[name]; !ok {
			if text, v, ok := defaultOf(sub); ok {
				object[name] = v
				f.additions = append(f.additions, memory.Addition{Path: slices.Clone(f.path), Name: name, Value: text})
				f.left -= len(text)
			}
		}
		if v, ok := object[name]; ok {
			f.inside(sub, name, v)
		}
	}
	rest, ok := s.AdditionalProperties.(*jsonschema.Schema)
	if !ok {
		return
	}
	for _, name := range sortedNames(object) {
		if s.Properties[name] == nil && !matchesPattern(s, name) {
			f.inside(rest, name, object[name])
		}
	}
}

// inside goes one step into the value. Defaults add levels without end where a
// schema refers to itself; the value's own limit of depth ends it.
func (f *filling) inside(s *jsonschema.Schema, token string, v any) {
	if s == nil || len(f.path) > memory.LimitSchemaDepth().Default {
		return
	}
	f.path = append(f.path, token)
	f.here(s, v, 0)
	f.path = f.path[:len(f.path)-1]
}

// defaultOf is the default that a subschema, or what it refers to, states: as
// text, and as a value of its own.
func defaultOf(s *jsonschema.Schema) (text []byte, v any, ok bool) {
	stated := statedDefault(s, 0)
	if stated == nil {
		return nil, nil, false
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(*stated) != nil {
		return nil, nil, false
	}
	text = bytes.TrimRight(out.Bytes(), "\n")
	v, err := plain(text)
	return text, v, err == nil
}

func statedDefault(s *jsonschema.Schema, inPlace int) (stated *any) {
	if s.Default != nil || inPlace > inPlaceMax {
		return s.Default
	}
	eachAlways(s, func(sub *jsonschema.Schema) {
		if stated == nil {
			stated = statedDefault(sub, inPlace+1)
		}
	})
	return stated
}

func matchesPattern(s *jsonschema.Schema, name string) bool {
	for pattern := range s.PatternProperties {
		if pattern.MatchString(name) {
			return true
		}
	}
	return false
}

func sortedNames[V any](of map[string]V) []string {
	names := make([]string, 0, len(of))
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
