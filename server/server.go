// This file owns the server's life: start, accept, stop. It must not know RESP,
// epoll or directives.

package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Options is what a server is made of.
type Options struct {
	// Handler makes an executor for each connection. Required.
	Handler Handler
	// Settings returns the current settings. Required; called often.
	Settings func() *Settings
	// Gate is the journal; nil when nothing needs to be waited for.
	Gate Gate
	// NewPass makes a pass for each driver; nil when prefetching needs none.
	NewPass func() Pass
	// Now is the clock in milliseconds; nil is the system's.
	Now func() int64
	// Log gets what an operator should see; nil is slog.Default.
	Log *slog.Logger
}

// A Server serves sessions on its listeners.
type Server struct {
	handler  Handler
	gate     Gate
	settings func() *Settings
	newPass  func() Pass
	now      func() int64
	log      *slog.Logger

	clients *Clients
	ledger  ledger
	stats   counters
	// replyTuning is DEBUG REPLYBUFFER's.
	replyTuning replyTuning
	syncer      *syncer
	loops       []loopDriver
	spare       *goroutineDriver

	mu        sync.Mutex
	listeners []*listener
	stopping  bool
	turn      atomic.Uint64
	// sweeping is held by sweep; it guards each session's softSinceMs.
	sweeping sync.Mutex
	// accepting holds the listeners' goroutines, background the sweeping and
	// syncing ones, which end when done is closed.
	accepting  sync.WaitGroup
	done       chan struct{}
	background sync.WaitGroup

	// tls is what new connections of a TLS port get. handshakes counts those under
	// way, which end with handshaking.
	tls            atomic.Pointer[tls.Config]
	handshakes     atomic.Int64
	handshaking    context.Context
	stopHandshakes context.CancelFunc
}

// loopDriver is an event loop as the server sees it.
type loopDriver interface {
	driver
	// adopt takes a connection over; on an error nothing was taken.
	adopt(s *session, conn net.Conn) error
	// finish asks the loop to write what is pending and end; force, to end at
	// once. Both return immediately.
	finish()
	force()
	// workingSinceMs is when the batch that is being executed began, 0 for none.
	workingSinceMs() int64
	// ended is closed when the loop has closed everything it owned.
	ended() <-chan struct{}
}

// ErrStopped is returned by Start after Stop.
var ErrStopped = errors.New("server: stopped")

// New makes a server that listens nowhere yet. It starts the event loops, and
// fails when the system refuses them.
func New(options Options) (*Server, error) {
	s := &Server{
		handler: options.Handler, gate: options.Gate, settings: options.Settings,
		newPass: options.NewPass, now: options.Now, log: options.Log,
		clients: newClients(), done: make(chan struct{}),
	}
	if s.gate == nil {
		s.gate = openGate{}
	}
	if s.newPass == nil {
		s.newPass = func() Pass { return noPass{} }
	}
	if s.now == nil {
		s.now = func() int64 { return time.Now().UnixMilli() }
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	s.handshaking, s.stopHandshakes = context.WithCancel(context.Background())
	s.replyTuning.resetMs.Store(replyResetMs)
	s.LimitClients(s.settings())
	s.syncer = newSyncer(s)
	s.spare = newGoroutineDriver(s)
	for range s.settings().IOThreads {
		loop, err := newLoop(s)
		if errors.Is(err, errors.ErrUnsupported) {
			break
		}
		if err != nil {
			s.stopLoops(context.Background())
			return nil, fmt.Errorf("starting an event loop: %w", err)
		}
		s.loops = append(s.loops, loop)
	}
	s.background.Go(s.syncer.run)
	s.background.Go(s.sweepRegularly)
	s.background.Go(s.watch)
	return s, nil
}

// Clients is the registry of open connections.
func (s *Server) Clients() *Clients { return s.clients }

// admit makes a session of an accepted connection and hands it to a driver. It
// owns conn from now on.
func (s *Server) admit(conn net.Conn) {
	settings := s.settings()
	session := &session{server: s, commandsMax: sessionCommandsMax, fd: -1}
	session.describe(conn)
	now := s.now()
	session.info.createdMs = now
	session.info.activeMs.Store(now)
	session.info.MultiCommands.Store(-1)
	session.info.Redirect.Store(-1)
	session.info.Protocol.Store(2)
	session.info.replies.note(replyStaticBytes, now, &s.replyTuning)
	if text := s.refusal(session, settings); text != "" {
		s.stats.rejected.Add(1)
		refuseConn(conn, text)
		return
	}
	start := s.choose(session, conn)
	if !s.clients.add(session, settings.MaxClients) {
		s.stats.rejected.Add(1)
		refuseConn(conn, maxClientsText)
		return
	}
	s.stats.accepted.Add(1)
	session.executor = s.handler.Open(session)
	s.ledger.note(session)
	start()
}

// choose gives the session its driver and returns what starts it.
func (s *Server) choose(session *session, conn net.Conn) (start func()) {
	// Only a plain socket has a descriptor to wait for.
	if _, plain := conn.(syscall.Conn); len(s.loops) == 0 || !plain {
		return s.spare.prepare(session, conn)
	}
	loop := s.loops[s.turn.Add(1)%uint64(len(s.loops))]
	session.driver = loop
	return func() {
		if err := loop.adopt(session, conn); err != nil {
			s.log.Warn("an event loop did not take a connection", "addr", session.remote, "error", err)
			_ = conn.Close()
			session.end()
		}
	}
}

// refusal is the error for a connection that must not be served, or "".
func (s *Server) refusal(session *session, settings *Settings) string {
	if settings.ProtectedMode && !s.handler.Guarded() && !session.isNear {
		return protectedModeText
	}
	return ""
}

// describe notes the connection's addresses in Redis's form.
func (s *session) describe(conn net.Conn) {
	switch remote := conn.RemoteAddr().(type) {
	case *net.TCPAddr:
		s.remote, s.local = remote.String(), conn.LocalAddr().String()
		s.isNear = remote.IP.IsLoopback()
	default:
		s.remote, s.local = conn.LocalAddr().String()+":0", conn.LocalAddr().String()+":0"
		s.isNear = true
		s.info.set(FlagUnixSocket, true)
	}
}

// Stop ends the server: it stops accepting and reading, writes what sessions
// have to send (made durable first), closes them and returns when nothing of
// the server runs any more. When ctx ends first, what is pending is dropped and
// its error returned.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		return ErrStopped
	}
	s.stopping = true
	listeners := s.listeners
	s.listeners = nil
	s.mu.Unlock()
	s.stopHandshakes()
	closeAll(listeners)
	s.accepting.Wait()
	err := s.stopLoops(ctx)
	err = errors.Join(err, s.spare.stop(ctx))
	close(s.done)
	s.background.Wait()
	return err
}

func (s *Server) stopLoops(ctx context.Context) error {
	for _, loop := range s.loops {
		loop.finish()
	}
	var err error
	for _, loop := range s.loops {
		select {
		case <-loop.ended():
		case <-ctx.Done():
			err = ctx.Err()
			loop.force()
			<-loop.ended()
		}
	}
	return err
}

// sweepRegularly looks after idle time, soft limits and spare buffers.
func (s *Server) sweepRegularly() {
	timer := time.NewTimer(sweepIntervalMs * time.Millisecond)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			next := sweepIntervalMs * time.Millisecond
			if s.sweep(s.now()) {
				next = softIntervalMs * time.Millisecond
			}
			timer.Reset(next)
		case <-s.done:
			return
		}
	}
}

// sweep does what is due at nowMs. Only what needs its driver reaches it. soft says that
// a client is over its soft limit.
func (s *Server) sweep(nowMs int64) (soft bool) {
	s.sweeping.Lock()
	defer s.sweeping.Unlock()
	settings := s.settings()
	for _, client := range s.clients.List() {
		client.session.sweep(nowMs, settings)
		soft = soft || client.session.info.softSinceMs != 0
	}
	return soft
}

func (s *session) sweep(nowMs int64, settings *Settings) {
	i := &s.info
	idleMs := nowMs - i.activeMs.Load()
	flags := i.Flags.Load()
	const spared = FlagReplica | FlagMaster | FlagBlocked | FlagPubSub
	if timeout := settings.IdleTimeoutSeconds; timeout > 0 && idleMs > timeout*1000 && flags&spared == 0 && !i.parked.Load() {
		s.server.log.Debug("closing an idle client", "id", s.id, "addr", s.remote)
		s.Kill()
		return
	}
	s.server.ledger.note(s)
	limit := settings.OutputLimits[i.class()]
	memory := i.outputMemory()
	switch {
	case limit.HardBytes > 0 && memory > limit.HardBytes:
		s.server.overOutputLimit(s)
		s.Kill()
	case limit.SoftBytes == 0 || memory <= limit.SoftBytes:
		i.softSinceMs = 0
	case i.softSinceMs == 0:
		i.softSinceMs = nowMs
	case nowMs-i.softSinceMs >= limit.SoftSeconds*1000:
		s.server.overOutputLimit(s)
		s.Kill()
	}
	if idleMs > idleShrinkMs && (i.queryFreeBytes.Load() > 0 || i.holdings.mail.Load() > 0) {
		s.shrinkLater()
	}
}

// openGate is the gate of a server without a journal.
type openGate struct{}

func (openGate) Durable() uint64              { return 1<<64 - 1 }
func (openGate) Flush() error                 { return nil }
func (openGate) Sync() error                  { return nil }
func (openGate) Notify(_ uint64, wake func()) { wake() }

// noPass is the pass of a server whose prefetches need no protection.
type noPass struct{}

func (noPass) Begin() {}
func (noPass) End()   {}
