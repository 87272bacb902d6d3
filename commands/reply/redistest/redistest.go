// Package redistest runs a real redis-server 7.0 beside a test, so that replies and
// decisions can be compared byte for byte. It is only for tests.
//
// The server listens on a socket file in the test's own folder, keeps nothing on
// disk and is stopped when the test ends. A test skips, saying so, where
// redis-server is not installed. Rejected: recorded replies in files, which do not
// answer the random lines that the comparisons are made of.
package redistest

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"reminis/commands/reply"
)

// Conn is one connection to the server.
type Conn struct {
	t      testing.TB
	socket string
	conn   net.Conn
	buf    []byte
	used   int // how much of buf was answered
}

// Start runs a server for the test and connects to it.
func Start(t testing.TB) *Conn {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("redis-server is not installed, nothing to compare with")
	}
	folder, err := os.MkdirTemp("", "redis")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	socket := filepath.Join(folder, "s")
	server := exec.Command(path, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no",
		"--dir", folder, "--daemonize", "no", "--enable-debug-command", "yes")
	output, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal("start redis-server:", err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	lines := bufio.NewScanner(output)
	for ready := false; !ready && lines.Scan(); {
		ready = strings.Contains(lines.Text(), "eady to accept connections")
	}
	go func() {
		// The server blocks when nobody reads its log.
		for lines.Scan() {
		}
	}()
	return dial(t, socket)
}

// Dial connects to the same server once more.
func (c *Conn) Dial() *Conn {
	c.t.Helper()
	return dial(c.t, c.socket)
}

// Open is a plain connection to the server, for whoever speaks to it by himself.
func (c *Conn) Open() (net.Conn, error) { return net.Dial("unix", c.socket) }

func dial(t testing.TB, socket string) *Conn {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal("connect to redis-server:", err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &Conn{t: t, socket: socket, conn: conn}
}

// patience bounds the wait for a reply that never comes.
const patience = time.Minute

// Do sends one command and returns the bytes of its reply, valid until the next
// call.
func (c *Conn) Do(argv ...string) []byte {
	c.t.Helper()
	c.Send(argv...)
	return c.Next()
}

// Send sends one command.
func (c *Conn) Send(argv ...string) {
	c.t.Helper()
	request := []byte("*" + strconv.Itoa(len(argv)) + "\r\n")
	for _, arg := range argv {
		request = append(request, "$"+strconv.Itoa(len(arg))+"\r\n"+arg+"\r\n"...)
	}
	if _, err := c.conn.Write(request); err != nil {
		c.t.Fatal("write to redis-server:", err)
	}
}

// Next returns the next reply, or the next message to a subscriber, valid until
// the next call.
func (c *Conn) Next() []byte {
	c.t.Helper()
	c.buf = append(c.buf[:0], c.buf[c.used:]...)
	c.used = 0
	chunk := make([]byte, 64<<10)
	for {
		if rest, err := reply.Skip(c.buf); err == nil {
			c.used = len(c.buf) - len(rest)
			return c.buf[:c.used:c.used]
		}
		if err := c.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
			c.t.Fatal(err)
		}
		n, err := c.conn.Read(chunk)
		if err != nil {
			c.t.Fatalf("read a reply: %v; so far %q", err, c.buf)
		}
		c.buf = append(c.buf, chunk[:n]...)
	}
}
