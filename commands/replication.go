package commands

import (
	"math"
	"strings"
	"time"

	"reminis/commands/grammar"
	"reminis/commands/reply"
)

// This file owns the commands of replication on a server that has no replicas and
// is none: what only asks is answered as such a Redis does, what would make a
// replica is refused.

func replicationCommands() []*Command {
	return []*Command{
		roleCommand(), waitCommand(), replicaOfCommand(), slaveOfCommand(), failoverCommand(),
		replConfCommand(), pSyncCommand(), syncCommand(),
	}
}

func roleCommand() *Command {
	return onSession(Declaration{
		Name: "role", Family: Server, Since: "2.8.12", Complexity: "O(1)",
		Summary: "Return the role of the instance in the context of replication",
		Flags:   NoScript | Loading | Stale | Fast, Categories: []string{"admin", "dangerous"},
		Reply: reply.Tuple(reply.Bulk(), reply.Int(), reply.ArrayOf(reply.Any())),
	}, grammar.Compile[noParams](), func(_ *Session, _ *noParams, w *reply.Writer) error {
		w.Array(3)
		w.BulkString("master")
		w.Int(0)
		w.Array(0)
		return nil
	})
}

type waitParams struct{ replicas, timeoutMs int64 }

// waitCommand: there are no replicas, so none acknowledges, and waiting for one
// would only take the time that the client allows (0: for ever).
func waitCommand() *Command {
	return onSession(Declaration{
		Name: "wait", Family: Generic, Since: "3.0.0", Complexity: "O(1)",
		Summary: "Wait for the synchronous replication of all the write commands sent in the context of the current connection",
		Flags:   NoScript, Categories: []string{"-keyspace", "connection"},
		Tips:  []string{"request_policy:all_shards", "response_policy:agg_min"},
		Reply: reply.Int(),
	}, grammar.Compile[waitParams](
		grammar.Int("numreplicas", func(p *waitParams) *int64 { return &p.replicas }),
		grammar.Int("timeout", func(p *waitParams) *int64 { return &p.timeoutMs }).
			Range(0, int64(time.Hour/time.Millisecond*24*36500)).
			Fail(grammar.NotInteger, "timeout is not an integer or out of range").
			Fail(grammar.OutOfRange, "timeout is negative"),
	), func(_ *Session, _ *waitParams, w *reply.Writer) error {
		w.Int(0)
		return nil
	})
}

// replicaOfParams: of "NO ONE" and a host with its port, either may be meant by
// words, so both are read as they are.
type replicaOfParams struct{ host, port []byte }

func replicaOfGrammar() *grammar.Grammar {
	return grammar.Compile[replicaOfParams](grammar.Custom("", (*replicaOfParams).parse,
		grammar.OneOf("args",
			grammar.Block("host-port", grammar.Bytes[*replicaOfParams]("host", nil), grammar.Int[*replicaOfParams]("port", nil)),
			grammar.Block("no-one", grammar.Token[*replicaOfParams]("NO", nil), grammar.Token[*replicaOfParams]("ONE", nil)),
		)))
}

func (p *replicaOfParams) parse(args [][]byte) (int, *grammar.Error) {
	p.host, p.port = args[0], args[1]
	return 2, nil
}

func replicaOfCommand() *Command {
	return onSession(Declaration{
		Name: "replicaof", Family: Server, Since: "5.0.0", Complexity: "O(1)",
		Summary: "Make the server a replica of another instance, or promote it as master.",
		Flags:   NoAsyncLoading | Admin | NoScript | Stale,
		Reply:   reply.OK(),
	}, replicaOfGrammar(), runReplicaOf)
}

func slaveOfCommand() *Command {
	return onSession(Declaration{
		Name: "slaveof", Family: Server, Since: "1.0.0", Complexity: "O(1)", DeprecatedSince: "5.0.0", ReplacedBy: "`REPLICAOF`",
		Summary: "Make the server a replica of another instance, or promote it as master.",
		Flags:   NoAsyncLoading | Admin | NoScript | Stale,
		Reply:   reply.OK(),
	}, replicaOfGrammar(), runReplicaOf)
}

// runReplicaOf: a server that is no replica may be told to be none.
func runReplicaOf(_ *Session, p *replicaOfParams, w *reply.Writer) error {
	if equalFold(p.host, "no") && equalFold(p.port, "one") {
		w.OK()
		return nil
	}
	if port, ok := grammar.ParseInt(p.port); !ok || port < 0 || port > math.MaxUint16 {
		return errPrimaryPort
	}
	return errNoReplication
}

type failoverParams struct {
	host         []byte
	port, ms     int64
	to, limited  bool
	force, abort bool
}

func failoverCommand() *Command {
	return onSession(Declaration{
		Name: "failover", Family: Server, Since: "6.2.0", Complexity: "O(1)",
		Summary: "Start a coordinated failover between this server and one of its replicas.",
		Flags:   Admin | NoScript | Stale,
		Reply:   reply.OK(), Unavailable: errFailoverReplicas,
	}, grammar.Compile[failoverParams](grammar.Custom("", (*failoverParams).parse,
		grammar.Opt(grammar.Block("target",
			grammar.Bytes[*failoverParams]("host", nil), grammar.Int[*failoverParams]("port", nil),
			grammar.Opt(grammar.Token[*failoverParams]("FORCE", nil))).After("TO")),
		grammar.Opt(grammar.Token[*failoverParams]("ABORT", nil)),
		grammar.Opt(grammar.Int[*failoverParams]("milliseconds", nil).After("TIMEOUT")),
	)), runFailover)
}

// parse reads the options as replication.c failoverCommand does: in any order,
// FORCE without TO, too, and ABORT only alone.
func (p *failoverParams) parse(args [][]byte) (int, *grammar.Error) {
	if len(args) == 1 && equalFold(args[0], "abort") {
		p.abort = true
		return 1, nil
	}
	ok := false
	for i := 0; i < len(args); i++ {
		switch {
		case equalFold(args[i], "timeout") && i+1 < len(args) && !p.limited:
			if p.ms, ok = grammar.ParseInt(args[i+1]); !ok {
				return 0, grammar.Fail(grammar.NotInteger, "")
			} else if p.ms <= 0 {
				return 0, grammar.Fail(grammar.Other, "ERR FAILOVER timeout must be greater than 0")
			}
			p.limited = true
			i++
		case equalFold(args[i], "to") && i+2 < len(args) && !p.to:
			if p.port, ok = grammar.ParseInt(args[i+2]); !ok {
				return 0, grammar.Fail(grammar.NotInteger, "")
			}
			p.host, p.to = args[i+1], true
			i += 2
		case equalFold(args[i], "force") && !p.force:
			p.force = true
		default:
			return 0, grammar.Fail(grammar.Syntax, "")
		}
	}
	return len(args), nil
}

func runFailover(_ *Session, p *failoverParams, _ *reply.Writer) error {
	if p.abort {
		return errFailoverNone
	}
	return errFailoverReplicas
}

// replConfCommand: what a replica says of itself before it asks for the data. It
// is heard; that there is no data for it, PSYNC says.
func replConfCommand() *Command {
	return onSession(Declaration{
		Name: "replconf", Family: Server, Since: "3.0.0", Complexity: "O(1)",
		Summary: "An internal command for configuring the replication stream", DocFlags: []string{"syscmd"},
		Flags: Admin | NoScript | Loading | Stale | AllowBusy,
		Reply: reply.OK(),
	}, grammar.Compile[replConfParams](
		grammar.Opt(grammar.Rest("option", func(p *replConfParams) *[][]byte { return &p.options })).DocumentedAs(),
	), runReplConf)
}

type replConfParams struct{ options [][]byte }

func runReplConf(s *Session, p *replConfParams, w *reply.Writer) error {
	if len(p.options)%2 != 0 {
		return ErrSyntax
	}
	for i := 0; i < len(p.options); i += 2 {
		option, value := p.options[i], p.options[i+1]
		number, isNumber := grammar.ParseInt(value)
		switch {
		case equalFold(option, "ack"), equalFold(option, "getack"):
			// These go between a primary and its replica, and are not answered.
			if s.tx != nil {
				return errUnanswered
			}
			return nil
		case equalFold(option, "listening-port"):
			if !isNumber {
				return ErrNotInteger
			}
		case equalFold(option, "rdb-only"):
			if !isNumber {
				return ErrNotInteger
			} else if number < 0 || number > 1 {
				return errNotFlag
			}
		case equalFold(option, "rdb-filter-only"):
			for _, word := range strings.Fields(string(value)) {
				if !strings.EqualFold(word, "functions") {
					return errReplConfFilter(word)
				}
			}
		case equalFold(option, "ip-address"), equalFold(option, "capa"):
		default:
			return errReplConfOption(string(upToNul(option)))
		}
	}
	w.OK()
	return nil
}

type pSyncParams struct {
	id     []byte
	offset []byte
	rest   [][]byte
}

func pSyncCommand() *Command {
	return unavailable(Declaration{
		Name: "psync", Family: Server, Since: "2.8.0",
		Summary: "Internal command used for replication",
		Flags:   NoAsyncLoading | Admin | NoScript | NoMulti,
	}, grammar.Compile[pSyncParams](
		grammar.Bytes("replicationid", func(p *pSyncParams) *[]byte { return &p.id }),
		grammar.Bytes("offset", func(p *pSyncParams) *[]byte { return &p.offset }).Typed(grammar.TypeInteger),
		grammar.Opt(grammar.Rest("option", func(p *pSyncParams) *[][]byte { return &p.rest })).DocumentedAs(),
	), errNoReplication)
}

func syncCommand() *Command {
	return unavailable(Declaration{
		Name: "sync", Family: Server, Since: "1.0.0",
		Summary: "Internal command used for replication",
		Flags:   NoAsyncLoading | Admin | NoScript | NoMulti,
	}, grammar.Compile[noParams](), errNoReplication)
}
