package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// This file owns the test of a real process that is killed while it writes, on
// a real file system. It must not know how anything is stored.

// serveVariable makes the test binary the server itself, with these arguments.
const serveVariable = "REMINIS_TEST_SERVE"

func TestMain(m *testing.M) {
	if line := os.Getenv(serveVariable); line != "" {
		if err := run(strings.Split(line, "\n")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// startProcess starts a server of its own process and waits until it answers.
func startProcess(t *testing.T, dir string, directives ...string) (*rig, *exec.Cmd) {
	t.Helper()
	socket := filepath.Join(dir, "socket")
	line := append([]string{"--port", "0", "--unixsocket", socket, "--dir", filepath.Join(dir, "data")}, directives...)
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), serveVariable+"="+strings.Join(line, "\n"))
	var log strings.Builder
	command.Stdout, command.Stderr = &log, &log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill() // it may have ended
		_ = command.Wait()
		if t.Failed() {
			t.Logf("the server's log:\n%s", log.String())
		}
	})
	for deadline := time.Now().Add(patience); ; runtime.Gosched() {
		if conn, err := net.Dial("unix", socket); err == nil {
			conn.Close()
			r := &rig{TB: t, network: "unix", address: socket}
			r.awaitData()
			return r, command
		}
		if time.Now().After(deadline) {
			t.Fatal("the server does not answer")
		}
	}
}

// awaitData waits until the server's data is read.
func (r *rig) awaitData() {
	r.Helper()
	c := r.dial()
	defer c.Close()
	for c.do("PING") == refusedLoading {
		runtime.Gosched()
	}
}

// kill ends a server as kill -9 does.
func kill(t *testing.T, command *exec.Cmd) {
	t.Helper()
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // it says that the process was killed
}

func TestKill(t *testing.T) {
	const lives = 3
	seed := seedOf(t)
	k := &killed{T: t, r: rand.New(rand.NewPCG(seed, 6)), dir: t.TempDir()}
	for range lives {
		c, command := k.start()
		for range 40 + k.r.IntN(80) {
			k.acknowledge(c)
		}
		k.kill(c, command)
	}
	c, command := k.start()
	if got, err := c.last("SHUTDOWN"); err != io.EOF {
		t.Fatalf("SHUTDOWN: %q, %v", got, err)
	}
	if err := command.Wait(); err != nil {
		t.Fatalf("SHUTDOWN: %v", err)
	}
	_, command = k.start()
	kill(t, command)
	t.Logf("seed %d: %d transactions, %d lives", seed, len(k.seqs), lives)
}

// killed is a server that is killed again and again, and what it must know.
type killed struct {
	*testing.T
	r    *rand.Rand
	dir  string
	seqs []string // the batch of each transaction that was acknowledged
}

// transaction is the n-th: it changes a string, a hash and a record.
func transaction(n int) [][]string {
	return [][]string{{"MULTI"}, {"SET", "counter", fmt.Sprint(n)}, {"HSET", "hash", fmt.Sprint("f", n), fmt.Sprint(n)},
		{"MEM.SET", recordName, fmt.Sprintf(`{"n":%d}`, n), "ID", fmt.Sprint("id", n)}, {"EXEC"}}
}

// start begins a life and holds it to the lives before.
func (k *killed) start() (*wire, *exec.Cmd) {
	k.Helper()
	server, command := startProcess(k.T, k.dir, "--appendonly", "yes", "--appendfsync", "always")
	c := server.dial()
	if got := c.do("GET", "counter"); got == bulk(fmt.Sprint(len(k.seqs)+1)) {
		k.seqs = append(k.seqs, seqOf(c)) // it was kept, though nobody was told
	}
	if len(k.seqs) > 0 {
		checkKilled(k.T, c, k.seqs)
	}
	return c, command
}

// acknowledge makes the next transaction and waits for its reply.
func (k *killed) acknowledge(c *wire) {
	k.Helper()
	n, got := len(k.seqs)+1, ""
	for _, words := range transaction(n) {
		got = c.do(words...)
	}
	if !strings.HasSuffix(got, number(int64(n))) {
		k.Fatalf("transaction %d: %q", n, got)
	}
	k.seqs = append(k.seqs, seqOf(c))
}

// kill ends a life while a transaction is under way.
func (k *killed) kill(c *wire, command *exec.Cmd) {
	k.Helper()
	text := ""
	for _, words := range transaction(len(k.seqs) + 1) {
		text += request(words...)
	}
	c.aside(text)
	kill(k.T, command)
}

// seqOf is the batch of the record's last change.
func seqOf(c *wire) string {
	c.rig.Helper()
	fields := items(c.do("MEM.HISTORY", recordName, "REV", "COUNT", "1"))
	for i := range fields {
		if fields[i] == "seq" {
			return fields[i+1]
		}
	}
	c.rig.Fatalf("MEM.HISTORY: %q", fields)
	return ""
}

// checkKilled holds the server to the transactions that were acknowledged.
func checkKilled(t *testing.T, c *wire, seqs []string) {
	t.Helper()
	acknowledged := len(seqs)
	last := fmt.Sprint(acknowledged)
	for _, test := range []struct {
		want  string
		words []string
	}{
		{bulk(last), []string{"GET", "counter"}},
		{number(int64(acknowledged)), []string{"HLEN", "hash"}},
		{bulk(fmt.Sprintf(`{"n":%d}`, acknowledged)), []string{"MEM.GET", recordName}},
		{bulk(`{"n":1}`), []string{"MEM.GET", recordName, "VERSION", "1"}},
		{bulk(`{"n":1}`), []string{"MEM.GET", recordName, "AT", "seq:" + seqs[0]}},
		{bulk(fmt.Sprintf(`{"n":%d}`, acknowledged/2)), []string{"MEM.GET", recordName, "AT", "seq:" + seqs[acknowledged/2-1]}},
		{number(1), []string{"MEM.SET", recordName, `{"n":1}`, "ID", "id1"}},
	} {
		if got := c.do(test.words...); got != test.want {
			t.Errorf("%q: %q, want %q", test.words, got, test.want)
		}
	}
	if state := items(c.do("MEM.AUDIT", "app:u1", "VERIFY")); len(state) < 4 || state[1] != "1" || state[3] != last {
		t.Errorf("VERIFY: %q, want %s events", state, last)
	}
}
