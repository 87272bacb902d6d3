// This file owns the passive session: bytes received, bytes to send, and the
// state between them. It must not know who reads and writes the socket; the
// drivers feed it, execute groups of its commands and write its output.

package server

import (
	"sync"
	"sync/atomic"
)

// A phase is where a session is in its life.
type phase uint8

const (
	// running: commands are read and executed.
	running phase = iota
	// parked: a command's reply is being made elsewhere, or it waits to be
	// executed.
	parked
	// blocked: as parked, but a peer that stops sending ends it.
	blocked
	// finishing: what is in the output is written, then the session drains.
	finishing
	// draining: our side is shut; input is discarded until the peer closes.
	draining
	// dead: the socket is closed.
	dead
)

// A driver feeds sessions: an event loop or a goroutine.
type driver interface {
	// deliver says that the session has mail. It is called from any goroutine.
	deliver(s *session)
	// aside is Conn.Aside, on the driver's goroutine.
	aside(run func())
}

// A session is one connection. Fields below "driver" belong to its driver's
// goroutine; everything above may be used from anywhere.
type session struct {
	server *Server
	driver driver
	info   Info
	id     int64
	remote string
	local  string
	isNear bool
	mail   mail
	entry  entry // the ledger's
	// limited says that the session is being closed for its output.
	limited atomic.Bool

	// driver
	executor Executor
	phase    phase
	reader   reader
	// carry[first:] is what was received and not consumed. It begins with a
	// command's first byte and is empty (nil) whenever nothing is left over.
	carry []byte
	first int
	// spare is the buffer of a large request that has passed, kept for the next
	// one; spareTurns counts the turns that did not need it.
	spare      []byte
	spareTurns int
	// more says that carry may hold whole commands: they are executed before
	// anything is read.
	more bool
	// out[sent:] is to be sent.
	out  []byte
	sent int
	// outUsual is how large the output's buffer is likely to become: as it did
	// lately.
	outUsual int
	// noted is the part of info.outputBytes that is in out.
	noted int64
	// pushSeq is the highest sequence that a push waits for.
	pushSeq uint64
	// commandsMax bounds the commands parsed ahead; it falls to one when the
	// session parks, because what was parsed ahead is parsed again.
	commandsMax int
	// drained counts what was discarded while draining, since drainSinceMs.
	drained      int
	drainSinceMs int64

	// fd and ready are the socket as an event loop knows it.
	fd    int
	ready readiness
}

// readiness is what an edge-triggered loop must remember about a socket.
type readiness struct {
	readable, writable, hangup bool
	queued, gated, registered  bool
}

// mail is what other goroutines have for a session.
type mail struct {
	mu      sync.Mutex
	pushed  []byte
	seq     uint64
	resumed bool
	reply   func(out []byte) []byte
	kill    bool
	shrink  bool
	// room is a buffer for what is pushed next, left by the driver in exchange for
	// the one that it took: who listens is pushed to again.
	room []byte
	// usual is how much is likely to be pushed until the driver looks: as lately.
	usual int
	// unused says that nothing was pushed since the session last gave back what it
	// need not hold.
	unused bool
	// posted says that the driver knows of the mail; closed, that nobody reads
	// it any more.
	posted, closed bool
}

// letter is a snapshot of mail, taken by the driver.
type letter struct {
	pushed  []byte
	seq     uint64
	resumed bool
	reply   func(out []byte) []byte
	kill    bool
	shrink  bool
}

func (s *session) ID() int64          { return s.id }
func (s *session) RemoteAddr() string { return s.remote }
func (s *session) LocalAddr() string  { return s.local }
func (s *session) Local() bool        { return s.isNear }
func (s *session) Info() *Info        { return &s.info }

// AppendLine implements Conn.
func (s *session) AppendLine(out []byte) []byte { return Client{s}.AppendLine(out, s.server.now()) }

// Resume implements Conn.
func (s *session) Resume(reply func(out []byte) []byte) {
	s.post(func(m *mail) { m.resumed, m.reply = true, reply })
}

// Aside implements Conn.
func (s *session) Aside(run func()) { s.driver.aside(run) }

// Kill implements Conn.
func (s *session) Kill() {
	s.post(func(m *mail) { m.kill = true })
}

// shrinkLater asks the driver to give the session's spare buffers back.
func (s *session) shrinkLater() {
	s.post(func(m *mail) { m.shrink = true })
}

// Push implements Conn. What waits in the mail counts against the output limit
// at once, so that a peer that does not read cannot make it grow.
func (s *session) Push(data []byte, seq uint64) {
	m := &s.mail
	m.mu.Lock()
	if m.closed || m.kill {
		m.mu.Unlock()
		return
	}
	if m.pushed == nil {
		m.open(len(data))
	}
	m.pushed = append(m.pushed, data...)
	m.seq, m.unused = max(m.seq, seq), false
	s.info.outputBytes.Add(int64(len(data)))
	if s.overOutputLimit() {
		s.server.overOutputLimit(s)
		m.kill = true
		m.pushed = nil
	}
	m.measure(s)
	tell := !m.posted || m.kill
	m.posted = true
	m.mu.Unlock()
	if tell {
		s.driver.deliver(s)
	}
	s.server.ledger.note(s)
}

// open gets a buffer for pushes of at least size bytes: the room that was left, or
// one that need not grow before the driver looks. The lock is held.
func (m *mail) open(size int) {
	m.pushed, m.room = m.room, nil
	if m.pushed == nil {
		m.pushed = make([]byte, 0, max(size, min(m.usual, mailUsualMaxBytes)))
	}
}

// TakePushed implements Conn.
func (s *session) TakePushed(out []byte) []byte {
	m := &s.mail
	m.mu.Lock()
	defer m.mu.Unlock()
	out = append(out, m.pushed...)
	s.pushSeq = max(s.pushSeq, m.seq)
	s.noted += int64(len(m.pushed)) // it was counted when it came
	if m.room == nil && cap(m.pushed) <= mailRoomBytes && !m.closed {
		m.room = m.pushed[:0]
	}
	m.pushed, m.seq = nil, 0
	m.measure(s)
	return out
}

// measure publishes what the mail holds. Its lock is held.
func (m *mail) measure(s *session) {
	keep(&s.info.holdings.mail, int64(cap(m.pushed)+cap(m.room)))
	keep(&s.info.holdings.pushed, int64(cap(m.pushed)))
}

// shrinkRoom gives the room for pushes back when none has come since it was last
// called: a subscriber that only listens is idle, and yet needs its room again.
func (m *mail) shrinkRoom(s *session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unused {
		m.room, m.usual = nil, 0
		m.measure(s)
	}
	m.unused = true
}

// post changes the mail and tells the driver, once per delivery; of a kill at
// once, since the driver may be inside a write that never ends.
func (s *session) post(change func(m *mail)) {
	s.mail.mu.Lock()
	if s.mail.closed {
		s.mail.mu.Unlock()
		return
	}
	killed := s.mail.kill
	change(&s.mail)
	tell := !s.mail.posted || s.mail.kill && !killed
	s.mail.posted = true
	s.mail.mu.Unlock()
	if tell {
		s.driver.deliver(s)
	}
}

// collect takes the mail, and leaves a buffer from the driver's pool for the next
// pushes. A resume is left where it is until the session has parked: a worker may
// be faster than the command that started it.
func (s *session) collect(p *pool) letter {
	m := &s.mail
	m.mu.Lock()
	defer m.mu.Unlock()
	m.posted = false
	taken := letter{pushed: m.pushed, seq: m.seq, kill: m.kill, shrink: m.shrink}
	m.pushed, m.seq, m.shrink = nil, 0, false
	if s.phase == parked || s.phase == blocked {
		taken.resumed, taken.reply = m.resumed, m.reply
		m.resumed, m.reply = false, nil
	}
	if len(taken.pushed) > 0 {
		m.usual = max(len(taken.pushed), m.usual/2)
		if m.room == nil && m.usual <= mailRoomBytes && !m.closed {
			m.room = p.get(m.usual)
		}
	}
	m.measure(s)
	return taken
}

// resumePending reports whether a resume came before the session parked.
func (s *session) resumePending() bool {
	s.mail.mu.Lock()
	defer s.mail.mu.Unlock()
	return s.mail.resumed
}

// apply acts on mail. It reports false when the session is to be closed.
func (s *session) apply(taken letter, p *pool) bool {
	if taken.kill {
		return false
	}
	if taken.resumed {
		s.phase = running
		s.info.parked.Store(false)
		s.info.set(FlagBlocked, false)
		keep(&s.info.ArgumentBytes, 0)
		if taken.reply != nil {
			s.out = taken.reply(s.output(p))
		}
	}
	s.takeOver(taken, p)
	s.noteOutput()
	return true
}

// takeOver puts what was pushed behind the output. Without any, the buffer that
// the pushes came in becomes the output's: nothing is copied.
func (s *session) takeOver(taken letter, p *pool) {
	// The push was counted when it came.
	s.noted += int64(len(taken.pushed))
	if len(taken.pushed) == 0 || s.phase >= finishing {
		p.put(taken.pushed)
		return
	}
	s.pushSeq = max(s.pushSeq, taken.seq)
	if s.out == nil {
		s.out, s.sent = taken.pushed, 0
		return
	}
	s.out = append(s.output(p), taken.pushed...)
	p.put(taken.pushed)
}

// output is the buffer to append replies to.
func (s *session) output(p *pool) []byte {
	if s.out == nil {
		s.out = p.get(min(max(s.outUsual, s.replyBuffer()), poolBufferBytes))
	}
	if s.sent > 0 && s.sent >= len(s.out)/2 {
		n := copy(s.out, s.out[s.sent:])
		s.out, s.sent = s.out[:n], 0
	}
	return s.out
}

// replyBuffer is the room that the session's next replies get at first.
func (s *session) replyBuffer() int {
	return s.info.replies.bufferBytes(s.info.activeMs.Load(), &s.server.replyTuning)
}

// pending is how many bytes wait to be sent.
func (s *session) pending() int { return len(s.out) - s.sent }

// written notes that n bytes of the output have left, and gives the buffer
// back when all have.
func (s *session) written(n int, p *pool, nowMs int64) {
	s.sent += n
	if s.sent == len(s.out) && s.out != nil {
		s.outUsual = max(len(s.out), s.outUsual/2)
		s.info.replies.note(len(s.out), nowMs, &s.server.replyTuning)
		p.put(s.out)
		s.out, s.sent = nil, 0
	}
}

// noteOutput publishes how much output is pending: by the difference to what
// was published before, since pushes are counted by those who push.
func (s *session) noteOutput() {
	if change := int64(s.pending()) - s.noted; change != 0 {
		s.info.outputBytes.Add(change)
		s.noted += change
	}
}

// seq is what must be durable before the output may leave.
func (s *session) seq() uint64 {
	return max(s.pushSeq, s.executor.GateSeq())
}

// runnable reports whether commands may be executed.
func (s *session) runnable() bool {
	return s.phase == running && !s.ready.gated && s.pending() < outputStopBytes
}

// reserve makes room in carry for the next read and returns the room. It ends
// where a large bulk on its way ends, so that the bulk has its buffer for itself.
func (s *session) reserve(p *pool) []byte {
	have := len(s.carry) - s.first
	wanted := s.bulkEnd(have)
	room := readMinBytes
	if wanted > 0 {
		room = min(room, wanted-have)
	}
	if cap(s.carry)-len(s.carry) < room {
		s.moveCarry(have, s.carrySize(have), p)
	}
	limit := cap(s.carry)
	if wanted > 0 {
		limit = min(limit, s.first+wanted)
	}
	return s.carry[len(s.carry):limit]
}

// bulkEnd is how long the carry is once the large bulk in progress is whole; 0
// when there is none.
func (s *session) bulkEnd(have int) int {
	if wanted := s.reader.wanted(); wanted > have && s.reader.bulkBytes >= largeBulkBytes {
		return wanted
	}
	return 0
}

// carrySize is the size of buffer for a carry that has some bytes: doubling
// keeps all copying of a long request linear, a large bulk ends it exactly.
func (s *session) carrySize(have int) int {
	if wanted := s.bulkEnd(have); wanted > 0 {
		return min(wanted, max(bulkUpfrontBytes, 2*have))
	}
	return max(have+readMinBytes, 2*have)
}

// moveCarry moves what is left over to the front of a buffer of at least size.
func (s *session) moveCarry(have, size int, p *pool) {
	if size <= cap(s.carry) && s.first >= have {
		copy(s.carry[:have], s.carry[s.first:])
		s.carry, s.first = s.carry[:have], 0
		return
	}
	moved := append(s.buffer(size, p), s.carry[s.first:]...)
	p.put(s.carry)
	s.carry, s.first = moved, 0
}

// buffer is an empty buffer of at least size, the spare one if that fits.
func (s *session) buffer(size int, p *pool) []byte {
	switch {
	case size <= inputKeepBytes:
		return p.get(size)
	case size <= cap(s.spare):
		buf := s.spare
		s.spare, s.spareTurns = nil, 0
		return buf
	}
	return make([]byte, 0, size)
}

// received notes n bytes read into what reserve returned. It reports false when
// the connection's query buffer is over its limit.
func (s *session) received(n int) bool {
	s.carry = s.carry[:len(s.carry)+n]
	held := int64(len(s.carry)-s.first) + int64(len(s.reader.spans)*argumentCostBytes)
	return held <= s.server.settings().QueryBufferMaxBytes
}

// keep makes rest, the unconsumed end of window, the session's carry. window is
// either carry[first:] or bytes that others will overwrite.
func (s *session) keep(rest []byte, inCarry bool, p *pool) {
	if s.spare != nil {
		if s.spareTurns++; s.spareTurns >= spareTurnsMax {
			s.spare = nil
		}
	}
	switch {
	case len(rest) == 0:
		s.retire(p)
	case !inCarry:
		s.carry, s.first = append(s.buffer(s.carrySize(len(rest)), p), rest...), 0
	case cap(s.carry) > inputKeepBytes && len(rest) < cap(s.carry)/8 && !s.reader.inBulk:
		// A large request has passed; what is left does not need its buffer.
		moved := append(p.get(len(rest)), rest...)
		s.retire(p)
		s.carry, s.first = moved, 0
	default:
		s.first = len(s.carry) - len(rest)
	}
	s.noteInput(len(rest))
}

// retire gives the carry's buffer away: a large one is kept for the next
// request, since clients that send one send more.
func (s *session) retire(p *pool) {
	if size := cap(s.carry); size > inputKeepBytes && size <= spareMaxBytes {
		s.spare, s.spareTurns = s.carry[:0], 0
	} else {
		p.put(s.carry)
	}
	s.carry, s.first = nil, 0
}

// noteInput publishes how much input is buffered, and the room for more. What is
// understood of the request in progress counts as its arguments; Redis has moved
// them out of the query buffer by then. A session without a buffer of its own has
// room in its driver's.
func (s *session) noteInput(size int) {
	free := readMinBytes + cap(s.spare)
	if s.carry != nil {
		free = cap(s.carry) - size + cap(s.spare)
	}
	understood := min(s.reader.at, size)
	keep(&s.info.parsedBytes, int64(understood))
	keep(&s.info.queryBytes, int64(size-understood))
	keep(&s.info.queryFreeBytes, int64(free))
}

// shrink gives back what an idle session need not hold.
func (s *session) shrink() {
	s.spare = nil
	s.mail.shrinkRoom(s)
	s.executor.Shrink()
	if s.reader.remaining == 0 {
		s.reader.spans = nil
	}
	if s.carry != nil && cap(s.carry)-(len(s.carry)-s.first) > readMinBytes && !s.reader.inBulk {
		s.carry, s.first = append([]byte(nil), s.carry[s.first:]...), 0
	}
	s.info.queryFreeBytes.Store(int64(cap(s.carry) - (len(s.carry) - s.first)))
}

// end closes the session's inner side, once: its executor and its mail.
func (s *session) end() {
	s.mail.mu.Lock()
	closed := s.mail.closed
	s.mail.closed = true
	s.mail.pushed, s.mail.room, s.mail.reply = nil, nil, nil
	s.mail.mu.Unlock()
	if closed {
		return
	}
	s.server.ledger.remove(s)
	s.server.clients.remove(s)
	s.executor.Close()
}

// OutputMax implements Conn.
func (s *session) OutputMax() int {
	limit := s.server.settings().OutputLimits[s.info.class()]
	if limit.HardBytes == 0 {
		return 0
	}
	return int(max(limit.HardBytes, replyStaticBytes))
}

// OverOutput implements Conn.
func (s *session) OverOutput() { s.server.overOutputLimit(s) }

// leavesTooMuch reports whether somebody who has not said who they are leaves too
// much unread. Only the session's driver may ask.
func (s *session) leavesTooMuch() bool {
	return s.pending() > unauthenticatedOutputMaxBytes && s.executor.AuthRequired()
}

// overOutputLimit reports whether what waits to be sent is over the hard limit
// of the session's class. Little output is over none: a push looks no further.
func (s *session) overOutputLimit() bool {
	memory := s.info.outputMemory()
	if memory == 0 {
		return false
	}
	limit := s.server.settings().OutputLimits[s.info.class()]
	return limit.HardBytes > 0 && memory > limit.HardBytes
}

var _ Conn = (*session)(nil)
