package commands

import (
	"maps"
	"slices"

	"reminis/commands/grammar"
	"reminis/commands/reply"
)

// This file owns pub/sub: subscribing, publishing, and what PUBSUB tells. It must
// not know how messages reach other sessions; that is the registry's.

func messagingCommands() []*Command {
	return []*Command{
		subscribeCommand(), unsubscribeCommand(), psubscribeCommand(), punsubscribeCommand(), publishCommand(),
		ssubscribeCommand(), sunsubscribeCommand(), spublishCommand(), pubsubCommand(),
	}
}

// subscriptions are what one session listens to.
type subscriptions struct {
	subscriber
	names [subscriptionKinds]map[string]bool
	bytes int // what the names take, here and in the registry
}

// subscribed says whether the session listens to anything.
func (s *Session) subscribed() bool {
	return s.subscriptions != nil && s.subscriptions.count(toChannel)+s.subscriptions.count(toShardChannel) > 0
}

// Subscriptions are how many channels, patterns and shard channels the session
// listens to.
func (s *Session) Subscriptions() (channels, patterns, shardChannels int) {
	if s.subscriptions == nil {
		return 0, 0, 0
	}
	names := &s.subscriptions.names
	return len(names[toChannel]), len(names[toPattern]), len(names[toShardChannel])
}

// count is what replies about a kind count: channels and patterns together.
func (l *subscriptions) count(kind subscriptionKind) int {
	if kind == toShardChannel {
		return len(l.names[toShardChannel])
	}
	return len(l.names[toChannel]) + len(l.names[toPattern])
}

// listening are the session's subscriptions, made when it has none yet.
func (s *Session) listening() *subscriptions {
	if s.subscriptions == nil {
		l := &subscriptions{subscriber: subscriber{peer: s.Peer, proto: s.Proto}}
		l.account.Store(s.account)
		for kind := range l.names {
			l.names[kind] = map[string]bool{}
		}
		s.subscriptions = l
	}
	return s.subscriptions
}

// endSubscriptions ends them all, saying nothing.
func (s *Session) endSubscriptions() {
	if s.subscriptions == nil {
		return
	}
	for kind := range subscriptionKinds {
		for name := range s.subscriptions.names[kind] {
			s.Core.registry.remove(kind, []byte(name), &s.subscriptions.subscriber)
		}
	}
	s.subscriptions = nil
	s.noteListening()
}

// setProto answers and pushes in another protocol from now on.
func (s *Session) setProto(proto int) {
	if s.subscriptions != nil && proto != s.Proto {
		s.Core.registry.setProto(&s.subscriptions.subscriber, proto)
		s.takePushed()
	}
	s.Proto = proto
	s.end.proto.Store(int32(proto))
	s.writer.SetProto(proto)
}

// takePushed puts what was pushed so far in front of the reply to come. Inside
// EXEC it would stand within EXEC's reply; there it waits for the end.
func (s *Session) takePushed() {
	if s.tx == nil {
		s.writer.Reset(s.Peer.TakePushed(s.writer.Bytes()))
		s.keep()
	}
}

// keep says that what was written so far answers no command, so that CLIENT REPLY
// does not drop it.
func (s *Session) keep() {
	if s.tx == nil {
		s.kept = s.writer.Mark()
	}
}

// subscribe adds names of a kind, and confirms each.
func (s *Session) subscribe(kind subscriptionKind, names [][]byte, w *reply.Writer) {
	l := s.listening()
	for _, name := range names {
		if !l.names[kind][string(name)] {
			l.names[kind][string(name)] = true
			l.bytes += subscriptionBytes + 2*len(name)
			s.Core.registry.add(kind, name, &l.subscriber)
		}
		writeSubscription(w, kind.words().subscribe, name, l.count(kind))
	}
	s.noteListening()
	s.keep()
}

// noteListening tells others whether the session listens to anything.
func (s *Session) noteListening() {
	channels, patterns, shards := s.Subscriptions()
	s.end.listens.Store(channels+patterns+shards > 0)
}

// unsubscribe ends names of a kind, all if there are none, and confirms each.
// What was pushed for a name stands before its confirmation: nothing for it may
// follow, since in RESP2 it would be taken for a reply.
func (s *Session) unsubscribe(kind subscriptionKind, names [][]byte, w *reply.Writer) {
	l := s.listening()
	if len(names) == 0 {
		for _, name := range slices.Sorted(maps.Keys(l.names[kind])) {
			names = append(names, []byte(name))
		}
	}
	for _, name := range names {
		if l.names[kind][string(name)] {
			delete(l.names[kind], string(name))
			l.bytes -= subscriptionBytes + 2*len(name)
			s.Core.registry.remove(kind, name, &l.subscriber)
			s.takePushed()
		}
		writeSubscription(w, kind.words().unsubscribe, name, l.count(kind))
	}
	s.noteListening()
	if len(names) == 0 {
		writeSubscription(w, kind.words().unsubscribe, nil, l.count(kind))
	}
	s.keep()
}

// writeSubscription confirms one change; a nil name is that there was none.
func writeSubscription(w *reply.Writer, word string, name []byte, count int) {
	w.Push(3)
	w.BulkString(word)
	if name == nil {
		w.Null()
	} else {
		w.Bulk(name)
	}
	w.Int(int64(count))
}

func subscriptionShape() reply.Shape {
	return reply.Several(reply.PushOf(reply.Bulk(), reply.Nullable(reply.Bulk()), reply.Int()))
}

const subscribeFlags = PubSub | NoScript | Loading | Stale | Subscribed

type channelsParams struct{ channels [][]byte }

func channelsNode() grammar.Node {
	return grammar.Rest("channel", func(p *channelsParams) *[][]byte { return &p.channels })
}

func shardChannelsNode() grammar.Node {
	return grammar.Keys("shardchannel", func(p *channelsParams) *[][]byte { return &p.channels }, grammar.NotKey).Typed(grammar.TypeString)
}

func subscribeCommand() *Command {
	return onSession(Declaration{
		Name: "subscribe", Family: Messaging, Since: "2.0.0", Complexity: "O(N) where N is the number of channels to subscribe to.",
		Summary: "Listen for messages published to the given channels",
		Flags:   subscribeFlags, Channels: everyChannel, Reply: subscriptionShape(),
	}, grammar.Compile[channelsParams](channelsNode()), func(s *Session, p *channelsParams, w *reply.Writer) error {
		s.subscribe(toChannel, p.channels, w)
		return nil
	})
}

func unsubscribeCommand() *Command {
	return onSession(Declaration{
		Name: "unsubscribe", Family: Messaging, Since: "2.0.0", Complexity: "O(N) where N is the number of clients already subscribed to a channel.",
		Summary: "Stop listening for messages posted to the given channels",
		Flags:   subscribeFlags, Reply: subscriptionShape(),
	}, grammar.Compile[channelsParams](grammar.Opt(channelsNode())), func(s *Session, p *channelsParams, w *reply.Writer) error {
		s.unsubscribe(toChannel, p.channels, w)
		return nil
	})
}

func patternsNode() grammar.Node {
	return grammar.Rest("pattern", func(p *channelsParams) *[][]byte { return &p.channels }).Typed(grammar.TypePattern)
}

func psubscribeCommand() *Command {
	return onSession(Declaration{
		Name: "psubscribe", Family: Messaging, Since: "2.0.0", Complexity: "O(N) where N is the number of patterns the client is already subscribed to.",
		Summary: "Listen for messages published to channels matching the given patterns",
		Flags:   subscribeFlags, Channels: everyPattern, Reply: subscriptionShape(),
	}, grammar.Compile[channelsParams](
		patternsNode().DocumentedAs(grammar.Block("pattern",
			grammar.Pattern("pattern", func(*channelsParams) *[]byte { return new([]byte) }),
		).Multiple()),
	), func(s *Session, p *channelsParams, w *reply.Writer) error {
		s.subscribe(toPattern, p.channels, w)
		return nil
	})
}

func punsubscribeCommand() *Command {
	return onSession(Declaration{
		Name: "punsubscribe", Family: Messaging, Since: "2.0.0",
		Complexity: "O(N+M) where N is the number of patterns the client is already subscribed and M is the number of total patterns subscribed in the system (by any client).",
		Summary:    "Stop listening for messages posted to channels matching the given patterns",
		Flags:      subscribeFlags, Reply: subscriptionShape(),
	}, grammar.Compile[channelsParams](grammar.Opt(patternsNode())), func(s *Session, p *channelsParams, w *reply.Writer) error {
		s.unsubscribe(toPattern, p.channels, w)
		return nil
	})
}

func ssubscribeCommand() *Command {
	return onSession(Declaration{
		Name: "ssubscribe", Family: Messaging, Since: "7.0.0", Complexity: "O(N) where N is the number of shard channels to subscribe to.",
		Summary: "Listen for messages published to the given shard channels",
		Flags:   subscribeFlags, Channels: everyChannel, Reply: subscriptionShape(),
	}, grammar.Compile[channelsParams](shardChannelsNode()), func(s *Session, p *channelsParams, w *reply.Writer) error {
		s.subscribe(toShardChannel, p.channels, w)
		return nil
	})
}

func sunsubscribeCommand() *Command {
	return onSession(Declaration{
		Name: "sunsubscribe", Family: Messaging, Since: "7.0.0", Complexity: "O(N) where N is the number of clients already subscribed to a shard channel.",
		Summary: "Stop listening for messages posted to the given shard channels",
		Flags:   subscribeFlags, Reply: subscriptionShape(),
	}, grammar.Compile[channelsParams](grammar.Opt(shardChannelsNode())), func(s *Session, p *channelsParams, w *reply.Writer) error {
		s.unsubscribe(toShardChannel, p.channels, w)
		return nil
	})
}

// publish tells all who listen and answers how many messages that were. A session
// that listens itself reads the message before the answer.
func (s *Session) publish(kind subscriptionKind, p *publishParams, w *reply.Writer) {
	receivers := s.Core.registry.publish(kind, p.channel, p.message, 0)
	if receivers > 0 && s.subscribed() {
		s.takePushed()
	}
	w.Int(int64(receivers))
}

type publishParams struct{ channel, message []byte }

func messageNode() grammar.Node {
	return grammar.Bytes("message", func(p *publishParams) *[]byte { return &p.message })
}

const publishFlags = PubSub | Loading | Stale | Fast | MayReplicate

func publishCommand() *Command {
	return onSession(Declaration{
		Name: "publish", Family: Messaging, Since: "2.0.0",
		Complexity: "O(N+M) where N is the number of clients subscribed to the receiving channel and M is the total number of subscribed patterns (by any client).",
		Summary:    "Post a message to a channel",
		Flags:      publishFlags, Channels: firstChannel, Reply: reply.Int(),
	}, grammar.Compile[publishParams](
		grammar.Bytes("channel", func(p *publishParams) *[]byte { return &p.channel }), messageNode(),
	), func(s *Session, p *publishParams, w *reply.Writer) error {
		s.publish(toChannel, p, w)
		return nil
	})
}

func spublishCommand() *Command {
	return onSession(Declaration{
		Name: "spublish", Family: Messaging, Since: "7.0.0", Complexity: "O(N) where N is the number of clients subscribed to the receiving shard channel.",
		Summary: "Post a message to a shard channel",
		Flags:   publishFlags, Channels: firstChannel, Reply: reply.Int(),
	}, grammar.Compile[publishParams](
		grammar.Key("shardchannel", func(p *publishParams) *[]byte { return &p.channel }, grammar.NotKey).Typed(grammar.TypeString), messageNode(),
	), func(s *Session, p *publishParams, w *reply.Writer) error {
		s.publish(toShardChannel, p, w)
		return nil
	})
}

func pubsubCommand() *Command {
	return container(Declaration{
		Name: "pubsub", Family: Messaging, Since: "2.8.0", Complexity: "Depends on subcommand.",
		Summary: "A container for Pub/Sub commands",
	},
		activeChannelsCommand("channels", "2.8.0", toChannel, "List active channels",
			"O(N) where N is the number of active channels, and assuming constant time pattern matching (relatively short channels and patterns)"),
		activeChannelsCommand("shardchannels", "7.0.0", toShardChannel, "List active shard channels",
			"O(N) where N is the number of active shard channels, and assuming constant time pattern matching (relatively short shard channels)."),
		subscriberCountCommand("numsub", "channel", "2.8.0", toChannel, "Get the count of subscribers for channels",
			"O(N) for the NUMSUB subcommand, where N is the number of requested channels"),
		subscriberCountCommand("shardnumsub", "shardchannel", "7.0.0", toShardChannel, "Get the count of subscribers for shard channels",
			"O(N) for the SHARDNUMSUB subcommand, where N is the number of requested shard channels"),
		patternCountCommand(), pubsubHelp(),
	)
}

const pubsubFlags = PubSub | Loading | Stale

type activeChannelsParams struct {
	glob  []byte
	extra [][]byte
}

func activeChannelsCommand(name, since string, kind subscriptionKind, summary, complexity string) *Command {
	return onSession(Declaration{
		Name: name, Since: since, Complexity: complexity, Summary: summary,
		Flags: pubsubFlags, Reply: reply.ArrayOf(reply.Bulk()),
	}, grammar.Compile[activeChannelsParams](
		grammar.Opt(grammar.Pattern("pattern", func(p *activeChannelsParams) *[]byte { return &p.glob })),
		grammar.Opt(grammar.Rest("extra", func(p *activeChannelsParams) *[][]byte { return &p.extra }).DocumentedAs()),
	), func(s *Session, p *activeChannelsParams, w *reply.Writer) error {
		if len(p.extra) > 0 {
			return errUsage("PUBSUB", s.words[1])
		}
		names := s.Core.registry.names(kind, p.glob)
		w.Array(len(names))
		for _, name := range names {
			w.BulkString(name)
		}
		return nil
	})
}

func subscriberCountCommand(name, argument, since string, kind subscriptionKind, summary, complexity string) *Command {
	return onSession(Declaration{
		Name: name, Since: since, Complexity: complexity, Summary: summary,
		Flags: pubsubFlags, Reply: reply.ArrayOf(reply.OneOf(reply.Bulk(), reply.Int())),
	}, grammar.Compile[channelsParams](
		grammar.Opt(grammar.Rest(argument, func(p *channelsParams) *[][]byte { return &p.channels })),
	), func(s *Session, p *channelsParams, w *reply.Writer) error {
		w.Array(2 * len(p.channels))
		for _, channel := range p.channels {
			w.Bulk(channel)
			w.Int(int64(s.Core.registry.subscribers(kind, channel)))
		}
		return nil
	})
}

func patternCountCommand() *Command {
	return onSession(Declaration{
		Name: "numpat", Since: "2.8.0", Complexity: "O(1)",
		Summary: "Get the count of unique patterns pattern subscriptions",
		Flags:   pubsubFlags, Reply: reply.Int(),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		w.Int(s.Core.registry.counts[toPattern].Load())
		return nil
	})
}

func pubsubHelp() *Command {
	return helpSince("6.2.0", nil, "pubsub",
		"CHANNELS [<pattern>]", "    Return the currently active channels matching a <pattern> (default: '*').",
		"NUMPAT", "    Return number of subscriptions to patterns.",
		"NUMSUB [<channel> ...]", "    Return the number of subscribers for the specified channels, excluding", "    pattern subscriptions(default: no channels).",
		"SHARDCHANNELS [<pattern>]", "    Return the currently active shard level channels matching a <pattern> (default: '*').",
		"SHARDNUMSUB [<shardchannel> ...]", "    Return the number of subscribers for the specified shard level channel(s)",
	)
}
