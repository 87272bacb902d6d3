package commands

import (
	"bytes"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
)

// This file owns MEM.LINK, MEM.UNLINK and MEM.LINKS: which record of an owner has
// to do with which other one. What a recall makes of a relation is
// memory_recall_expand.go's.

type memLinkParams struct {
	key, to  []byte
	relation []byte
	weight   float64
}

// linkNodes are the arguments that name a link.
func linkNodes() []grammar.Node {
	return []grammar.Node{
		grammar.Key("key", func(p *memLinkParams) *[]byte { return &p.key }, grammar.RW|grammar.Update),
		grammar.Value("relation", func(p *memLinkParams, arg []byte) *grammar.Error {
			p.relation = arg
			return fromMemory(memory.CheckRelation(arg))
		}).Typed(grammar.TypeString).Sample("implies"),
		grammar.Key("other-key", func(p *memLinkParams) *[]byte { return &p.to }, grammar.RO),
	}
}

// memLinkCommand: a link ends with the record that it comes from, and leads
// nowhere once the other one is forgotten.
func memLinkCommand() *Command {
	return onData(memoryDeclaration(Declaration{
		Name: "mem.link", Complexity: "O(log(N)) where N is the number of the owner's records and links",
		Summary: "Link a memory record to another one of its owner",
		Flags:   Write | DenyOOM | Fast,
		Reply:   reply.Int(),
	}), grammar.Compile[memLinkParams](append(linkNodes(),
		grammar.Options(grammar.Float("weight", func(p *memLinkParams) *float64 { return &p.weight }).After("WEIGHT").DefaultFloat(1)),
		grammar.Check(func(p *memLinkParams) *grammar.Error {
			if !(p.weight >= 0 && p.weight <= 1) {
				return grammar.Fail(grammar.Other, string(ErrLinkWeight))
			}
			return nil
		}),
	)...), runMemLink)
}

func runMemLink(tx *engine.Tx, p *memLinkParams, w *reply.Writer) error {
	key, err := p.parse(tx)
	if err != nil {
		return err
	}
	for _, text := range [][]byte{p.key, p.to} {
		s, ok, err := tx.Record(text)
		switch {
		case err != nil:
			return err
		case !ok:
			return ErrNoSuchKey
		case kindOf(s) == memory.Working:
			return ErrLinkWorking
		}
	}
	event := p.event(tx, memory.OpLink)
	changed, err := tx.SetLink(key, engine.Link{Relation: p.relation, To: p.to, Weight: p.weight}, &event)
	if err != nil {
		return err
	}
	w.Int(int64(flagByte(changed)))
	return nil
}

func memUnlinkCommand() *Command {
	return onData(memoryDeclaration(Declaration{
		Name: "mem.unlink", Complexity: "O(log(N)) where N is the number of the owner's records and links",
		Summary: "Remove a link between two memory records",
		Flags:   Write | Fast,
		Reply:   reply.Int(),
	}), grammar.Compile[memLinkParams](linkNodes()...), runMemUnlink)
}

func runMemUnlink(tx *engine.Tx, p *memLinkParams, w *reply.Writer) error {
	key, err := p.parse(tx)
	if err != nil {
		return err
	}
	if _, _, err := tx.Record(p.key); err != nil {
		return err
	}
	event := p.event(tx, memory.OpUnlink)
	w.Int(int64(flagByte(tx.RemoveLink(key, engine.Link{Relation: p.relation, To: p.to}, &event))))
	return nil
}

// parse checks the two keys.
func (p *memLinkParams) parse(tx *engine.Tx) (key memory.Key, err error) {
	if key, err = tx.Layout().ParseKey(p.key); err != nil {
		return key, err
	}
	to, err := tx.Layout().ParseKey(p.to)
	switch {
	case err != nil:
		return key, err
	case !bytes.Equal(key.Owner(), to.Owner()):
		return key, ErrLinkOwner
	case bytes.Equal(p.key, p.to):
		return key, ErrLinkSelf
	}
	return key, nil
}

// event says which link was set or removed: the relation and where it leads, as
// its reason.
func (p *memLinkParams) event(tx *engine.Tx, op memory.Op) memory.Event {
	e := tx.NewEvent()
	e.Op, e.Key = op, p.key
	e.Reason = append(append(append([]byte(nil), p.relation...), ' '), p.to...)
	return e
}

type memLinksParams struct{ key []byte }

func memLinksCommand() *Command {
	return onData(memoryDeclaration(Declaration{
		Name: "mem.links", Complexity: "O(L*log(N)) where L is the number of links that come from the record and N that of the owner's records",
		Summary: "List the links that come from a memory record",
		Flags:   ReadOnly,
		Reply:   reply.ArrayOf(linkShape()),
	}), grammar.Compile[memLinksParams](
		grammar.Key("key", func(p *memLinksParams) *[]byte { return &p.key }, grammar.RO|grammar.Access),
	), runMemLinks)
}

func linkShape() reply.Shape {
	return reply.Record(
		reply.Field{Key: "to", Value: reply.Bulk()}, reply.Field{Key: "relation", Value: reply.Bulk()},
		reply.Field{Key: "weight", Value: reply.Double()})
}

func runMemLinks(tx *engine.Tx, p *memLinksParams, w *reply.Writer) error {
	key, err := tx.Layout().ParseKey(p.key)
	if err != nil {
		return err
	}
	_, ok, err := tx.Record(key.Text)
	if err != nil {
		return err
	}
	var links []engine.Link
	if ok {
		view, _ := tx.OwnerView(key.Owner())
		view.Links(key.Text, func(link engine.Link) bool {
			links = append(links, link)
			return true
		})
	}
	w.Array(len(links))
	for _, link := range links {
		w.Map(3)
		w.BulkString("to")
		w.Bulk(link.To)
		w.BulkString("relation")
		w.Bulk(link.Relation)
		w.BulkString("weight")
		w.Double(link.Weight)
	}
	return nil
}
