package commands

import (
	"time"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns the way of a command line through a session: look-up,
// admission, locks, handler, reply. It is the only place where a handler's
// error becomes a reply. It must not know any command by name.

// Execute runs one command line and appends its reply to out. argv is valid
// during the call only.
func (s *Session) Execute(out []byte, argv [][]byte) ([]byte, Next) {
	w := &s.writer
	w.Reset(out)
	w.SetProto(s.Proto)
	s.next = Continue
	mark := w.Mark()
	s.Core.stats.Commands.Add(1)
	c := s.Core.Table.find(argv)
	if err := s.admit(c, argv); err != nil {
		s.reject(c, err, argv)
	} else if s.multi.open && !c.is(Immediate) {
		s.multi.add(c, argv)
		w.Status("QUEUED")
	} else {
		s.LastCommand = c
		s.call(c, argv[c.words():])
	}
	s.taken = min(s.taken+1, len(s.batch))
	s.filterReply(mark)
	return w.Bytes(), s.next
}

// filterReply drops what CLIENT REPLY OFF or SKIP says the client will not
// read.
func (s *Session) filterReply(mark int) {
	switch s.mode {
	case replyOff, replySkip:
		s.writer.Truncate(mark)
		if s.mode == replySkip {
			s.mode = replyOn
		}
	case replySkipNext:
		s.mode = replySkip
	}
}

// admit finds what stands against running c before its arguments are looked
// at, in the order of Redis's processCommand.
func (s *Session) admit(c *Command, argv [][]byte) error {
	if c == nil {
		return errUnknownCommand(argv)
	}
	if c.subs != nil {
		if len(argv) < 2 {
			return errArity(c)
		}
		return errUnknownSubcommand(c, argv[1])
	}
	if n := c.arity(); n > 0 && len(argv) != n || len(argv) < -n {
		return errArity(c)
	}
	if !s.Authenticated && !c.is(NoAuth) {
		return ErrNoAuth
	}
	if s.multi.open && c.is(NoMulti) {
		return ErrNoMulti
	}
	return nil
}

// reject answers a command that does not run; inside MULTI it spoils the
// transaction.
func (s *Session) reject(c *Command, err error, argv [][]byte) {
	s.multi.spoil()
	s.Core.stats.Rejected.Add(1)
	s.fail(c, err, argv)
}

func (s *Session) fail(c *Command, err error, argv [][]byte) {
	s.Core.stats.Errors.Add(1)
	s.writer.ErrorLine(errText(c, err, argv))
}

// call runs an admitted command outside of EXEC. args are what follows its name.
func (s *Session) call(c *Command, args [][]byte) {
	start := time.Now()
	if c.data != nil && c.Offload {
		s.offload(c, args, start)
		return
	}
	mark := s.writer.Mark()
	var err error
	if c.session != nil {
		err = c.session(s, args, &s.writer)
	} else {
		err = s.onData(c, args)
	}
	if err != nil {
		s.writer.Truncate(mark)
		s.fail(c, err, args)
	}
	c.stats.add(time.Since(start), err != nil)
}

// onData runs a command on data in a transaction of its own.
func (s *Session) onData(c *Command, args [][]byte) error {
	if c.is(Write) {
		if err := s.Core.Engine.Ready(); err != nil {
			return err
		}
	}
	tx := s.begin()
	s.lock(tx, c, args)
	err := c.data(tx, args, &s.writer)
	tx.Commit()
	s.raise(tx.GateSeq())
	tx.Done()
	return err
}

// lock takes what c declares. A command with exactly one key, the common case,
// neither parses nor allocates for it.
func (s *Session) lock(tx *engine.Tx, c *Command, args [][]byte) {
	switch c.Lock {
	case LockAll:
		tx.LockAll()
	case LockNone:
	case LockKeys:
		if at := c.grammar.OnlyKey(); at >= 0 && at < len(args) {
			tx.LockPlace(s.place(args[at]))
			return
		}
		if keys, ok := keysOf(c.grammar, args); ok {
			tx.LockKeys(keys)
		} else {
			tx.LockAll()
		}
	}
}

// keysOf are the keys in args; it reports false when args do not tell.
func keysOf(g *grammar.Shape, args [][]byte) ([][]byte, bool) {
	var buf [16]grammar.KeyRef
	refs, ok := g.Keys(buf[:0], args)
	if !ok {
		return nil, false
	}
	keys := make([][]byte, len(refs))
	for i, ref := range refs {
		keys[i] = args[ref.Index]
	}
	return keys, true
}

// offload parks the session and runs c on a worker with its own writer and
// transaction. The arguments are copied: the input buffer is used again.
func (s *Session) offload(c *Command, args [][]byte, start time.Time) {
	args = copyArgs(args)
	tx := s.begin()
	proto := s.Proto
	s.next = Park
	go func() {
		s.Core.workers <- struct{}{}
		var w reply.Writer
		w.SetProto(proto)
		mark := w.Mark()
		err := s.Core.Engine.Ready()
		if err == nil || !c.is(Write) {
			err = c.data(tx, args, &w)
		}
		tx.Commit()
		if err != nil {
			w.Truncate(mark)
			s.Core.stats.Errors.Add(1)
			w.ErrorLine(errText(c, err, args))
		}
		gate := tx.GateSeq()
		tx.Done()
		c.stats.add(time.Since(start), err != nil)
		<-s.Core.workers
		s.Peer.Resume(func(out []byte) []byte {
			s.raise(gate)
			return append(out, w.Bytes()...)
		})
	}()
}

// copyArgs copies argv into one allocation.
func copyArgs(argv [][]byte) [][]byte {
	size := 0
	for _, a := range argv {
		size += len(a)
	}
	buf := make([]byte, 0, size)
	out := make([][]byte, len(argv))
	for i, a := range argv {
		from := len(buf)
		buf = append(buf, a...)
		out[i] = buf[from:len(buf):len(buf)]
	}
	return out
}

// prefetched is the place of a command's key, computed when its batch was
// announced.
type prefetched struct {
	place engine.Place
	known bool
}

// Prefetch announces a command of the next batch; see engine.Prefetch for the
// phases. Commands execute in the order in which phase 0 announced them.
func (s *Session) Prefetch(argv [][]byte, phase int) {
	if phase == 0 {
		if s.taken == len(s.batch) {
			s.batch, s.taken, s.walked = s.batch[:0], 0, 0
		}
		p := s.announced(argv)
		s.batch = append(s.batch, p)
		if p.known {
			s.Core.Engine.Prefetch(p.place, 0)
		}
		return
	}
	// Phase 1 walks the same batch from its start.
	if s.walked >= len(s.batch) {
		return
	}
	if p := &s.batch[s.walked]; p.known {
		s.Core.Engine.Prefetch(p.place, 1)
	}
	s.walked++
}

func (s *Session) announced(argv [][]byte) prefetched {
	c := s.Core.Table.find(argv)
	if c == nil || c.data == nil || c.Lock != LockKeys {
		return prefetched{}
	}
	at := c.grammar.OnlyKey() + c.words()
	if at < c.words() || at >= len(argv) {
		return prefetched{}
	}
	return prefetched{engine.Locate(s.DB, argv[at]), true}
}

// place is where key lives, from the batch when it was announced.
func (s *Session) place(key []byte) engine.Place {
	if s.taken < len(s.batch) {
		if p := &s.batch[s.taken]; p.known && p.place.Is(s.DB, key) {
			return p.place
		}
	}
	return engine.Locate(s.DB, key)
}
