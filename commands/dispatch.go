package commands

import (
	"time"

	"reminis/commands/acl"
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
	s.next, s.kept = Continue, 0
	if s.Monitoring || s.subscribed() || s.tracking != nil {
		s.takePushed()
	}
	mark := w.Mark()
	s.Core.stats.Commands.Add(1)
	s.current = s.take(argv)
	c := (*Command)(nil)
	if s.current != nil {
		c = s.current.command
	} else {
		c = s.find(argv)
	}
	err := error(nil)
	goesOn := s.exec.tx != nil // the line is the EXEC that is under way
	if !goesOn {
		err = s.admit(c, argv)
	}
	if s.tracking != nil {
		s.takePushed() // of keys that had to go to make room
	}
	if s.next == Retry { // once the script that is overdue has ended
		return s.putOff(mark)
	} else if err != nil {
		s.reject(c, err, argv)
	} else if !goesOn && s.paused(c, argv) {
		return s.putOff(mark)
	} else if s.multi.open && !c.is(Immediate) {
		s.multi.add(c, argv, s.Core.flagsOf(c, argv))
		w.Status("QUEUED")
	} else {
		s.LastCommand = c
		s.call(c, argv)
		if s.next == Retry {
			return s.putOff(mark)
		}
	}
	s.current = nil
	s.steady = err == nil && !goesOn && c.session == nil && s.next == Continue && !s.multi.open && s.tracking == nil && s.subscriptions == nil
	s.endCaching(c)
	s.filterReply(mark)
	return w.Bytes(), s.next
}

// putOff answers nothing to a command that is executed again later, and counts then.
func (s *Session) putOff(mark int) ([]byte, Next) {
	s.current = nil
	s.Core.stats.Commands.Add(-1)
	return s.writer.Bytes()[:mark], s.next
}

// filterReply drops what CLIENT REPLY OFF or SKIP says the client will not
// read.
func (s *Session) filterReply(mark int) {
	switch s.mode {
	case replyOff, replySkip:
		s.writer.Truncate(max(mark, s.kept))
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
	if c.subs != nil && len(argv) > 1 {
		return errUnknownSubcommand(c, argv[1])
	}
	if c.subs != nil && !c.runs() {
		return errArity(c)
	}
	if n := c.arity(); n > 0 && len(argv) != n || len(argv) < -n {
		return errArity(c)
	}
	if !c.is(NoAuth) && s.AuthRequired() {
		return ErrNoAuth
	}
	if s.multi.open && c.is(NoMulti) {
		return ErrNoMulti
	}
	s.lens, s.confined = nil, false
	if limits := s.account.Limits(); limits != nil {
		if denial := s.judge(limits, c, argv); denial != acl.Allowed {
			return errDenied(denial, c)
		}
	}
	if err := s.heldUp(c); err != nil || s.next == Retry {
		return err
	}
	if s.Core.loading.active.Load() && !c.is(Loading) {
		return ErrLoading
	}
	if err := s.admitMemory(c, argv); err != nil {
		return err
	}
	if s.Core.ReplicasWanted.Load() && s.flags(c, argv)&Write != 0 {
		return errNoReplicas
	}
	if s.Proto == 2 && s.subscribed() && !c.is(Subscribed) {
		return errSubscribed(c)
	}
	return nil
}

// reject answers a command that does not run; inside MULTI it spoils the
// transaction, and EXEC itself ends it (multi.c execCommandAbort).
func (s *Session) reject(c *Command, err error, argv [][]byte) {
	s.Core.stats.Rejected.Add(1)
	if c == nil && forged(argv[0]) {
		s.next = CloseNow
		return
	}
	if c != nil {
		c.stats.rejected.Add(1)
	}
	if c != nil && c.is(Executes) {
		s.endMulti()
		err = errExecAborted(err)
	}
	s.multi.spoil()
	s.fail(c, err, argv)
}

// forged says whether a line is not a command but part of an HTTP request that
// a browser was tricked into sending here (server.c securityWarningCommand).
func forged(word []byte) bool { return equalFold(word, "post") || equalFold(word, "host:") }

func (s *Session) fail(c *Command, err error, argv [][]byte) {
	if err == errOutputLimit {
		s.Peer.OverOutput()
		s.next = CloseNow
	}
	if err == errSubcommand {
		err = errUsage(upper(c.Parent.Name), s.words[1])
	}
	if what, ok := err.(errGeoOneOf); ok {
		err = what.by(s.words[0])
	}
	line := errText(c, err, argv)
	s.Core.stats.Errors.Add(1)
	s.Core.stats.errors.count(line)
	s.writer.ErrorLine(line)
}

// call runs an admitted command outside of EXEC.
func (s *Session) call(c *Command, argv [][]byte) {
	args := argv[c.words():]
	if c.run != nil && c.offloads(args) && (c.brief == nil || !c.brief(s, args)) {
		s.offload(c, args, time.Now())
		s.showMonitors(c, argv)
		return
	}
	precise := s.precise(c, argv)
	s.beginTiming(c, precise)
	mark := s.writer.Mark()
	var err error
	s.words = argv[:c.words()]
	if c.session != nil {
		s.dropData()
		err = c.session(s, args, &s.writer)
	} else {
		err = s.onData(c, args)
	}
	if s.next == Retry || s.next == Block {
		s.writer.Truncate(mark)
		s.dropTiming()
		if s.next == Block {
			s.showMonitors(c, argv)
		}
		return
	}
	if err != nil {
		s.writer.Truncate(mark)
		s.fail(c, err, args)
		c.stats.failed.Add(1)
	}
	if precise {
		s.endPrecise(c, argv)
	}
	s.showMonitors(c, argv)
	if len(s.batch.commands) == 0 {
		s.endTiming()
	}
}

// onData runs a command on data in a transaction of its own.
func (s *Session) onData(c *Command, args [][]byte) error {
	if c.is(Write) {
		if err := s.ready(); err != nil {
			return err
		}
	}
	tx := s.beginData()
	tx.Yields = true
	s.lock(tx, c, args)
	if tx.Yields = c.Lock == LockNone; tx.Refused() {
		return s.yield(tx)
	}
	err := c.run(tx, args, s.paramsOf(c), &s.writer)
	if tx.Refused() {
		s.dropParams()
		return s.yield(tx)
	}
	if pending, waits := err.(*wait); waits {
		s.block(tx, c, args, pending)
		err = nil
	}
	s.noteRead(c, args)
	tx.Commit()
	s.raise(tx.GateSeq())
	s.endData(tx)
	return err
}

// beginData is begin for a command on data: in a batch it takes the transaction of
// the one before it.
func (s *Session) beginData() *engine.Tx {
	tx := s.batch.tx
	if tx == nil {
		return s.begin()
	}
	s.batch.tx = nil
	tx.DB, tx.NoTouch, tx.Lens, tx.Confined = s.DB, s.NoTouch, s.lens, s.confined
	return tx
}

// paramsOf are params for c; those of the command that runs already, in the batch, are
// used again.
func (s *Session) paramsOf(c *Command) any {
	b := &s.batch
	if b.paramsOf != c {
		s.dropParams()
		b.params, b.paramsOf = c.params.Get(), c
	}
	return b.params
}

func (s *Session) dropParams() {
	if b := &s.batch; b.paramsOf != nil {
		b.paramsOf.params.Put(b.params)
		b.params, b.paramsOf = nil, nil
	}
}

// endData keeps a transaction that is committed for the next command of the batch.
func (s *Session) endData(tx *engine.Tx) {
	if len(s.batch.commands) == 0 {
		s.dropParams()
		tx.Done()
		return
	}
	tx.Again()
	s.batch.tx = tx
}

// dropData ends the transaction that endData has kept: the next command may act for
// somebody else, or at another time.
func (s *Session) dropData() {
	if s.batch.tx != nil {
		s.batch.tx.Done()
		s.batch.tx = nil
	}
}

// lock takes what c declares, and does not allocate. A line with exactly one key,
// the common case, is not parsed for it. If it is a record's, its owner is locked
// by whoever asks for it first.
func (s *Session) lock(tx *engine.Tx, c *Command, args [][]byte) {
	switch c.Lock {
	case LockAll:
		tx.LockAll()
	case LockNone:
	case LockKeys, LockAlone:
		if a := s.current; a != nil && a.keyed && a.place.In(s.DB) {
			tx.LockPlace(a.place)
			return
		}
		if at := c.grammar.LoneKey(args); at >= 0 {
			tx.LockPlace(s.place(args[at]))
			return
		}
		keys, ok := s.lockKeys.find(c.grammar, args)
		switch {
		case !ok:
			tx.LockAll()
		case c.Family == Memory && c.is(Write):
			tx.LockRecords(keys, 0)
		default:
			tx.LockKeys(keys)
		}
		s.lockKeys.forget()
	}
}

// keysOf are the keys in args; it reports false when args do not tell.
func keysOf(g *grammar.Shape, args [][]byte) ([][]byte, bool) {
	var found keyFinder
	return found.find(g, args)
}

// keyFinder finds keys in lines; what it allocates for one is used for the next.
type keyFinder struct {
	refs []grammar.KeyRef
	keys [][]byte
}

// keyFinderMax bounds the keys that a keyFinder keeps room for.
const keyFinderMax = 64

// find gives the keys in args until the next call; it reports false when args do
// not tell.
func (f *keyFinder) find(g *grammar.Shape, args [][]byte) (keys [][]byte, ok bool) {
	f.keys = f.keys[:0]
	if f.refs, ok = g.Keys(f.refs[:0], args); !ok {
		return nil, false
	}
	for _, ref := range f.refs {
		f.keys = append(f.keys, args[ref.Index])
	}
	return f.keys, true
}

// forget lets go of the keys, which alias a buffer of input, and of much room.
func (f *keyFinder) forget() {
	if clear(f.keys); cap(f.keys) > keyFinderMax {
		*f = keyFinder{}
	}
}

// replyBufferMax bounds the buffers that a worker's reply leaves to the next.
const replyBufferMax = 256 << 10

// offload parks the session and runs c on a worker with its own writer and
// transaction. The arguments are copied: the input buffer is used again.
func (s *Session) offload(c *Command, args [][]byte, start time.Time) {
	args = copyArgs(args)
	s.waitingBytes = argsBytes(args)
	tx := s.begin()
	proto := s.Proto
	s.next = Park
	go func() {
		s.Core.workers <- struct{}{}
		buffer := s.Core.replies.Get().(*[]byte)
		var w reply.Writer
		w.Reset((*buffer)[:0])
		w.SetProto(proto)
		mark := w.Mark()
		var err error
		if c.is(Write) {
			err = s.Core.waitReady()
		}
		if err == nil {
			err = c.data(tx, args, &w)
		}
		tx.Commit()
		if err != nil {
			w.Truncate(mark)
			line := errText(c, err, args)
			s.Core.stats.Errors.Add(1)
			s.Core.stats.errors.count(line)
			w.ErrorLine(line)
		}
		gate := tx.GateSeq()
		tx.Done()
		now := time.Now()
		took := now.Sub(start)
		c.stats.add(1, took)
		s.Core.noteLatency(c, took)
		s.noteSlow(c, wordsOf(c, args), now, took)
		if err != nil {
			c.stats.failed.Add(1)
		}
		<-s.Core.workers
		s.Peer.Resume(func(out []byte) []byte {
			s.waitingBytes = 0
			s.raise(gate)
			out = append(out, w.Bytes()...)
			if *buffer = w.Bytes(); cap(*buffer) <= replyBufferMax {
				s.Core.replies.Put(buffer)
			}
			return out
		})
	}()
}

// argsBytes is what a copy of argv takes.
func argsBytes(argv [][]byte) int {
	size := sliceBytes * len(argv)
	for _, a := range argv {
		size += len(a)
	}
	return size
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

// announced is a command of the batch that Prefetch has seen: what was found out
// about it is not found out twice.
type announced struct {
	command *Command
	argv    *[]byte // its first argument's place, by which Execute knows it again
	place   engine.Place
	key     []byte
	known   bool   // the key is that of the line before
	element []byte // what follows the key: it may be a field or a member
	keyed   bool
}

// batch is the commands between the first Prefetch and EndBatch.
type batch struct {
	commands []announced
	executed int
	walked   [2]int // commands that phase 1 and phase 2 have seen
	nowMs    int64
	tx       *engine.Tx // see endData
	params   any        // see paramsOf
	paramsOf *Command
}

// Prefetch announces a command of the next batch; see engine.Prefetch for phases 0
// and 1. It says whether the command has something left for phase 2: a record's
// memory is one step further away. Commands execute in the order in which phase 0
// announced them.
func (s *Session) Prefetch(argv [][]byte, phase int) (more bool) {
	b := &s.batch
	if phase == 0 {
		b.commands = append(b.commands, s.announce(argv))
		if a := &b.commands[len(b.commands)-1]; a.keyed {
			s.Core.Engine.Prefetch(a.place, a.known, a.element, 0)
		}
		return false
	}
	walked := &b.walked[phase-1]
	if *walked >= len(b.commands) {
		return false
	}
	a := &b.commands[*walked]
	*walked++
	if !a.keyed {
		return false
	}
	more = phase == 1 && a.command.Family == Memory
	if phase == 1 {
		s.Core.Engine.Prefetch(a.place, a.known, a.element, 1)
	} else if a.command.Family == Memory {
		s.Core.Engine.PrefetchRecord(a.place, a.key)
	}
	return more
}

// EndBatch forgets the batch: its arguments' memory is used again.
func (s *Session) EndBatch() {
	s.dropData()
	s.dropParams()
	b := &s.batch
	clear(b.commands)
	b.commands, b.executed, b.walked, b.nowMs = b.commands[:0], 0, [2]int{}, 0
	s.endTiming()
}

func (s *Session) announce(argv [][]byte) announced {
	c := s.find(argv)
	a := announced{command: c, argv: &argv[0]}
	if c == nil || c.run == nil || c.Lock != LockKeys {
		return a
	}
	if len(argv) < c.words() {
		return a
	}
	args := argv[c.words():]
	if at := c.grammar.LoneKey(args); at >= 0 {
		a.key, a.keyed = args[at], true
		if a.known = s.isLastKey(a.key); a.known {
			a.place = s.batch.commands[len(s.batch.commands)-1].place.Again(a.key)
		} else {
			a.place = engine.Locate(s.DB, a.key)
		}
		if at+1 < len(args) && c.Family.hasElements() {
			a.element = args[at+1]
		}
	}
	return a
}

// isLastKey says whether key, in the session's database, is that of the line that was
// announced last.
func (s *Session) isLastKey(key []byte) bool {
	n := len(s.batch.commands)
	if n == 0 || len(key) == 0 {
		return false
	}
	last := &s.batch.commands[n-1]
	return last.keyed && last.place.In(s.DB) && string(last.key) == string(key)
}

// find is Table.find with a memory of two: clients send one command many times, or,
// as scripts do, two in turn.
func (s *Session) find(argv [][]byte) *Command {
	word := argv[0]
	if s.recent[0].is(word) {
		return s.recent[0].command
	}
	if s.recent[1].is(word) {
		return s.recent[1].command
	}
	c := s.Core.Table.find(argv)
	if c != nil && c.subs == nil && c.Parent == nil && len(word) <= len(s.recent[0].word) {
		s.recent[1] = s.recent[0]
		s.recent[0].command, s.recent[0].len = c, copy(s.recent[0].word[:], word)
	}
	return c
}

// recent is a command that was found lately, as the client spelt it.
type recent struct {
	command *Command
	word    [16]byte
	len     int
}

func (r *recent) is(word []byte) bool {
	return r.command != nil && len(word) == r.len && string(word) == string(r.word[:r.len])
}

// take gives what was announced of the command that is about to run, or nil.
func (s *Session) take(argv [][]byte) *announced {
	b := &s.batch
	if b.executed >= len(b.commands) {
		return nil
	}
	a := &b.commands[b.executed]
	b.executed++
	if a.argv != &argv[0] {
		return nil
	}
	return a
}

// place is where key lives, from the batch when it was announced.
func (s *Session) place(key []byte) engine.Place {
	if s.current != nil && s.current.keyed && s.current.place.Is(s.DB, key) {
		return s.current.place
	}
	return engine.Locate(s.DB, key)
}
