package commands

import (
	"reminis/commands/grammar"
	"reminis/commands/reply"
)

// This file owns CLIENT UNBLOCK.

type clientUnblockParams struct {
	id      int64
	byError bool
	tooMany bool // arguments
}

func clientUnblockCommand() *Command {
	return onSession(Declaration{
		Name: "unblock", Since: "5.0.0",
		Complexity: "O(log N) where N is the number of client connections",
		Summary:    "Unblock a client blocked in a blocking command from a different connection",
		Flags:      clientFlags | Admin,
		Reply:      reply.Int(),
	}, grammar.Compile[clientUnblockParams](
		grammar.Custom("", parseClientUnblock,
			grammar.Int("client-id", func(*clientUnblockParams) *int64 { return new(int64) }),
			grammar.Opt(grammar.OneOf("timeout_error",
				grammar.Token("TIMEOUT", func(*clientUnblockParams) *bool { return new(bool) }),
				grammar.Token("ERROR", func(*clientUnblockParams) *bool { return new(bool) }),
			)),
		),
	), runClientUnblock)
}

// parseClientUnblock looks at the reason before the id (networking.c
// clientCommand).
func parseClientUnblock(p *clientUnblockParams, args [][]byte) (int, *grammar.Error) {
	if len(args) > 2 {
		p.tooMany = true
		return len(args), nil
	}
	if len(args) == 2 {
		if p.byError = equalFold(args[1], "error"); !p.byError && !equalFold(args[1], "timeout") {
			return 1, grammar.Fail(grammar.Other, "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
		}
	}
	id, ok := grammar.ParseInt(args[0])
	if !ok {
		return 0, grammar.Fail(grammar.NotInteger, "")
	}
	p.id = id
	return len(args), nil
}

func runClientUnblock(s *Session, p *clientUnblockParams, w *reply.Writer) error {
	if p.tooMany {
		return errSubcommand
	}
	b := s.Core.endWait(p.id)
	if b == nil {
		w.Int(0)
		return nil
	}
	if p.byError {
		b.giveUp(errUnblocked)
	} else {
		b.giveUp(nil)
	}
	w.Int(1)
	return nil
}
