package commands

import (
	"strings"

	"reminis/commands/grammar"
	"reminis/commands/reply"
)

// This file owns CLIENT: what a connection is told of itself and of the others,
// and how it ends them. It must not know sockets.

func clientCommand() *Command {
	return container(Declaration{
		Name: "client", Family: Connection, Since: "2.4.0", Complexity: "Depends on subcommand.",
		Summary: "A container for client connection commands",
	},
		clientIDCommand(), clientNameCommand(), clientSetNameCommand(), clientSetInfoCommand(),
		clientInfoCommand(), clientListCommand(), clientKillCommand(), clientReplyCommand(), clientUnblockCommand(), clientPauseCommand(), clientUnpauseCommand(),
		clientTrackingCommand(), clientCachingCommand(), clientTrackingInfoCommand(),
		clientSwitchCommand("no-evict", "7.0.0", "Set client eviction mode for the current connection", Admin,
			func(s *Session) *bool { return &s.NoEvict }),
		clientSwitchCommand("no-touch", "7.2.0", "Controls whether commands sent by the client will alter the LRU/LFU of the keys they access.", 0,
			func(s *Session) *bool { return &s.NoTouch }),
		clientRedirectionCommand(), clientHelpCommand(),
	)
}

// clientFlags are what all of CLIENT's subcommands but HELP have.
const clientFlags = NoScript | Loading | Stale

func clientIDCommand() *Command {
	return onSession(Declaration{
		Name: "id", Since: "5.0.0", Complexity: "O(1)",
		Summary: "Returns the client ID for the current connection",
		Flags:   clientFlags, Reply: reply.Int(),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		w.Int(s.Peer.ID())
		return nil
	})
}

func clientNameCommand() *Command {
	return onSession(Declaration{
		Name: "getname", Since: "2.6.9", Complexity: "O(1)",
		Summary: "Get the current connection name",
		Flags:   clientFlags, Reply: reply.Nullable(reply.Bulk()),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		if s.Name == "" {
			w.Null()
			return nil
		}
		w.BulkString(s.Name)
		return nil
	})
}

type clientNameParams struct{ name []byte }

func clientSetNameCommand() *Command {
	return onSession(Declaration{
		Name: "setname", Since: "2.6.9", Complexity: "O(1)",
		Summary: "Set the current connection name",
		Flags:   clientFlags, Reply: reply.OK(),
	}, grammar.Compile[clientNameParams](
		grammar.Bytes("connection-name", func(p *clientNameParams) *[]byte { return &p.name }),
	), func(s *Session, p *clientNameParams, w *reply.Writer) error {
		if err := s.nameClient(p.name); err != nil {
			return err
		}
		w.OK()
		return nil
	})
}

type clientLibraryParams struct {
	attribute uint8 // libraryName, libraryVersion
	value     []byte
}

const (
	libraryName = iota + 1
	libraryVersion
)

func clientSetInfoCommand() *Command {
	return onSession(Declaration{
		Name: "setinfo", Since: "7.2.0", Complexity: "O(1)",
		Summary: "Set client or connection specific info",
		Flags:   clientFlags, Tips: []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
		Reply: reply.OK(),
	}, grammar.Compile[clientLibraryParams](
		grammar.Choice("attr", func(p *clientLibraryParams) *uint8 { return &p.attribute },
			grammar.Bytes("libname", (*clientLibraryParams).valueField).After("LIB-NAME"),
			grammar.Bytes("libver", (*clientLibraryParams).valueField).After("LIB-VER"),
		).Fail(grammar.Syntax, "Unrecognized option '{argument}'"),
	), runClientSetInfo)
}

func (p *clientLibraryParams) valueField() *[]byte { return &p.value }

func runClientSetInfo(s *Session, p *clientLibraryParams, w *reply.Writer) error {
	name, to := "lib-name", &s.LibName
	if p.attribute == libraryVersion {
		name, to = "lib-ver", &s.LibVersion
	}
	for _, c := range p.value {
		if c < '!' || c > '~' {
			return errClientAttribute(name)
		}
	}
	*to = string(p.value)
	w.OK()
	return nil
}

func clientInfoCommand() *Command {
	return onSession(Declaration{
		Name: "info", Since: "6.2.0", Complexity: "O(1)",
		Summary: "Returns information about the current client connection.",
		Flags:   clientFlags, Tips: []string{nondeterministicOutput}, Reply: reply.Verbatim(),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		s.Peer.Refresh()
		own := s.Peer.ID()
		w.Verbatim("txt", s.Core.clientLines(func(row *ClientRow) bool { return row.ID == own }))
		return nil
	})
}

// clientLines are the lines of the clients that keep accepts.
func (k *Core) clientLines(keep func(*ClientRow) bool) string {
	var lines []byte
	k.Clients.Each(func(c Client) bool {
		if row := c.Row(); keep(&row) {
			lines = append(c.AppendLine(lines), '\n')
		}
		return true
	})
	return string(lines)
}

// clientListParams: the two filters exclude each other, and a bad word anywhere
// is a plain syntax error.
type clientListParams struct {
	class *ClientClass
	ids   []int64
	byID  bool
}

func clientListCommand() *Command {
	return onSession(Declaration{
		Name: "list", Since: "2.4.0", Complexity: "O(N) where N is the number of client connections",
		Summary: "Get the list of client connections",
		Flags:   clientFlags | Admin, Tips: []string{nondeterministicOutput},
		History: []Change{
			{"2.8.12", "Added unique client `id` field."}, {"5.0.0", "Added optional `TYPE` filter."},
			{"6.0.0", "Added `user` field."},
			{"6.2.0", "Added `argv-mem`, `tot-mem`, `laddr` and `redir` fields and the optional `ID` filter."},
			{"7.0.0", "Added `resp`, `multi-mem`, `rbs` and `rbp` fields."}, {"7.0.3", "Added `ssub` field."},
		},
		Reply: reply.Verbatim(),
	}, grammar.Compile[clientListParams](
		grammar.Opt(grammar.Custom("", parseClientList,
			grammar.Opt(clientClassNode[*clientListParams]("normal_master_replica_pubsub", "5.0.0").After("TYPE")),
			grammar.Opt(grammar.Block("id",
				grammar.Rest("client-id", func(*clientListParams) *[][]byte { return new([][]byte) }).Typed(grammar.TypeInteger),
			).After("ID").Since("6.2.0")),
		)),
	), runClientList)
}

// clientClassNode documents the TYPE of CLIENT LIST and CLIENT KILL.
func clientClassNode[T any](name, since string) grammar.Node {
	word := func(text, since string) grammar.Node {
		return grammar.Token[T](text, func(T) *bool { return new(bool) }).Since(since)
	}
	return grammar.OneOf(name, word("NORMAL", ""), word("MASTER", ""), word("REPLICA", ""), word("PUBSUB", "")).Since(since)
}

func parseClientList(p *clientListParams, args [][]byte) (int, *grammar.Error) {
	switch {
	case len(args) == 2 && equalFold(args[0], "type"):
		class, err := parseClientClass(args[1])
		p.class = class
		return len(args), err
	case len(args) > 1 && equalFold(args[0], "id"):
		p.byID = true
		for i, arg := range args[1:] {
			id, ok := grammar.ParseInt(arg)
			if !ok {
				return i + 1, grammar.Fail(grammar.Other, "Invalid client ID")
			}
			p.ids = append(p.ids, id)
		}
		return len(args), nil
	}
	return 0, grammar.Fail(grammar.Syntax, "")
}

// parseClientClass reads a client type; REPLICA has two names.
func parseClientClass(arg []byte) (*ClientClass, *grammar.Error) {
	for _, known := range []struct {
		name  string
		class ClientClass
	}{
		{"normal", ClassNormal}, {"slave", ClassReplica}, {"replica", ClassReplica}, {"pubsub", ClassPubSub}, {"master", ClassMaster},
	} {
		if equalFold(arg, known.name) {
			return &known.class, nil
		}
	}
	return nil, grammar.Fail(grammar.Other, "Unknown client type '"+string(upToNul(arg))+"'")
}

func runClientList(s *Session, p *clientListParams, w *reply.Writer) error {
	s.Peer.Refresh()
	if !p.byID {
		w.Verbatim("txt", s.Core.clientLines(func(row *ClientRow) bool { return p.class == nil || row.Class == *p.class }))
		return nil
	}
	// In the order of the arguments, and as often as they say.
	lines := map[int64]string{}
	s.Core.Clients.Each(func(c Client) bool {
		lines[c.Row().ID] = string(append(c.AppendLine(nil), '\n'))
		return true
	})
	var out strings.Builder
	for _, id := range p.ids {
		out.WriteString(lines[id])
	}
	w.Verbatim("txt", out.String())
	return nil
}

// clientKillParams is one filter; old says that it came as a bare address.
type clientKillParams struct {
	old         bool
	keepSelf    bool
	addr, laddr []byte
	user        []byte
	class       *ClientClass
	id          int64
}

func clientKillCommand() *Command {
	return onSession(Declaration{
		Name: "kill", Since: "2.4.0", Complexity: "O(N) where N is the number of client connections",
		Summary: "Kill the connection of a client",
		Flags:   clientFlags | Admin,
		History: []Change{
			{"2.8.12", "Added new filter format."}, {"2.8.12", "`ID` option."}, {"3.2.0", "Added `master` type in for `TYPE` option."},
			{"5.0.0", "Replaced `slave` `TYPE` with `replica`. `slave` still supported for backward compatibility."},
			{"6.2.0", "`LADDR` option."},
		},
		Reply: reply.OneOf(reply.OK(), reply.Int()),
	}, clientKillGrammar(), runClientKill)
}

// clientKillGrammar documents what parseClientKill reads.
func clientKillGrammar() *grammar.Grammar {
	type params = clientKillParams
	text := func(name string) grammar.Node {
		return grammar.Bytes(name, func(*params) *[]byte { return new([]byte) })
	}
	class := func(name, since string) grammar.Node {
		return grammar.Token(name, func(*params) *bool { return new(bool) }).Since(since)
	}
	return grammar.Compile[clientKillParams](
		grammar.Custom("", parseClientKill, grammar.OneOf("filter",
			text("ip:port").DeprecatedSince("2.8.12"),
			grammar.OneOf("new-format",
				grammar.Opt(grammar.Int("client-id", func(*params) *int64 { return new(int64) }).After("ID").Since("2.8.12")),
				grammar.Opt(grammar.OneOf("normal_master_slave_pubsub",
					class("NORMAL", ""), class("MASTER", "3.2.0"), class("SLAVE", ""), class("REPLICA", "5.0.0"), class("PUBSUB", ""),
				).After("TYPE").Since("2.8.12")),
				grammar.Opt(text("username").After("USER")),
				grammar.Opt(text("ip:port").After("ADDR")),
				grammar.Opt(text("ip:port").After("LADDR").Since("6.2.0")),
				grammar.Opt(text("yes/no").After("SKIPME")),
			).Multiple(),
		)),
	).WithArity(-2, "the filters of the new form are optional only each by itself")
}

func parseClientKill(p *clientKillParams, args [][]byte) (int, *grammar.Error) {
	if len(args) == 1 {
		p.old, p.addr = true, args[0]
		return 1, nil
	}
	p.keepSelf = true
	for i := 0; i < len(args); i += 2 {
		if i+1 == len(args) {
			return i, grammar.Fail(grammar.Syntax, "")
		}
		if err := p.filter(args[i], args[i+1]); err != nil {
			return i, err
		}
	}
	return len(args), nil
}

// filter reads one pair of CLIENT KILL's new form.
func (p *clientKillParams) filter(word, value []byte) *grammar.Error {
	switch {
	case equalFold(word, "id"):
		id, ok := grammar.ParseInt(value)
		if !ok || id < 1 {
			return grammar.Fail(grammar.Other, "client-id should be greater than 0")
		}
		p.id = id
	case equalFold(word, "type"):
		class, err := parseClientClass(value)
		if err != nil {
			return err
		}
		p.class = class
	case equalFold(word, "addr"):
		p.addr = value
	case equalFold(word, "laddr"):
		p.laddr = value
	case equalFold(word, "user"):
		p.user = value
	case equalFold(word, "skipme") && equalFold(value, "yes"):
		p.keepSelf = true
	case equalFold(word, "skipme") && equalFold(value, "no"):
		p.keepSelf = false
	default:
		return grammar.Fail(grammar.Syntax, "")
	}
	return nil
}

func (p *clientKillParams) matches(row *ClientRow) bool {
	return (p.addr == nil || row.RemoteAddr == string(upToNul(p.addr))) &&
		(p.laddr == nil || row.LocalAddr == string(upToNul(p.laddr))) &&
		(p.class == nil || row.Class == *p.class) &&
		(p.id == 0 || row.ID == p.id) &&
		(p.user == nil || row.User == string(p.user))
}

func runClientKill(s *Session, p *clientKillParams, w *reply.Writer) error {
	if p.user != nil && s.Core.Users.Find(string(p.user)) == nil {
		return errNoSuchUser(p.user)
	}
	s.Peer.Refresh()
	killed := int64(0)
	s.Core.Clients.Each(func(c Client) bool {
		row := c.Row()
		self := row.ID == s.Peer.ID()
		if self && p.keepSelf || !p.matches(&row) {
			return true
		}
		killed++
		if self {
			s.next = CloseAfterReply
		} else {
			s.Core.endWait(row.ID) // nothing is to be taken for it any more
			c.Kill()
		}
		return true
	})
	switch {
	case !p.old:
		w.Int(killed)
	case killed == 0:
		return errNoSuchClient
	default:
		w.OK()
	}
	return nil
}

type clientReplyParams struct{ mode uint8 } // clientReplyOn, …

const (
	clientReplyOn = iota + 1
	clientReplyOff
	clientReplySkip
)

func clientReplyCommand() *Command {
	return onSession(Declaration{
		Name: "reply", Since: "3.2.0", Complexity: "O(1)",
		Summary: "Instruct the server whether to reply to commands",
		Flags:   clientFlags, Reply: reply.OK(),
	}, grammar.Compile[clientReplyParams](
		grammar.Enum("on_off_skip", func(p *clientReplyParams) *uint8 { return &p.mode }, "ON", "OFF", "SKIP"),
	), runClientReply)
}

// runClientReply writes a reply for ON alone.
func runClientReply(s *Session, p *clientReplyParams, w *reply.Writer) error {
	switch p.mode {
	case clientReplyOn:
		s.mode = replyOn
		w.OK()
	case clientReplyOff:
		s.mode = replyOff
	case clientReplySkip:
		if s.mode != replyOff {
			s.mode = replySkipNext
		}
	}
	return nil
}

type switchParams struct{ to uint8 } // 1 ON, 2 OFF

// clientSwitchCommand declares a subcommand that sets a flag of the session.
func clientSwitchCommand(name, since, summary string, flags Flags, field func(*Session) *bool) *Command {
	return onSession(Declaration{
		Name: name, Since: since, Complexity: "O(1)", Summary: summary,
		Flags: clientFlags | flags, Reply: reply.OK(),
	}, grammar.Compile[switchParams](
		grammar.Enum("enabled", func(p *switchParams) *uint8 { return &p.to }, "ON", "OFF"),
	), func(s *Session, p *switchParams, w *reply.Writer) error {
		*field(s) = p.to == 1
		w.OK()
		return nil
	})
}

func clientHelpCommand() *Command {
	return helpCommand("client",
		"GETREDIR", "    Return the client ID we are redirecting to when tracking is enabled.",
		"GETNAME", "    Return the name of the current connection.",
		"ID", "    Return the ID of the current connection.",
		"INFO", "    Return information about the current client connection.",
		"KILL <ip:port>", "    Kill connection made from <ip:port>.",
		"KILL <option> <value> [<option> <value> [...]]", "    Kill connections. Options are:",
		"    * ADDR (<ip:port>|<unixsocket>:0)", "      Kill connections made from the specified address",
		"    * LADDR (<ip:port>|<unixsocket>:0)", "      Kill connections made to specified local address",
		"    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)", "      Kill connections by type.",
		"    * USER <username>", "      Kill connections authenticated by <username>.",
		"    * SKIPME (YES|NO)", "      Skip killing current connection (default: yes).",
		"LIST [options ...]", "    Return information about client connections. Options:",
		"    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)", "      Return clients of specified type.",
		"UNPAUSE", "    Stop the current client pause, resuming traffic.",
		"PAUSE <timeout> [WRITE|ALL]", "    Suspend all, or just write, clients for <timeout> milliseconds.",
		"REPLY (ON|OFF|SKIP)", "    Control the replies sent to the current connection.",
		"SETINFO (LIB-NAME|LIB-VER) <value>", "    Tell the name or version of the client's library.",
		"SETNAME <name>", "    Assign the name <name> to the current connection.",
		"CACHING (YES|NO)", "    Enable/disable tracking of the keys for next command in OPTIN/OPTOUT modes.",
		"TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]]", "         [OPTIN] [OPTOUT] [NOLOOP]", "    Control server assisted client side caching.",
		"TRACKINGINFO", "    Report tracking status for the current connection.",
		"UNBLOCK <clientid> [TIMEOUT|ERROR]", "    Unblock the specified blocked client.",
		"NO-EVICT (ON|OFF)", "    Protect current client connection from eviction.",
		"NO-TOUCH (ON|OFF)", "    Will not touch LRU/LFU stats when this mode is on.",
	)
}
