// This file owns the comparison with a real redis-server 7.0.15, where one is
// installed: the directive table and the answers to bytes that are no request.

package server

import (
	"bufio"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// startRedis starts a redis-server for one test and returns its address.
func startRedis(t *testing.T, arguments ...string) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("redis-server is not installed: nothing to compare with")
	}
	version, err := exec.Command(path, "--version").Output()
	if err != nil || !strings.Contains(string(version), "v=7.0.15") {
		t.Skipf("redis-server is %q, not 7.0.15", version)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	ln.Close()
	command := exec.Command(path, append([]string{"--port", port, "--save", "", "--appendonly", "no", "--dir", t.TempDir()}, arguments...)...)
	log, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "Ready to accept connections") {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return addr
		}
	}
	t.Fatal("redis-server did not start")
	return ""
}

// ask sends one command to a Redis and reads an array or a line.
type asker struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func newAsker(t *testing.T, addr string) *asker {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &asker{t, conn, bufio.NewReader(conn)}
}

func (a *asker) ask(words ...string) []string {
	a.t.Helper()
	if _, err := io.WriteString(a.conn, request(words...)); err != nil {
		a.t.Fatal(err)
	}
	return a.reply()
}

func (a *asker) reply() []string {
	a.t.Helper()
	line, err := a.in.ReadString('\n')
	if err != nil {
		a.t.Fatal(err)
	}
	line = strings.TrimRight(line, "\r\n")
	n, _ := strconv.Atoi(line[1:])
	switch line[0] {
	case '*':
		var all []string
		for range n {
			all = append(all, a.reply()...)
		}
		return all
	case '$':
		data := make([]byte, n+2)
		if _, err := io.ReadFull(a.in, data); err != nil {
			a.t.Fatal(err)
		}
		return []string{string(data[:n])}
	}
	return []string{line}
}

// Every directive of Redis is in the table, under its names, with its default
// and its answers to bad values; where ours differs, it says why here.
func TestTableAgainstRedis(t *testing.T) {
	differs := map[string]string{
		"port": "the test's", "dir": "ours has a directory of its own", "bind": "ours is not open to the network by default",
		"save": "the test's", "io-threads": "ours follows the number of processors", "pidfile": "the test's",
		"tls-port": "refused", "aclfile": "refused",
	}
	a := newAsker(t, startRedis(t))
	c := DefaultConfig()
	theirs := a.ask("CONFIG", "GET", "*")
	known := map[string]bool{}
	for i := 0; i+1 < len(theirs); i += 2 {
		name, want := theirs[i], theirs[i+1]
		known[name] = true
		got, ok := c.Text(name)
		if !ok {
			t.Errorf("Redis has a directive %s", name)
		} else if got != want && differs[name] == "" {
			t.Errorf("%s is %q by default, Redis's is %q", name, got, want)
		}
	}
	for _, d := range directives {
		own := strings.HasPrefix(d.name, "mem-") || d.name == "write-timeout-ms" || d.name == "ignore-redis-files"
		if len(a.ask("CONFIG", "GET", d.name)) == 0 && !own {
			t.Errorf("Redis has no directive %s", d.name)
		}
	}
	// What a bad value or a change at run time is answered with.
	for _, d := range directives {
		if !known[d.name] || d.refused || d.kind == special && d.is(protected) || differs[d.name] != "" {
			continue
		}
		for _, bad := range []string{"not a value", "-5000000000", "99999999999999999999", "1 2 3", "no yes", "101%"} {
			if d.kind == text || d.name == "maxmemory" || d.name == "cluster-link-sendbuf-limit" || d.name == "maxmemory-clients" {
				// Redis wraps what does not fit into these.
				continue
			}
			want := a.ask("CONFIG", "SET", d.name, bad)[0]
			if got := errorText(c.Set([]string{d.name, bad}, true)); "-ERR "+got != want && got+want != "+OK" {
				t.Errorf("CONFIG SET %s %q: %q, Redis says %q", d.name, bad, got, want)
			}
			a.ask("CONFIG", "SET", d.name, d.initial)
		}
	}
}
