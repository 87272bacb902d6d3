package schema

// This file owns checking a value, and how much work that may be.

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"reminis/engine/memory"
)

// Check says whether a valid JSON value fits the schema; the error names the
// schema, the first place that does not fit, and why.
func (s *Schema) Check(value []byte) error {
	if err := checkNumbers("value", value); err != nil {
		return err
	}
	v, err := plain(value)
	if err != nil {
		return memory.ErrSchemaValue(s.Label(), "", "it is not JSON")
	}
	return s.check(v)
}

func (s *Schema) check(v any) error {
	m := measure{left: memory.LimitSchemaWork().Default, open: make([]*jsonschema.Schema, 0, 16)}
	if m.value(s.root, v); m.left < 0 {
		return memory.ErrWork("schema "+s.Label(), memory.LimitSchemaWork())
	}
	err := validate(s.root, v)
	if err == nil {
		return nil
	}
	invalid, ok := err.(*jsonschema.ValidationError)
	if !ok {
		return memory.ErrSchemaValue(s.Label(), "", err.Error())
	}
	p := firstProblem(invalid)
	return memory.ErrSchemaValue(s.Label(), p.location, p.text)
}

// validate asks the library; see compile.
func validate(root *jsonschema.Schema, v any) (err error) {
	defer func() {
		if recover() != nil {
			err = errUnchecked
		}
	}()
	return root.Validate(v)
}

// measure bounds the work of the library before it begins: it tries the same
// subschemas on the same parts, all branches, and only counts. References may
// multiply the work at every level of a value.
type measure struct {
	left int
	// open are the subschemas being tried, those on the same part from here on:
	// one that leads to itself there is an error that the library finds.
	open []*jsonschema.Schema
	part int
}

// patternCost is how many bytes of a text a pattern reads in one step.
const patternCost = 64

func (m *measure) value(s *jsonschema.Schema, v any) {
	if s == nil {
		return
	}
	part := m.part
	m.part = len(m.open)
	m.here(s, v)
	m.part = part
}

// here counts one subschema tried on one part, and all that this leads to.
func (m *measure) here(s *jsonschema.Schema, v any) {
	if m.left--; m.left < 0 || slices.Contains(m.open[m.part:], s) {
		return
	}
	m.open = append(m.open, s)
	switch v := v.(type) {
	case map[string]any:
		m.object(s, v)
	case []any:
		m.array(s, v)
	case string:
		if s.Pattern != nil {
			m.left -= len(v) / patternCost
		}
	}
	eachInPlace(s, func(sub *jsonschema.Schema) { m.here(sub, v) })
	m.open = m.open[:len(m.open)-1]
}

func (m *measure) object(s *jsonschema.Schema, object map[string]any) {
	m.left -= len(object) * len(s.PatternProperties)
	for name, v := range object {
		m.value(s.Properties[name], v)
		for _, sub := range s.PatternProperties {
			m.value(sub, v)
		}
		if sub, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
			m.value(sub, v)
		}
		m.value(s.PropertyNames, name)
		m.value(s.UnevaluatedProperties, v)
		if m.left < 0 {
			return
		}
	}
}

func (m *measure) array(s *jsonschema.Schema, array []any) {
	if s.UniqueItems {
		m.left -= len(array)
	}
	for i, v := range array {
		m.value(itemSchema(s, i), v)
		m.value(s.Contains, v)
		m.value(s.UnevaluatedItems, v)
		if m.left < 0 {
			return
		}
	}
}

// itemSchema is what the i-th element of an array must fit, nil for anything.
func itemSchema(s *jsonschema.Schema, i int) *jsonschema.Schema {
	if i < len(s.PrefixItems) {
		return s.PrefixItems[i]
	}
	if s.Items2020 != nil {
		return s.Items2020
	}
	switch items := s.Items.(type) { // drafts before 2020-12
	case *jsonschema.Schema:
		return items
	case []*jsonschema.Schema:
		if i < len(items) {
			return items[i]
		}
		sub, _ := s.AdditionalItems.(*jsonschema.Schema)
		return sub
	}
	return nil
}

// eachAlways visits the subschemas that whatever fits s fits too.
func eachAlways(s *jsonschema.Schema, visit func(*jsonschema.Schema)) {
	visitOne(s.Ref, visit)
	visitOne(s.RecursiveRef, visit)
	visitOne(dynamicTarget(s), visit)
	visitList(s.AllOf, visit)
}

// eachInPlace visits the subschemas that are tried on the same part of a value.
func eachInPlace(s *jsonschema.Schema, visit func(*jsonschema.Schema)) {
	eachAlways(s, visit)
	visitList(s.AnyOf, visit)
	visitList(s.OneOf, visit)
	visitOne(s.Not, visit)
	visitOne(s.If, visit)
	visitOne(s.Then, visit)
	visitOne(s.Else, visit)
	for _, sub := range s.DependentSchemas {
		visit(sub)
	}
	for _, dependency := range s.Dependencies { // drafts before 2019-09
		if sub, ok := dependency.(*jsonschema.Schema); ok {
			visit(sub)
		}
	}
}

func visitOne(s *jsonschema.Schema, visit func(*jsonschema.Schema)) {
	if s != nil {
		visit(s)
	}
}

func visitList(list []*jsonschema.Schema, visit func(*jsonschema.Schema)) {
	for _, s := range list {
		visit(s)
	}
}

func dynamicTarget(s *jsonschema.Schema) *jsonschema.Schema {
	if s.DynamicRef == nil {
		return nil
	}
	return s.DynamicRef.Ref
}
