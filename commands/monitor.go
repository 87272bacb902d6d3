package commands

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"reminis/commands/grammar"
	"reminis/commands/quoting"
	"reminis/commands/reply"
)

// This file owns MONITOR: a line for every command, to whoever asked. It must
// not know sockets.

// monitors are the sessions that see every command. Without any, a command pays
// for one look at the count.
type monitors struct {
	count    atomic.Int32
	mu       sync.Mutex
	sessions map[*Session]bool
}

func (m *monitors) add(s *Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sessions == nil {
		m.sessions = map[*Session]bool{}
	}
	m.sessions[s] = true
	m.count.Store(int32(len(m.sessions)))
}

func (m *monitors) remove(s *Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sessions, s)
	m.count.Store(int32(len(m.sessions)))
}

// push sends a line to all; they are told in no order, but each in order of the
// commands of one session.
func (m *monitors) push(line []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for s := range m.sessions {
		s.Peer.Push(line, 0)
	}
}

func monitorCommand() *Command {
	return onSession(Declaration{
		Name: "monitor", Family: Server, Since: "1.0.0",
		Summary: "Listen for all requests received by the server in real time",
		Flags:   Admin | NoScript | Loading | Stale,
		Reply:   reply.OK(),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		if s.tx != nil {
			return errMonitorInMulti
		}
		s.Monitoring = true
		s.Core.Observation.monitors.add(s)
		w.OK()
		return nil
	})
}

// endMonitor ends what MONITOR began.
func (s *Session) endMonitor() {
	if s.Monitoring {
		s.Monitoring = false
		s.Core.Observation.monitors.remove(s)
	}
}

// showMonitors tells monitors of a command that has run. What administers the
// server is not shown, as it may carry secrets.
func (s *Session) showMonitors(c *Command, argv [][]byte) {
	if c.Flags&(Admin|SkipMonitor) == 0 {
		s.tellMonitors(c, argv)
	}
}

// tellMonitors tells monitors of a command.
func (s *Session) tellMonitors(c *Command, argv [][]byte) {
	if s.Core.Observation.monitors.count.Load() == 0 {
		return
	}
	now := time.Now()
	from := s.Peer.RemoteAddr()
	if s.script != nil {
		from = "lua"
	}
	line := fmt.Appendf(nil, "+%d.%06d [%d %s]", now.Unix(), now.Nanosecond()/1000, s.DB, from)
	for i, arg := range argv {
		if s.secret(c, argv, i) {
			arg = []byte(redacted)
		}
		line = quoting.AppendQuoted(append(line, ' '), string(arg))
	}
	s.Core.Observation.monitors.push(append(line, "\r\n"...))
}
