// This file owns a group: the commands of one or more sessions that are parsed,
// prefetched and executed together. It must not know sockets.

package server

// A command is where one request of a group lies.
type command struct {
	// first and limit bound its arguments in group.arguments.
	first, limit int
	// end is the offset in its turn's window behind the request.
	end int
}

// A turn is one session's part in a group.
type turn struct {
	session *session
	window  []byte
	// inCarry says that window is the session's carry rather than bytes that
	// the driver reuses after the group.
	inCarry bool
	// first and limit bound its commands in group.commands.
	first, limit int
	// parsed is how much of window is whole requests; full says that parsing
	// stopped at the session's bound, so that more may follow.
	parsed int
	full   bool
}

// A group is reused from pass to pass. Its slices hold no pointers to buffers
// between groups.
type group struct {
	arguments [][]byte
	commands  []command
	turns     []turn
	pass      Pass
	pool      *pool
}

// add parses the session's commands out of window and gives it a turn.
func (g *group) add(s *session, window []byte, inCarry bool) {
	t := turn{session: s, window: window, inCarry: inCarry, first: len(g.commands)}
	limits := readLimits{
		bulkMaxBytes:  s.server.settings().BulkMaxBytes,
		authenticated: !s.executor.AuthRequired(),
	}
	most := s.commandsMax
	if !limits.authenticated {
		// The next command may change what is allowed.
		most = 1
	}
	s.info.queryBytes.Store(int64(len(window)))
	for {
		if len(g.commands)-t.first >= most {
			t.full = t.parsed < len(window)
			break
		}
		size, found := s.reader.next(window[t.parsed:], limits)
		if found != complete {
			break
		}
		g.appendCommand(&s.reader, window[t.parsed:t.parsed+size], t.parsed+size)
		s.reader.reset()
		t.parsed += size
	}
	t.limit = len(g.commands)
	g.turns = append(g.turns, t)
}

// appendCommand takes the arguments of a whole request. A request without any
// is nothing.
func (g *group) appendCommand(r *reader, request []byte, end int) {
	first := len(g.arguments)
	if r.inline != nil {
		g.arguments = append(g.arguments, r.inline...)
	} else {
		for _, at := range r.spans {
			g.arguments = append(g.arguments, request[at.first:at.limit:at.limit])
		}
	}
	if len(g.arguments) > first {
		g.commands = append(g.commands, command{first, len(g.arguments), end})
	}
}

// run prefetches and executes everything in the group and leaves each session
// with what it has to send and what is left of its input. The caller reads the
// turns and then calls clear.
func (g *group) run() {
	if len(g.commands) > 1 {
		g.pass.Begin()
		for phase, more := 0, true; more; phase++ {
			more = phase == 0
			for i := range g.turns {
				more = g.prefetch(&g.turns[i], phase) || more
			}
		}
		defer g.endBatch()
	}
	for i := range g.turns {
		g.execute(&g.turns[i])
	}
}

// endBatch ends what prefetch began.
func (g *group) endBatch() {
	for i := range g.turns {
		g.turns[i].session.executor.EndBatch()
	}
	g.pass.End()
}

func (g *group) prefetch(t *turn, phase int) (more bool) {
	for _, c := range g.commands[t.first:t.limit] {
		more = t.session.executor.Prefetch(g.arguments[c.first:c.limit:c.limit], phase) || more
	}
	return more
}

// execute runs one session's commands until one of them stops it, and leaves
// the rest of its input as its carry.
func (g *group) execute(t *turn) {
	s := t.session
	consumed, executed := 0, 0
	if t.first < t.limit {
		s.output(g.pool)
	}
	before := s.pending()
	for i := t.first; i < t.limit && s.phase == running && s.pending() < min(before+outputHighBytes, outputStopBytes); i++ {
		c := g.commands[i]
		out, action := s.executor.Execute(s.out, g.arguments[c.first:c.limit:c.limit])
		s.out = out
		if action == Retry || action == Postpone {
			s.act(action)
			break
		}
		consumed = c.end
		executed++
		if action != Continue {
			s.act(action)
		}
	}
	s.server.stats.commands.Add(int64(executed))
	switch {
	case s.phase >= finishing:
		consumed = len(t.window)
	case executed == t.limit-t.first && s.phase == running:
		consumed = t.parsed
		s.commandsMax = min(s.commandsMax*2, sessionCommandsMax)
		s.more = t.full
		g.refuse(s)
	default:
		// What was parsed ahead goes back to the input, to be parsed again.
		s.reader.reset()
		s.more = true
	}
	s.keep(t.window[consumed:], t.inCarry, g.pool)
	s.more = s.more && s.carry != nil
	s.noteOutput()
}

// refuse answers a request that is none, after everything before it was
// executed and answered, and ends the session.
func (g *group) refuse(s *session) {
	if s.reader.failure == "" {
		return
	}
	s.server.stats.protocolErrors.Add(1)
	s.out = append(s.output(g.pool), protocolErrorText...)
	s.out = append(s.out, s.reader.failure...)
	s.out = append(s.out, "\r\n"...)
	s.phase = finishing
}

// act changes the session's phase as its command asked.
func (s *session) act(action Action) {
	switch action {
	case Park, Retry:
		s.park(parked)
	case Block, Postpone:
		s.park(blocked)
	case CloseAfterReply:
		s.phase = finishing
	case CloseNow:
		s.phase = dead
	}
}

func (s *session) park(to phase) {
	s.phase = to
	s.commandsMax = 1
	s.info.parked.Store(true)
	s.info.set(FlagBlocked, to == blocked)
}

// clear forgets the group's commands, so that its slices pin no buffer.
func (g *group) clear() {
	clear(g.arguments)
	clear(g.turns)
	g.arguments, g.commands, g.turns = g.arguments[:0], g.commands[:0], g.turns[:0]
}
