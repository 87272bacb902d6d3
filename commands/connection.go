package commands

import (
	"strings"

	"reminis/commands/acl"
	"reminis/commands/grammar"
	"reminis/commands/reply"
)

// This file owns the life of a connection between its commands: HELLO, AUTH,
// RESET, QUIT, PING, ECHO. It must not know other connections; those are
// client.go's.

func connectionCommands() []*Command {
	return []*Command{
		pingCommand(), echoCommand(), quitCommand(), resetCommand(), authCommand(), helloCommand(), clientCommand(),
	}
}

type pingParams struct {
	message []byte
	given   bool
	extra   [][]byte
}

func pingCommand() *Command {
	return onSession(Declaration{
		Name: "ping", Family: Connection, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Ping the server",
		Flags:   Fast | Subscribed, Tips: []string{"request_policy:all_shards", "response_policy:all_succeeded"},
		Reply: reply.OneOf(reply.Status("PONG"), reply.Bulk(), reply.Tuple(reply.Bulk(), reply.Bulk())),
	}, grammar.Compile[pingParams](
		grammar.Opt(grammar.Bytes("message", func(p *pingParams) *[]byte { return &p.message }).Present(grammar.BoolOf(func(p *pingParams) *bool { return &p.given }))),
		// More is an arity error, which the arity does not say.
		grammar.Opt(grammar.Rest("extra", func(p *pingParams) *[][]byte { return &p.extra }).DocumentedAs()),
	), runPing)
}

func runPing(s *Session, p *pingParams, w *reply.Writer) error {
	if len(p.extra) > 0 {
		return grammar.Fail(grammar.Arity, "")
	}
	if s.Proto == 2 && s.subscribed() {
		// A reply that cannot be taken for a message's (server.c pingCommand).
		w.Array(2)
		w.BulkString("pong")
		w.Bulk(p.message)
		return nil
	}
	if p.given {
		w.Bulk(p.message)
		return nil
	}
	w.Status("PONG")
	return nil
}

type echoParams struct{ message []byte }

func echoCommand() *Command {
	return onSession(Declaration{
		Name: "echo", Family: Connection, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Echo the given string",
		Flags:   Loading | Stale | Fast,
		Reply:   reply.Bulk(),
	}, grammar.Compile[echoParams](
		grammar.Bytes("message", func(p *echoParams) *[]byte { return &p.message }),
	), func(_ *Session, p *echoParams, w *reply.Writer) error {
		w.Bulk(p.message)
		return nil
	})
}

type quitParams struct{ ignored [][]byte }

func quitCommand() *Command {
	return onSession(Declaration{
		Name: "quit", Family: Connection, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Close the connection",
		Flags:   AllowBusy | NoScript | Loading | Stale | Fast | NoAuth | Immediate | Subscribed,
		Reply:   reply.OK(),
	}, grammar.Compile[quitParams](
		// Redis takes any arguments and documents none.
		grammar.Opt(grammar.Rest("ignored", func(p *quitParams) *[][]byte { return &p.ignored }).DocumentedAs()),
	), func(s *Session, _ *quitParams, w *reply.Writer) error {
		s.next = CloseAfterReply
		w.OK()
		return nil
	})
}

func resetCommand() *Command {
	return onSession(Declaration{
		Name: "reset", Family: Connection, Since: "6.2.0", Complexity: "O(1)",
		Summary: "Reset the connection",
		Flags:   NoScript | Loading | Stale | Fast | NoAuth | AllowBusy | Immediate | Subscribed,
		Reply:   reply.Status("RESET"),
	}, grammar.Compile[noParams](), runReset)
}

// runReset makes the session as good as new (networking.c
// clearClientConnectionState). As in Redis, NO-EVICT and NO-TOUCH stay.
func runReset(s *Session, _ *noParams, w *reply.Writer) error {
	s.multi.reset()
	s.endMonitor()
	s.endSubscriptions()
	s.endTracking()
	s.takePushed()
	s.unwatch()
	s.DB, s.Proto, s.mode = 0, 2, replyOn
	s.end.proto.Store(2)
	s.becomeDefault()
	s.SetName("")
	w.SetProto(2)
	w.Status("RESET")
	return nil
}

type authParams struct{ user, password []byte }

// hasUser tells AUTH user password from AUTH password.
func (p *authParams) hasUser() bool { return p.user != nil }

func authCommand() *Command {
	return onSession(Declaration{
		Name: "auth", Family: Connection, Since: "1.0.0", Complexity: "O(N) where N is the number of passwords defined for the user",
		Summary: "Authenticate to the server",
		Flags:   NoScript | Loading | Stale | Fast | NoAuth | AllowBusy,
		History: []Change{{"6.0.0", "Added ACL style (username and password)."}},
		Secret:  everyArgument,
		Reply:   reply.OK(),
	}, grammar.Compile[authParams](
		grammar.Custom("", parseAuth,
			grammar.Opt(grammar.Bytes("username", func(p *authParams) *[]byte { return &p.user }).Since("6.0.0")),
			grammar.Bytes("password", func(p *authParams) *[]byte { return &p.password }),
		),
	).WithArity(-2, "more than two arguments are a syntax error, not an arity error"), runAuth)
}

// parseAuth: the optional argument comes first, and three are a syntax error.
func parseAuth(p *authParams, args [][]byte) (int, *grammar.Error) {
	switch len(args) {
	case 1:
		p.password = args[0]
	case 2:
		p.user, p.password = args[0], args[1]
	default:
		return 0, grammar.Fail(grammar.Syntax, "")
	}
	return len(args), nil
}

func runAuth(s *Session, p *authParams, w *reply.Writer) error {
	user := p.user
	if !p.hasUser() {
		if s.Core.Users.Default().Rules().NoPass() {
			return ErrNoPassword
		}
		user = []byte(acl.DefaultName)
	}
	if err := s.authenticate(user, p.password); err != nil {
		return err
	}
	w.OK()
	return nil
}

// authenticate makes the session user's if the password is right.
func (s *Session) authenticate(user, password []byte) error {
	account := s.Core.Users.Authenticate(string(user), password)
	if account == nil {
		s.noteDenial(acl.DeniedAuth, s.words[0], string(user))
		return ErrWrongPass
	}
	s.become(account, true)
	return nil
}

// nameClient is SetName for a name that a client chose.
func (s *Session) nameClient(name []byte) error {
	for _, c := range name {
		if c < '!' || c > '~' {
			return errClientName
		}
	}
	s.SetName(string(name))
	return nil
}

// helloParams are the options of HELLO in order: they take effect one by one,
// up to the first that fails, as in Redis.
type helloParams struct {
	proto   int64 // 0: stays
	options []helloOption
	// syntax is the error behind the last option, or nil.
	syntax error
}

// helloOption is AUTH user password, or SETNAME name.
type helloOption struct{ user, password, name []byte }

func helloCommand() *Command {
	return onSession(Declaration{
		Name: "hello", Family: Connection, Since: "6.0.0", Complexity: "O(1)",
		Summary: "Handshake with Redis",
		Flags:   NoScript | Loading | Stale | Fast | NoAuth | AllowBusy,
		Secret:  helloSecret,
		History: []Change{{"6.2.0", "`protover` made optional; when called without arguments the command reports the current connection's context."}},
		Reply: reply.Record(
			reply.Field{Key: "server", Value: reply.Bulk()}, reply.Field{Key: "version", Value: reply.Bulk()},
			reply.Field{Key: "proto", Value: reply.Int()}, reply.Field{Key: "id", Value: reply.Int()},
			reply.Field{Key: "mode", Value: reply.Bulk()}, reply.Field{Key: "role", Value: reply.Bulk()},
			reply.Field{Key: "modules", Value: reply.ArrayOf(reply.Any())},
		),
	}, grammar.Compile[helloParams](
		grammar.Opt(grammar.Block("arguments",
			grammar.Int("protover", func(p *helloParams) *int64 { return &p.proto }).Range(2, 3).
				Fail(grammar.NotInteger, "Protocol version is not an integer or out of range").
				Fail(grammar.OutOfRange, "NOPROTO unsupported protocol version"),
			grammar.Opt(grammar.Custom("", parseHello,
				grammar.Opt(grammar.Block("username_password",
					grammar.Bytes("username", (*helloParams).noField),
					grammar.Bytes("password", (*helloParams).noField),
				).After("AUTH")),
				grammar.Opt(grammar.Bytes("clientname", (*helloParams).noField).After("SETNAME")),
			)),
		)),
	), runHello)
}

// noField stands for what parseHello fills.
func (p *helloParams) noField() *[]byte { return new([]byte) }

func parseHello(p *helloParams, args [][]byte) (int, *grammar.Error) {
	for i := 0; i < len(args); {
		switch word, left := string(args[i]), len(args)-i-1; {
		case strings.EqualFold(word, "auth") && left >= 2:
			p.options = append(p.options, helloOption{user: args[i+1], password: args[i+2]})
			i += 3
		case strings.EqualFold(word, "setname") && left >= 1:
			p.options = append(p.options, helloOption{name: args[i+1]})
			i += 2
		default:
			p.syntax = errHelloOption(args[i])
			return len(args), nil
		}
	}
	return len(args), nil
}

// helloSecret: the two arguments behind AUTH.
func helloSecret(_ *Core, args [][]byte, at int) bool {
	return at > 0 && equalFold(args[at-1], "auth") || at > 1 && equalFold(args[at-2], "auth")
}

func runHello(s *Session, p *helloParams, w *reply.Writer) error {
	for _, option := range p.options {
		if option.name != nil {
			if err := s.nameClient(option.name); err != nil {
				return err
			}
		} else if err := s.authenticate(option.user, option.password); err != nil {
			return err
		}
	}
	if p.syntax != nil {
		return p.syntax
	}
	if s.AuthRequired() {
		return errHelloNoAuth
	}
	if p.proto != 0 {
		s.setProto(int(p.proto))
	}
	w.Map(7)
	w.BulkString("server")
	w.BulkString("redis")
	w.BulkString("version")
	w.BulkString(RedisVersion)
	w.BulkString("proto")
	w.Int(int64(s.Proto))
	w.BulkString("id")
	w.Int(s.Peer.ID())
	w.BulkString("mode")
	w.BulkString("standalone")
	w.BulkString("role")
	w.BulkString("master")
	w.BulkString("modules")
	w.Array(0)
	return nil
}
