package commands

import (
	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/stream"
)

// This file owns XGROUP and XACK. It must not know how groups are stored.

func xGroupCommand() *Command {
	return container(Declaration{
		Name: "xgroup", Family: Streams, Since: "5.0.0", Complexity: "Depends on subcommand.",
		Summary: "A container for consumer groups commands",
	},
		xGroupCreateCommand(), xGroupCreateConsumerCommand(), xGroupDelConsumerCommand(), xGroupDestroyCommand(),
		helpSince("5.0.0", []string{"stream"}, "xgroup",
			"CREATE <key> <groupname> <id|$> [option]",
			"    Create a new consumer group. Options are:",
			"    * MKSTREAM",
			"      Create the empty stream if it does not exist.",
			"    * ENTRIESREAD entries_read",
			"      Set the group's entries_read counter (internal use).",
			"CREATECONSUMER <key> <groupname> <consumer>",
			"    Create a new consumer in the specified group.",
			"DELCONSUMER <key> <groupname> <consumer>",
			"    Remove the specified consumer.",
			"DESTROY <key> <groupname>",
			"    Remove the specified group.",
			"SETID <key> <groupname> <id|$> [ENTRIESREAD entries_read]",
			"    Set the current group ID and entries_read counter."),
		xGroupSetIDCommand(),
	)
}

type groupParams struct {
	key, group, consumer []byte
	id                   []byte
	make                 bool // MKSTREAM
	read                 int64
	options              int  // how many arguments they are
	misused              bool // an option is none
}

func (p *groupParams) parseCreate(args [][]byte) (int, *grammar.Error) { return p.parse(args, true) }

func (p *groupParams) parseSetID(args [][]byte) (int, *grammar.Error) { return p.parse(args, false) }

func (p *groupParams) parse(args [][]byte, create bool) (int, *grammar.Error) {
	p.read, p.options = stream.Unknown, len(args)
	for i := 0; i < len(args) && !p.misused; i++ {
		switch word := upToNul(args[i]); {
		case create && equalFold(word, "mkstream"):
			p.make = true
		case equalFold(word, "entriesread") && i+1 < len(args):
			i++
			var ok bool
			if p.read, ok = grammar.ParseInt(args[i]); !ok {
				return 0, grammar.Fail(grammar.NotInteger, "")
			}
			if p.read < stream.Unknown {
				return 0, grammar.Fail(grammar.Other, string(errEntriesRead))
			}
		default:
			p.misused = true
		}
	}
	return len(args), nil
}

// groupNodes begin every subcommand.
func groupNodes(flags grammar.KeyFlags, more ...grammar.Node) []grammar.Node {
	return append([]grammar.Node{
		grammar.Key("key", func(p *groupParams) *[]byte { return &p.key }, flags),
		grammar.Bytes("groupname", func(p *groupParams) *[]byte { return &p.group }).Sample("g", "h"),
	}, more...)
}

func consumerNode() grammar.Node {
	return grammar.Bytes("consumername", func(p *groupParams) *[]byte { return &p.consumer }).Sample("c", "d")
}

// groupIDNode is an id or $, which is read when the stream is known.
func groupIDNode() grammar.Node {
	return grammar.Bytes("id", func(p *groupParams) *[]byte { return &p.id }).Sample("$", "0", "2", "5-1", "-", "x").DocumentedAs(
		grammar.OneOf("id", grammar.Bytes[*groupParams]("id", nil), grammar.Token[*groupParams]("$", nil).Named("new_id")))
}

// target looks up the stream and the group of a subcommand.
func (p *groupParams) target(tx *engine.Tx) (s engine.Stream, group engine.StreamGroup, found bool, err error) {
	if p.misused {
		return s, group, false, errSubcommand
	}
	if s, err = tx.Stream(p.key); err != nil {
		return s, group, false, err
	}
	if !s.Exists() && !p.make {
		return s, group, false, errGroupNoKey
	}
	group, found = s.Group(p.group)
	return s, group, found, nil
}

// mustTarget is target for what needs the group.
func (p *groupParams) mustTarget(tx *engine.Tx) (engine.Stream, engine.StreamGroup, error) {
	s, group, found, err := p.target(tx)
	if err == nil && !found {
		err = errNoGroup(p.group, p.key)
	}
	return s, group, err
}

func xGroupCreateCommand() *Command {
	return onData(Declaration{
		Name: "create", Since: "5.0.0", Complexity: "O(1)", Summary: "Create a consumer group.",
		Flags:   Write | DenyOOM,
		History: []Change{{"7.0.0", "Added the `entries_read` named argument."}},
		Reply:   reply.OK(),
	}, grammar.Compile[groupParams](groupNodes(grammar.RW|grammar.Insert, groupIDNode(),
		grammar.Custom("", (*groupParams).parseCreate,
			grammar.Opt(grammar.Token[*groupParams]("MKSTREAM", nil)),
			grammar.Opt(grammar.Int[*groupParams]("entries_read", nil).After("ENTRIESREAD")),
		))...), runGroupCreate)
}

// groupCreateOptionsMax is how many arguments the options of XGROUP CREATE may be.
const groupCreateOptionsMax = 3

func runGroupCreate(tx *engine.Tx, p *groupParams, w *reply.Writer) error {
	s, _, found, err := p.target(tx)
	if err != nil {
		return err
	}
	if p.options > groupCreateOptionsMax {
		return errSubcommand
	}
	last := s.LastID()
	if string(upToNul(p.id)) != "$" {
		var ok bool
		if last, ok = parseID(p.id, 0); !ok {
			return errStreamID
		}
	}
	if found {
		return errBusyGroup
	}
	tx.CreateGroup(p.key, s, p.group, last, p.read)
	tx.Notify(engine.EventStream, "xgroup-create", p.key)
	w.OK()
	return nil
}

func xGroupSetIDCommand() *Command {
	return onData(Declaration{
		Name: "setid", Since: "5.0.0", Complexity: "O(1)", Summary: "Set a consumer group to an arbitrary last delivered ID value.",
		Flags:   Write,
		History: []Change{{"7.0.0", "Added the optional `entries_read` argument."}},
		Reply:   reply.OK(),
	}, grammar.Compile[groupParams](groupNodes(grammar.RW|grammar.Update, groupIDNode(),
		grammar.Custom("", (*groupParams).parseSetID, grammar.Opt(grammar.Int[*groupParams]("entries_read", nil).After("ENTRIESREAD"))),
	)...), runGroupSetID)
}

func runGroupSetID(tx *engine.Tx, p *groupParams, w *reply.Writer) error {
	s, group, err := p.mustTarget(tx)
	if err != nil {
		return err
	}
	if p.options > 2 {
		return errSubcommand
	}
	last := s.LastID()
	if string(upToNul(p.id)) != "$" {
		var ok bool
		// Unlike CREATE it takes - and +, as in Redis.
		if last, ok = parseEndID(p.id, 0); !ok {
			return errStreamID
		}
	}
	tx.SetGroup(p.key, group, last, p.read)
	tx.Notify(engine.EventStream, "xgroup-setid", p.key)
	w.OK()
	return nil
}

func xGroupDestroyCommand() *Command {
	return onData(Declaration{
		Name: "destroy", Since: "5.0.0", Complexity: "O(N) where N is the number of entries in the group's pending entries list (PEL).",
		Summary: "Destroy a consumer group.",
		Flags:   Write,
		Reply:   reply.Int(),
	}, grammar.Compile[groupParams](groupNodes(grammar.RW|grammar.Delete)...), func(tx *engine.Tx, p *groupParams, w *reply.Writer) error {
		_, group, found, err := p.target(tx)
		if err != nil {
			return err
		}
		if found {
			tx.DestroyGroup(p.key, group)
			tx.Notify(engine.EventStream, "xgroup-destroy", p.key)
		}
		w.Int(intOf(found))
		return nil
	})
}

func xGroupCreateConsumerCommand() *Command {
	return onData(Declaration{
		Name: "createconsumer", Since: "6.2.0", Complexity: "O(1)", Summary: "Create a consumer in a consumer group.",
		Flags: Write | DenyOOM,
		Reply: reply.Int(),
	}, grammar.Compile[groupParams](groupNodes(grammar.RW|grammar.Insert, consumerNode())...), func(tx *engine.Tx, p *groupParams, w *reply.Writer) error {
		_, group, err := p.mustTarget(tx)
		if err != nil {
			return err
		}
		_, there := group.Consumer(p.consumer)
		if !there {
			tx.CreateConsumer(p.key, group, p.consumer)
			tx.Notify(engine.EventStream, "xgroup-createconsumer", p.key)
		}
		w.Int(intOf(!there))
		return nil
	})
}

func xGroupDelConsumerCommand() *Command {
	return onData(Declaration{
		Name: "delconsumer", Since: "5.0.0", Complexity: "O(1)", Summary: "Delete a consumer from a consumer group.",
		Flags: Write,
		Reply: reply.Int(),
	}, grammar.Compile[groupParams](groupNodes(grammar.RW|grammar.Delete, consumerNode())...), func(tx *engine.Tx, p *groupParams, w *reply.Writer) error {
		_, group, err := p.mustTarget(tx)
		if err != nil {
			return err
		}
		pending := 0
		if consumer, ok := group.Consumer(p.consumer); ok {
			pending = consumer.Pending()
			tx.DeleteConsumer(p.key, group, consumer)
			tx.Notify(engine.EventStream, "xgroup-delconsumer", p.key)
		}
		w.Int(int64(pending))
		return nil
	})
}

type ackParams struct {
	key, group []byte
	ids        [][]byte
}

func xAckCommand() *Command {
	return onData(Declaration{
		Name: "xack", Family: Streams, Since: "5.0.0", Complexity: "O(1) for each message ID processed.",
		Summary: "Marks a pending message as correctly processed, effectively removing it from the pending entries list of the consumer group. Return value of the command is the number of messages successfully acknowledged, that is, the IDs we were actually able to resolve in the PEL.",
		Flags:   Write | Fast,
		Reply:   reply.Int(),
	}, grammar.Compile[ackParams](
		grammar.Key("key", func(p *ackParams) *[]byte { return &p.key }, grammar.RW|grammar.Update),
		grammar.Bytes("group", func(p *ackParams) *[]byte { return &p.group }).Sample("g", "h"),
		grammar.Rest("id", func(p *ackParams) *[][]byte { return &p.ids }).Sample(idSamples()...),
	), runXAck)
}

func runXAck(tx *engine.Tx, p *ackParams, w *reply.Writer) error {
	s, err := streamForRead(tx, p.key)
	if err != nil {
		return err
	}
	group, ok := s.Group(p.group)
	if !ok {
		w.Int(0)
		return nil
	}
	ids, err := parseIDs(p.ids)
	if err != nil {
		return err
	}
	n := int64(0)
	for _, id := range ids {
		n += intOf(tx.Acknowledge(p.key, group, id))
	}
	w.Int(n)
	return nil
}
