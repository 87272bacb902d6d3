// This file owns listening and accepting, and is the only one that imports
// redcon: a redcon server accepts, and hands every connection over before it
// has read a byte. It must not know sessions' insides.

package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tidwall/redcon"
)

// A listener is one address that connections come from.
type listener struct {
	net.Listener
	server *Server
	// at is the address as the settings have it.
	at     address
	closed chan struct{}
	// accepts says that accept was started; ended is closed when it has ended.
	accepts atomic.Bool
	ended   chan struct{}
}

// An address is where to listen: a host and port, or a path; optional hosts begin
// with '-'.
type address struct {
	text   string
	secure bool // TLS is spoken there
}

// A handover is an accepted connection that redcon still holds. Once it is
// taken, redcon's Write and Close do nothing: ownership has moved, as with
// http.Hijacker.
type handover struct {
	net.Conn
	taken atomic.Bool
}

func (h *handover) Write(data []byte) (int, error) {
	if h.taken.Load() {
		return len(data), nil
	}
	return h.Conn.Write(data)
}

func (h *handover) Close() error {
	if h.taken.Load() {
		return nil
	}
	return h.Conn.Close()
}

// Listen opens every address of the settings and begins to accept. On an error
// nothing listens. "bind" entries that begin with '-' may fail to exist.
func (s *Server) Listen() error {
	settings := s.settings()
	if err := s.loadTLS(settings); err != nil {
		return err
	}
	opened, err := s.openTCP(tcpAddresses(settings))
	if err != nil {
		s.log.Error(fmt.Sprintf("Failed listening on port %d (TCP), aborting.", max(settings.Port, settings.TLSPort)))
		return err
	}
	if path := settings.UnixSocket; path != "" {
		ln, err := listenUnix(path, settings.UnixSocketPermission)
		if err != nil {
			closeAll(opened)
			return fmt.Errorf("listening on %s: %w", path, err)
		}
		opened = append(opened, s.newListener(ln, address{text: path}))
	}
	return s.serve(opened)
}

// Relisten makes the TCP listeners those of next: for CONFIG SET port, tls-port and
// bind.
// On an error the old ones listen again, if the system lets them.
func (s *Server) Relisten(next *Settings) error {
	wanted := tcpAddresses(next)
	s.mu.Lock()
	var kept, removed []*listener
	for _, l := range s.listeners {
		at := slices.Index(wanted, l.at)
		switch {
		case at >= 0:
			wanted = slices.Delete(wanted, at, at+1)
			kept = append(kept, l)
		case l.Addr().Network() == "unix":
			kept = append(kept, l)
		default:
			removed = append(removed, l)
		}
	}
	s.listeners = kept
	s.mu.Unlock()
	// First the old ones, since "*" and an address of this host exclude each other.
	closeAll(removed)
	opened, err := s.openTCP(wanted)
	if err != nil {
		opened, reopenErr := s.openTCP(addressesOf(removed))
		err = errors.Join(err, reopenErr, s.serve(opened))
		s.log.Error("listening on new addresses failed", "error", err)
		return err
	}
	return s.serve(opened)
}

// FollowConfig has CONFIG SET move the listeners and read certificates anew.
func (s *Server) FollowConfig(c *Config) {
	for name, text := range map[string]configText{
		"port":     "Unable to listen on this port. Check server logs.",
		"tls-port": "Unable to listen on this port. Check server logs.",
		"bind":     "Failed to bind to specified addresses.",
	} {
		c.OnChange(func(next *Settings) error {
			if s.loadTLS(next) != nil || s.Relisten(next) != nil {
				return text
			}
			return nil
		}, name)
	}
	c.OnChange(func(next *Settings) error {
		if s.loadTLS(next) != nil {
			return configText("Unable to update TLS configuration. Check server logs.")
		}
		return nil
	}, "tls-cert-file", "tls-key-file", "tls-key-file-pass", "tls-ca-cert-file", "tls-ca-cert-dir", "tls-auth-clients", "tls-protocols", "tls-ciphers")
}

// Serve begins to accept from a listener made elsewhere, which it owns from
// then on. It returns at once.
func (s *Server) Serve(ln net.Listener) error {
	return s.serve([]*listener{s.newListener(ln, address{text: ln.Addr().String()})})
}

func (s *Server) newListener(ln net.Listener, at address) *listener {
	return &listener{Listener: ln, server: s, at: at, closed: make(chan struct{}), ended: make(chan struct{})}
}

// openTCP listens on all addresses or on none.
func (s *Server) openTCP(addresses []address) ([]*listener, error) {
	var opened []*listener
	for _, at := range addresses {
		host, optional := strings.CutPrefix(at.text, "-")
		ln, err := listenTCP(host)
		if optional && addressMissing(err) {
			s.log.Warn("an optional bind address is not there", "addr", host)
			continue
		}
		if err != nil {
			closeAll(opened)
			return nil, fmt.Errorf("listening on %s: %w", host, err)
		}
		opened = append(opened, s.newListener(ln, at))
	}
	return opened, nil
}

func (s *Server) serve(opened []*listener) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		closeAll(opened)
		return ErrStopped
	}
	s.listeners = append(s.listeners, opened...)
	for _, l := range opened {
		l.accepts.Store(true)
		s.accepting.Go(l.accept)
	}
	return nil
}

func closeAll(listeners []*listener) {
	for _, l := range listeners {
		l.close()
	}
}

func addressesOf(listeners []*listener) []address {
	addresses := make([]address, len(listeners))
	for i, l := range listeners {
		addresses[i] = l.at
	}
	return addresses
}

// Addresses are those that the server listens on.
func (s *Server) Addresses() []net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	addresses := make([]net.Addr, len(s.listeners))
	for i, l := range s.listeners {
		addresses[i] = l.Addr()
	}
	return addresses
}

// accept runs redcon's accept loop until the listener is closed.
func (l *listener) accept() {
	defer close(l.ended)
	backoff := acceptBackoffMinMs
	redconServer := redcon.NewServerNetwork(l.Addr().Network(), l.Addr().String(),
		func(conn redcon.Conn, _ redcon.Command) {
			// Unreachable: every connection is taken over or refused.
			conn.Close()
		},
		func(conn redcon.Conn) bool {
			backoff = acceptBackoffMinMs
			if h, ok := conn.NetConn().(*handover); ok && h.taken.CompareAndSwap(false, true) {
				if l.at.secure {
					l.server.secure(h.Conn)
				} else {
					l.server.admit(h.Conn)
				}
			}
			return false
		}, nil)
	redconServer.AcceptError = func(err error) {
		l.server.log.Warn("accepting a connection failed", "addr", l.Addr().String(), "error", err)
		pause := time.NewTimer(time.Duration(backoff) * time.Millisecond)
		defer pause.Stop()
		backoff = min(backoff*2, acceptBackoffMaxMs)
		select {
		case <-pause.C:
		case <-l.closed:
		}
	}
	if err := redconServer.Serve(l); err != nil {
		l.server.log.Error("accepting ended", "addr", l.Addr().String(), "error", err)
	}
}

// Accept is what redcon calls.
func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.server.tune(conn)
	return &handover{Conn: conn}, nil
}

// tune sets what each TCP connection needs; Go has set TCP_NODELAY already.
// The intervals follow Redis's anetKeepAlive.
func (s *Server) tune(conn net.Conn) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	idle := time.Duration(s.settings().TCPKeepAliveSeconds) * time.Second
	keepAlive := net.KeepAliveConfig{Enable: idle > 0, Idle: idle, Interval: max(idle/3, time.Second), Count: 3}
	// A connection that is gone already fails here; its first read says so.
	_ = tcp.SetKeepAliveConfig(keepAlive)
}

// close ends accepting; when it returns the address is free again.
func (l *listener) close() {
	close(l.closed)
	if err := l.Listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		l.server.log.Warn("closing a listener failed", "addr", l.Addr().String(), "error", err)
	}
	if l.accepts.Load() {
		<-l.ended
	}
}

// tcpAddresses are the settings' addresses with their ports.
func tcpAddresses(settings *Settings) []address {
	return append(addressesAt(settings.Bind, settings.Port, false), addressesAt(settings.Bind, settings.TLSPort, true)...)
}

func addressesAt(bind []string, number int, secure bool) []address {
	if number == 0 {
		return nil
	}
	port := strconv.Itoa(number)
	addresses := make([]address, 0, len(bind))
	for _, host := range bind {
		optional := strings.HasPrefix(host, "-")
		host = strings.TrimPrefix(host, "-")
		switch host {
		case "*":
			host = "0.0.0.0"
		case "::*":
			host = "::"
		}
		text := net.JoinHostPort(host, port)
		if optional {
			text = "-" + text
		}
		addresses = append(addresses, address{text, secure})
	}
	return addresses
}

func listenTCP(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	network := "tcp4"
	if strings.Contains(host, ":") {
		network = "tcp6"
	}
	// Keep-alive is set per connection, from the current settings.
	config := net.ListenConfig{KeepAlive: -1}
	return config.Listen(context.Background(), network, address)
}

// listenUnix opens a unix socket. A path that a dead server has left is taken
// over, as Redis does; it is removed again at the end.
func listenUnix(path string, permission int) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if permission != 0 {
		if err := os.Chmod(path, fs.FileMode(permission)); err != nil {
			return nil, errors.Join(err, ln.Close())
		}
	}
	return ln, nil
}

// addressMissing reports whether err says that this host has no such address.
func addressMissing(err error) bool {
	return errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) ||
		errors.Is(err, syscall.EPROTONOSUPPORT) || errors.Is(err, syscall.ENOPROTOOPT)
}

// refuseConn writes an error line to a connection that is not served and closes
// it. The line fits an empty socket buffer; nothing here may hold up accepting.
func refuseConn(conn net.Conn, text string) {
	if conn.SetWriteDeadline(time.Now().Add(acceptBackoffMaxMs*time.Millisecond)) == nil {
		// The peer may be gone; then nobody needs the line.
		_, _ = conn.Write([]byte(text))
	}
	_ = conn.Close()
}
