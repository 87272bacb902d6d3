package commands

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"reminis/commands/grammar"
	"reminis/commands/reply"
)

// This file owns CLIENT PAUSE and UNPAUSE: commands that wait until the pause is
// over. A paused session has its command executed again then, as if it came only
// now. It must not know sockets.

// pause is what is paused, and who waits for its end.
type pause struct {
	on      atomic.Bool // something is, or was until just now
	mu      sync.Mutex
	untilMs int64
	all     bool // all commands, not only those that may write
	timer   *time.Timer
	asleep  []func()
}

// begin pauses until untilMs, or as long, and as much, as is paused already
// (networking.c pauseClients).
func (p *pause) begin(k *Core, untilMs int64, all bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := k.Engine.NowMs()
	if untilMs <= now && p.untilMs <= now {
		return
	}
	p.untilMs, p.all = max(p.untilMs, untilMs), p.all || all
	p.on.Store(true)
	k.Engine.Freeze(true)
	if p.timer != nil {
		p.timer.Stop()
	}
	p.timer = time.AfterFunc(time.Duration(min(p.untilMs-now, math.MaxInt64/int64(time.Millisecond)))*time.Millisecond, func() { p.end(k) })
}

// end ends the pause and wakes who waits for that.
func (p *pause) end(k *Core) {
	p.mu.Lock()
	asleep := p.asleep
	p.untilMs, p.all, p.asleep = 0, false, nil
	if p.timer != nil {
		p.timer.Stop()
	}
	p.on.Store(false)
	k.Engine.Freeze(false)
	p.mu.Unlock()
	for _, wake := range asleep {
		wake()
	}
}

// holds says whether a command must wait; wake is then called at the end.
func (p *pause) holds(writes bool, wake func()) bool {
	if !p.on.Load() {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.untilMs == 0 || !p.all && !writes {
		return false
	}
	p.asleep = append(p.asleep, wake)
	return true
}

// paused says whether a command that was admitted waits for the end of a pause; the
// session is then blocked.
func (s *Session) paused(c *Command, argv [][]byte) bool {
	pause := &s.Core.pause
	if !pause.on.Load() {
		return false
	}
	writes := s.flags(c, argv)&(Write|MayReplicate) != 0
	if !pause.holds(writes, func() { s.Peer.Resume(nil) }) {
		return false
	}
	s.next = Postpone
	return true
}

type clientPauseParams struct {
	timeout []byte
	all     bool
	tooMany bool
}

func clientPauseCommand() *Command {
	type params = clientPauseParams
	return onSession(Declaration{
		Name: "pause", Since: "2.9.50", Complexity: "O(1)",
		Summary: "Stop processing commands from clients for some time",
		Flags:   clientFlags | Admin,
		History: []Change{{"6.2.0", "`CLIENT PAUSE WRITE` mode added along with the `mode` option."}},
		Reply:   reply.OK(),
	}, grammar.Compile[params](
		grammar.Custom("", parseClientPause,
			grammar.Int("timeout", func(*params) *int64 { return new(int64) }),
			grammar.Opt(grammar.OneOf("mode", grammar.Token("WRITE", func(*params) *bool { return new(bool) }),
				grammar.Token("ALL", func(*params) *bool { return new(bool) })).Since("6.2.0")),
		),
	), runClientPause)
}

// parseClientPause looks at the mode before the timeout (networking.c
// clientCommand).
func parseClientPause(p *clientPauseParams, args [][]byte) (int, *grammar.Error) {
	p.timeout, p.all, p.tooMany = args[0], true, len(args) > 2
	if len(args) == 2 {
		p.all = equalFold(args[1], "all")
		if !p.all && !equalFold(args[1], "write") {
			return 1, grammar.Fail(grammar.Other, "ERR CLIENT PAUSE mode must be WRITE or ALL")
		}
	}
	return len(args), nil
}

func runClientPause(s *Session, p *clientPauseParams, w *reply.Writer) error {
	if p.tooMany {
		return errSubcommand
	}
	ms, ok := grammar.ParseInt(p.timeout)
	switch {
	case !ok:
		return errTimeoutInteger
	case ms < 0:
		return errTimeoutNegative
	}
	// A sum beyond the last millisecond wraps into the past, as in Redis.
	s.Core.pause.begin(s.Core, s.Core.Engine.NowMs()+ms, p.all)
	w.OK()
	return nil
}

func clientUnpauseCommand() *Command {
	return onSession(Declaration{
		Name: "unpause", Since: "6.2.0", Complexity: "O(N) Where N is the number of paused clients",
		Summary: "Resume processing of clients that were paused",
		Flags:   clientFlags | Admin, Reply: reply.OK(),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		s.Core.pause.end(s.Core)
		w.OK()
		return nil
	})
}
