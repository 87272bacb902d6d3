// This file owns the spec of listening, accepting and admission.

package server

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// listening starts a server on the addresses of a configuration.
func listening(t *testing.T, arguments ...string) (*Server, *Config) {
	t.Helper()
	c := load(t, arguments...)
	s, err := New(Options{Handler: newToy(), Settings: c.Settings, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	s.FollowConfig(c)
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return s, c
}

// freePort finds a port that nothing listens on.
func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return strconv.Itoa(ln.Addr().(*net.TCPAddr).Port)
}

func pings(t *testing.T, network, addr string) bool {
	t.Helper()
	conn, err := net.Dial(network, addr)
	if err != nil {
		return false
	}
	r := &rig{T: t}
	c := r.client(conn)
	c.send("PING\r\n")
	c.expect("+PONG\r\n")
	return true
}

func TestListen(t *testing.T) {
	port, path := freePort(t), filepath.Join(t.TempDir(), "socket")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, _ := listening(t, "--port", port, "--bind", "127.0.0.1", "-192.0.2.1", "--unixsocket", path, "--unixsocketperm", "700")
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	if n := len(s.Addresses()); n != 2 {
		t.Errorf("%d addresses, want one and a socket", n)
	}
	if !pings(t, "tcp", "127.0.0.1:"+port) || !pings(t, "unix", path) {
		t.Error("not served")
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the socket is %v, %v", info.Mode(), err)
	}
	// The same port again.
	second, _ := listening(t, "--port", port)
	if err := second.Listen(); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a port in use: %v", err)
	}
	missing, _ := listening(t, "--port", port, "--bind", "192.0.2.1")
	if err := missing.Listen(); err == nil {
		t.Error("an address of another host is no error")
	}
}

func TestNoTCP(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	s, _ := listening(t, "--port", "0", "--unixsocket", path)
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	if !pings(t, "unix", path) {
		t.Error("not served over the socket")
	}
	client := s.Clients().List()
	for _, c := range client {
		if c.RemoteAddr() != path+":0" || c.LocalAddr() != path+":0" || !c.Conn().Local() || c.Info().Flags.Load()&FlagUnixSocket == 0 {
			t.Errorf("a unix client is %s", c.AppendLine(nil, 0))
		}
	}
}

func TestUnixSocketIsRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	c := load(t, "--port", "0", "--unixsocket", path)
	s, err := New(Options{Handler: newToy(), Settings: c.Settings})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Listen(), s.Stop(context.Background())); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	if err := s.Listen(); err != ErrStopped {
		t.Errorf("listening after the stop: %v", err)
	}
}

func TestRelisten(t *testing.T) {
	first, second := freePort(t), freePort(t)
	s, c := listening(t, "--port", first)
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	if err := c.Set([]string{"port", second}, true); err != nil {
		t.Fatal(err)
	}
	if pings(t, "tcp", "127.0.0.1:"+first) || !pings(t, "tcp", "127.0.0.1:"+second) {
		t.Error("the port was not changed")
	}
	// Nothing is bound, and then something again.
	if err := c.Set([]string{"bind", ""}, true); err != nil {
		t.Fatal(err)
	}
	if addresses := s.Addresses(); len(addresses) != 0 {
		t.Errorf("bound to nothing, listening on %v", addresses)
	}
	// A wider address takes the place of a narrower one on the same port.
	if err := c.Set([]string{"bind", "*"}, true); err != nil {
		t.Fatal(err)
	}
	if addresses := s.Addresses(); len(addresses) != 1 || !strings.HasPrefix(addresses[0].String(), "0.0.0.0:") {
		t.Errorf("listening on %v", addresses)
	}
	busy, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	_, port, _ := net.SplitHostPort(busy.Addr().String())
	want := "CONFIG SET failed (possibly related to argument 'port') - Unable to listen on this port. Check server logs."
	if got := errorText(c.Set([]string{"port", port}, true)); got != want {
		t.Errorf("a port in use: %q", got)
	}
	if !pings(t, "tcp", "127.0.0.1:"+second) {
		t.Error("the old port is not served any more")
	}
	if text, _ := c.Text("port"); text != second {
		t.Errorf("port is %s, want %s", text, second)
	}
	if err := c.Set([]string{"port", "0"}, true); err != nil || len(s.Addresses()) != 0 {
		t.Errorf("port 0: %v, %v", err, s.Addresses())
	}
}

// stubbornListener fails to accept until it is closed.
type stubbornListener struct {
	net.Listener
	failures atomic.Int64
}

func (l *stubbornListener) Accept() (net.Conn, error) {
	if l.failures.Add(1) > 3 {
		return l.Listener.Accept()
	}
	return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
}

// A failing accept is not tried again at once, and not given up.
func TestAcceptErrors(t *testing.T) {
	withDrivers(t, func(r *rig) {
		inner, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			r.Fatal(err)
		}
		ln := &stubbornListener{Listener: inner}
		if err := r.server.Serve(ln); err != nil {
			r.Fatal(err)
		}
		if !pings(r.T, "tcp", inner.Addr().String()) || ln.failures.Load() < 4 {
			r.Errorf("served after %d failures", ln.failures.Load()-1)
		}
	})
}

// farConn pretends to come from elsewhere.
type farListener struct{ net.Listener }

type farConn struct{ *net.TCPConn }

func (l farListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return farConn{conn.(*net.TCPConn)}, nil
}

func (c farConn) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(203, 0, 113, 5), Port: 4000}
}

func TestProtectedMode(t *testing.T) {
	withDrivers(t, func(r *rig) {
		inner, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			r.Fatal(err)
		}
		if err := r.server.Serve(farListener{inner}); err != nil {
			r.Fatal(err)
		}
		dial := func() *client {
			conn, err := net.Dial("tcp", inner.Addr().String())
			if err != nil {
				r.Fatal(err)
			}
			return r.client(conn)
		}
		c := dial()
		c.expect("-DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user. ")
		if rest, err := io.ReadAll(c.in); err != nil || !strings.HasSuffix(string(rest), "connections from the outside.\r\n") {
			r.Errorf("the rest is %q, %v", rest, err)
		}
		for _, change := range []func(s *Settings){
			func(*Settings) { r.toy.guarded.Store(true) },
			func(s *Settings) { s.ProtectedMode = false },
		} {
			r.toy.guarded.Store(false)
			changed := *testSettings(r.settings().IOThreads)
			change(&changed)
			r.change(&changed)
			c := dial()
			c.send("PING\r\n")
			c.expect("+PONG\r\n")
			if listed := r.server.Clients().List(); listed[len(listed)-1].RemoteAddr() != "203.0.113.5:4000" {
				r.Errorf("the client is %s", listed[len(listed)-1].RemoteAddr())
			}
		}
		if n := r.server.Stats().Rejected; n != 1 {
			r.Errorf("%d rejected, want 1", n)
		}
	})
}
