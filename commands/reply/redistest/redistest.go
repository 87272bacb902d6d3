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

	"reminis/commands/reply"
)

// Conn is one connection to the server.
type Conn struct {
	t    testing.TB
	conn net.Conn
	buf  []byte
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
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal("connect to redis-server:", err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &Conn{t: t, conn: conn}
}

// Do sends one command and returns the bytes of its reply, valid until the next Do.
func (c *Conn) Do(argv ...string) []byte {
	c.t.Helper()
	request := []byte("*" + strconv.Itoa(len(argv)) + "\r\n")
	for _, arg := range argv {
		request = append(request, "$"+strconv.Itoa(len(arg))+"\r\n"+arg+"\r\n"...)
	}
	if _, err := c.conn.Write(request); err != nil {
		c.t.Fatal("write to redis-server:", err)
	}
	c.buf = c.buf[:0]
	chunk := make([]byte, 64<<10)
	for {
		n, err := c.conn.Read(chunk)
		if err != nil {
			c.t.Fatalf("read the reply of %q: %v", argv, err)
		}
		c.buf = append(c.buf, chunk[:n]...)
		if rest, err := reply.Skip(c.buf); err == nil && len(rest) == 0 {
			return c.buf
		}
	}
}
