package commands

import (
	"slices"

	"reminis/engine"
	"reminis/engine/memory"
	"reminis/engine/schema"
)

// This file owns what the server's rules do to writes and reads of records:
// consent, schemas and their migrations, redaction, quotas. Every write passes
// govern, every read of what stands migrate. It must not know which command
// writes or reads.

// govern checks the record that a change makes, and makes it what the rules ask
// for. fill puts the schema's defaults in.
func (c *change) govern(r *memory.Record, fill bool) error {
	owner := c.key.Owner()
	if err := checkConsent(c.tx, c.policy, owner, r.Kind); err != nil {
		return err
	}
	var s *schema.Schema
	var err error
	if !c.passed {
		if s, err = c.schemaOf(r); err != nil {
			return err
		}
	}
	if s != nil && fill && !r.Text {
		if r.Value, err = s.Fill(r.Value); err != nil {
			return err
		}
	}
	if !r.Text && r.List == 0 { // items are redacted as they come
		if r.Value, err = c.tx.Redact(c.policy, owner, r.Value); err != nil {
			return err
		}
	}
	if c.passed {
		return nil // what it was checked for is what stood then
	}
	if s != nil {
		r.Schema = []byte(s.Label())
		if err := s.Check(c.asJSON(r)); err != nil {
			return err
		}
	}
	if len(r.Vector) > 0 {
		if err := c.tx.CheckVector(owner, r.Vector); err != nil {
			return err
		}
	}
	return c.tx.CheckQuota(c.policy, c.key, r)
}

// asJSON is a record's value as a schema sees it: a text is a string, a list the
// array that it is to be.
func (c *change) asJSON(r *memory.Record) []byte {
	switch {
	case r.Text:
		return memory.AppendQuoted(nil, r.Value)
	case r.List != 0:
		return c.tx.Grown(c.key, r, c.added)
	}
	return r.Value
}

// redactItems makes items what the policy of their key says. Its paths lead
// through the array, so each item is looked at as an array of one.
func (c *change) redactItems(items [][]byte) error {
	if len(c.policy.Redacted()) == 0 {
		return nil
	}
	for i, item := range items {
		alone, err := c.tx.Redact(c.policy, c.key.Owner(), slices.Concat([]byte("["), item, []byte("]")))
		if err != nil {
			return err
		}
		items[i] = alone[1 : len(alone)-1]
	}
	return nil
}

// checkConsent says whether the owner lets a record of this kind be written.
func checkConsent(tx *engine.Tx, p *memory.Policy, owner []byte, kind memory.Kind) error {
	if consent := tx.Consent(owner); !consent.Allows(kind, tx.ConsentRequired(p)) {
		return errNoConsent(owner, kind, consent.Of(kind))
	}
	return nil
}

// schemaOf is the newest version of the schema that a record to be written has:
// its own, else its policy's; nil when there is none, or no longer is.
func (c *change) schemaOf(r *memory.Record) (*schema.Schema, error) {
	all := c.tx.Rules().Schemas()
	if len(r.Schema) > 0 {
		name, _, _ := schema.SplitLabel(r.Schema)
		return all.Newest(name), nil
	}
	name := c.policy.Schema()
	if name == "" {
		return nil, nil
	}
	if s := all.Newest(name); s != nil {
		return s, nil
	}
	return nil, errNoSchema([]byte(name))
}

func parseSchemaName(name []byte) ([]byte, error) { return name, memory.CheckSchemaName(name) }

// schemaNone is the word after SCHEMA for no schema of the record's own.
const schemaNone = "NONE"

// adoptSchema gives a record the schema that its writer named.
func (c *change) adoptSchema(r *memory.Record, name []byte) error {
	switch {
	case len(name) == 0:
	case equalFold(name, schemaNone):
		r.Schema = nil
	default:
		s := c.tx.Rules().Schemas().Newest(string(name))
		if s == nil {
			return errNoSchema(name)
		}
		r.Schema = []byte(s.Label())
	}
	return nil
}

// outdated says whether what stood has a schema of which there is a newer version.
func (c *change) outdated() bool {
	if len(c.old.Schema) == 0 {
		return false
	}
	name, version, _ := schema.SplitLabel(c.old.Schema)
	newest := c.tx.Rules().Schemas().Newest(name)
	return newest != nil && newest.Version > version
}

// migrate brings a record to the newest version of its schema.
func migrate(tx *engine.Tx, r *memory.Record) error {
	if len(r.Schema) == 0 || r.Text {
		return nil
	}
	value, newest, err := tx.Rules().Schemas().Migrate(r.Schema, r.Value)
	if err == nil && newest != nil {
		r.Value, r.Schema = value, []byte(newest.Label())
	}
	return err
}

// decodeNewest reads a record that stands for a reply: at the newest version of
// its schema, or as it is stored when it cannot be brought there, which
// MEM.SCHEMA MIGRATE counts.
func decodeNewest(tx *engine.Tx, s engine.Stored, r *memory.Record) {
	s.Decode(r)
	if len(r.Schema) > 0 {
		_ = migrate(tx, r)
	}
	tx.Lens.Apply(s.Key, r, s.Item != 0)
}

// decodePast reads a record as it stood for a reply.
func decodePast(tx *engine.Tx, key []byte, s engine.Stored, r *memory.Record) {
	s.Decode(r)
	tx.Lens.Apply(key, r, s.Item != 0)
}

// decodeShown is decodeNewest for a reply that may reach others than who may
// read the record itself, or that was not asked for by its key.
func decodeShown(tx *engine.Tx, s engine.Stored, r *memory.Record) {
	decodeNewest(tx, s, r)
	tx.Policy(s.Key).HideEncrypted(r)
}
