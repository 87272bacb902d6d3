package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"reminis/commands"
	"reminis/server"
)

// This file owns the test of bad input: a real server fed with what no client
// should send. Each is answered by a clear error or a closed connection, changes
// nothing, and disturbs nobody else.

// rig is a real server on this host.
type rig struct {
	testing.TB
	network, address string
	process          *process // nil when it is another process
}

// newRig starts a server with these directives; it stops with the test.
func newRig(t testing.TB, directives ...string) *rig {
	t.Helper()
	r := newLoadingRig(t, nil, directives...)
	p := r.process
	if stopped, err := p.load(); stopped || err != nil {
		t.Fatalf("stopped: %t, error: %v", stopped, err)
	}
	p.engine.RunExpiry()
	t.Cleanup(p.engine.StopExpiry)
	p.core.EndLoading()
	return r
}

// newLoadingRig starts a server whose data is not read yet. hold is called between
// its pieces.
func newLoadingRig(t testing.TB, hold func(), directives ...string) *rig {
	t.Helper()
	all := append([]string{"--port", "0", "--dir", t.TempDir(), "--loglevel", "warning"}, directives...)
	config, err := server.Load(all, strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	p := &process{config: config, log: &server.Log{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}, stop: make(chan struct{}, 1)}
	p.loading.hold = hold
	if err := p.open(); err != nil {
		t.Fatal(err)
	}
	if err := p.listen(); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.server.Serve(listener); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := p.server.Stop(ctx); err != nil && err != server.ErrStopped {
			t.Errorf("stop: %v", err)
		}
		if p.store != nil {
			if err := errors.Join(p.keys.Close(), p.store.Close()); err != nil {
				t.Errorf("close: %v", err)
			}
		}
	})
	return &rig{TB: t, network: "tcp", address: listener.Addr().String(), process: p}
}

// wire is a connection.
type wire struct {
	rig *rig
	patient
	in *bufio.Reader
}

func (r *rig) dial() *wire {
	r.Helper()
	conn, err := net.Dial(r.network, r.address)
	if err != nil {
		r.Fatal(err)
	}
	return &wire{r, patient{conn}, bufio.NewReader(patient{conn})}
}

// patient bounds each read and write of a connection, however long all together take.
type patient struct{ net.Conn }

func (p patient) Read(buf []byte) (int, error) {
	if err := p.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	return p.Conn.Read(buf)
}

func (p patient) Write(buf []byte) (int, error) {
	if err := p.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	return p.Conn.Write(buf)
}

// CloseWrite ends the side that writes.
func (p patient) CloseWrite() error { return p.Conn.(*net.TCPConn).CloseWrite() }

// request is a command line as clients send it.
func request(words ...string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "*%d\r\n", len(words))
	for _, word := range words {
		out.WriteString(bulk(word))
	}
	return out.String()
}

// aside writes while the caller reads. What cannot be written any more is not
// wanted by the server.
func (c *wire) aside(text string) {
	go func() { _, _ = io.WriteString(c.patient, text) }()
}

// all sends everything, ends its side, and reads until the server ends the
// other.
func (c *wire) all(text string) (string, error) {
	defer c.Close()
	go func() {
		_, _ = io.WriteString(c.patient, text)
		_ = c.CloseWrite() // the server may have closed it already
	}()
	got, err := io.ReadAll(c.in)
	return string(got), err
}

// reply reads one reply, whole.
func (c *wire) reply() (string, error) {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return line, err
	}
	n, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
	switch line[0] {
	case '$', '=':
		if n < 0 {
			return line, nil
		}
		body := make([]byte, n+2)
		_, err = io.ReadFull(c.in, body)
		return line + string(body), err
	case '%':
		n *= 2
	case '*', '~', '>':
	default:
		return line, nil
	}
	for range n {
		member, err := c.reply()
		if err != nil {
			return line, err
		}
		line += member
	}
	return line, nil
}

// last sends a command line after which the server may end the connection.
func (c *wire) last(words ...string) (string, error) {
	c.aside(request(words...))
	return c.reply()
}

// do sends a command line and reads its reply.
func (c *wire) do(words ...string) string {
	c.rig.Helper()
	got, err := c.last(words...)
	if err != nil {
		c.rig.Fatalf("%.200q: %v", words, err)
	}
	return got
}

// fill puts something of each type where bad input could hit it.
func (r *rig) fill() {
	r.Helper()
	c := r.dial()
	defer c.Close()
	for _, words := range [][]string{
		{"SET", "string", "value"}, {"SET", "number", "10"}, {"SET", "mortal", "value", "EX", "100000"},
		{"HSET", "hash", "field", "value", "number", "1"}, {"ZADD", "ranking", "1", "member"}, {"MEM.SET", recordName, `{"a":{"b":1},"list":[1,2]}`},
		{"SELECT", "1"}, {"SET", "elsewhere", "value"},
	} {
		if got := c.do(words...); got[0] == '-' {
			r.Fatalf("%q: %q", words, got)
		}
	}
}

const recordName = "app:u1:s1:profile0"

// state is everything that is stored, as a client sees it.
func (r *rig) state() string {
	r.Helper()
	c := r.dial()
	defer c.Close()
	if got := c.do("PING"); got != "+PONG\r\n" {
		r.Fatalf("a fresh client's PING: %q", got)
	}
	out := ""
	for _, db := range []string{"0", "1"} {
		c.do("SELECT", db)
		for _, words := range [][]string{
			{"DBSIZE"}, {"GET", "string"}, {"GET", "number"}, {"GET", "mortal"}, {"PEXPIRETIME", "mortal"}, {"HGETALL", "hash"}, {"ZRANGE", "ranking", "0", "-1", "WITHSCORES"},
			{"GET", "elsewhere"}, {"TYPE", recordName}, {"MEM.GET", recordName, "WITHMETA", "FORMAT", "JSON"}, {"PTTL", recordName},
			{"MEM.HISTORY", recordName, "FORMAT", "JSON"}, {"MEM.AUDIT", "app:u1", "VERIFY"}, {"MEM.NS", "COUNT", "*"},
		} {
			out += fmt.Sprintf("%s %q: %q\n", db, words, c.do(words...))
		}
	}
	return out
}

// unchanged runs bad input and compares what is stored before and after.
func (r *rig) unchanged(name string, input func()) {
	r.Helper()
	before := r.state()
	input()
	if after := r.state(); after != before {
		r.Errorf("%s: something changed: %s", name, difference(after, before))
	}
}

// mustRefuse sends a command line that is wrong and wants an error, after which
// the connection still answers.
func (r *rig) mustRefuse(words []string, want string) {
	r.Helper()
	c := r.dial()
	defer c.Close()
	got := c.do(words...)
	if got[0] != '-' || !strings.Contains(got, want) || strings.Count(got, "\n") != 1 {
		r.Errorf("%.100q: %.200q, want an error with %q", words, got, want)
	}
	if got := c.do("PING"); got != "+PONG\r\n" {
		r.Errorf("%.100q: PING afterwards: %q", words, got)
	}
}

// hostileBytes is what breaks the protocol: the flaws of readers that must not
// face a network, and what else peers send by mistake or on purpose. answer is
// the error before the connection is closed; empty when it stays open and
// answers the PING behind it.
func hostileBytes() []struct{ name, sent, answer string } {
	return []struct{ name, sent, answer string }{
		{"a bulk length near 2^63", "*1\r\n$9223372036854775807\r\n", "invalid bulk length"},
		{"a bulk length past 2^63", "*1\r\n$9223372036854775808\r\n", "invalid bulk length"},
		{"a bulk length of 2^32", "*1\r\n$4294967296\r\n", "invalid bulk length"},
		{"a bulk length over the limit", "*2\r\n$3\r\nGET\r\n$536870913\r\n", "invalid bulk length"},
		{"a negative bulk length", "*2\r\n$3\r\nGET\r\n$-1\r\n", "invalid bulk length"},
		{"a bulk length that is no number", "*1\r\n$abc\r\n", "invalid bulk length"},
		{"a huge multibulk count", "*2147483648\r\n", "invalid multibulk length"},
		{"a multibulk count near 2^63", "*9223372036854775807\r\n", "invalid multibulk length"},
		{"a multibulk count of a million millions", "*1000000000000\r\n$1\r\na\r\n", "invalid multibulk length"},
		{"a multibulk count that is no number", "*x\r\n", "invalid multibulk length"},
		{"no bulk where one must be", "*1\r\nPING\r\n", "expected '$', got 'P'"},
		{"a count line without an end", "*" + strings.Repeat("1", 70000), "too big mbulk count string"},
		{"a length line without an end", "*1\r\n$" + strings.Repeat("1", 70000), "too big bulk count string"},
		{"an inline line without an end", strings.Repeat("a", 70000), "too big inline request"},
		{"an unbalanced quote", "GET \"string\r\n", "unbalanced quotes in request"},
		{"*0 does not close the connection", "*0\r\n", ""},
		{"*-1 does not close the connection", "*-1\r\n", ""},
		{"empty lines", "\r\n\r\n\n\n", ""},
		{"valid commands before an error are answered", "PING\r\nPING\r\n*1\r\n$-5\r\n", "+PONG\r\n+PONG\r\n-ERR Protocol error: invalid bulk length"},
		{"binary noise", "\x01\x02\xff\xfe\r\n", "unknown command"},
		{"noise with a NUL, which hides the end of its line as in Redis", "\x00\x01\x02\r\n", hidden},
		{"an HTTP request, which ends the connection as in Redis", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", ended},
		{"a TLS hello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n", hidden},
	}
}

// What the answer may be beside an error: none, to what is no whole command; or
// whatever came before the connection was ended.
const (
	hidden = "none"
	ended  = "the end"
)

func TestHostileBytes(t *testing.T) {
	r := newRig(t)
	r.fill()
	for _, test := range hostileBytes() {
		r.unchanged(test.name, func() {
			got, err := r.dial().all(test.sent + request("PING"))
			switch {
			case err != nil:
				t.Errorf("%s: %v after %.200q", test.name, err, got)
			case test.answer == hidden && got != "",
				test.answer == "" && !strings.HasSuffix(got, "+PONG\r\n"),
				test.answer == ended && strings.Contains(got, "+PONG"),
				test.answer != hidden && test.answer != ended && !strings.Contains(got, test.answer):
				t.Errorf("%s: %.200q, want %q", test.name, got, test.answer)
			}
		})
	}
}

// A large command costs time in proportion to its size, in however many pieces
// it comes, and leaves nothing behind.
func TestLargeCommands(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	words := append([]string{"MSET"}, make([]string, 200_000)...)
	for i := range words[1:] {
		words[i+1] = fmt.Sprint(i % 1000)
	}
	text := request(words...)
	for len(text) > 0 {
		n := min(len(text), 7000)
		if _, err := io.WriteString(c, text[:n]); err != nil {
			t.Fatal(err)
		}
		text = text[n:]
	}
	if got, err := c.reply(); got != modelOK || err != nil {
		t.Fatalf("200,000 arguments: %q, %v", got, err)
	}
	if got := c.do("SET", "large", strings.Repeat("x", 20<<20)); got != modelOK {
		t.Fatalf("20 MB: %q", got)
	}
	if got := c.do("STRLEN", "large"); got != number(20<<20) {
		t.Fatalf("20 MB: %q", got)
	}
}

// Before AUTH at most 10 arguments of 16 KB are taken.
func TestHostileBeforeAuth(t *testing.T) {
	r := newRig(t, "--requirepass", "secret")
	for _, sent := range []string{"*11\r\n", "*1\r\n$16385\r\n"} {
		c := r.dial()
		c.aside(sent)
		if got, err := io.ReadAll(c.in); err != nil || !bytes.HasPrefix(got, []byte("-ERR Protocol error: unauthenticated ")) {
			t.Errorf("%q: %q, %v", sent, got, err)
		}
	}
	r.mustRefuseNoAuth()
}

// mustRefuseNoAuth sends every command that needs AUTH without it.
func (r *rig) mustRefuseNoAuth() {
	r.Helper()
	admin := r.dial()
	if got := admin.do("AUTH", "secret") + admin.do("PING"); got != modelOK+"+PONG\r\n" {
		r.Fatalf("AUTH, then PING: %q", got)
	}
	guest, tried := r.dial(), 0
	for _, c := range r.process.core.Table.All() {
		if c.Flags&commands.NoAuth != 0 || len(c.Subs) > 0 {
			continue
		}
		words := []string{c.Name}
		for range admin.leastWords(c.Name) - 1 {
			words = append(words, "x")
		}
		// EXEC gives up its transaction whatever is wrong.
		if got := guest.do(words...); got[0] != '-' || !strings.Contains(got, "NOAUTH ") {
			r.Errorf("%q before AUTH: %q", words, got)
		}
		tried++
	}
	if tried < 80 {
		r.Errorf("only %d commands were tried", tried)
	}
}

// arity is what COMMAND INFO says of a command.
func (c *wire) arity(name string) int {
	c.rig.Helper()
	info := items(c.do("COMMAND", "INFO", name))
	if len(info) < 2 || info[0] != name {
		c.rig.Fatalf("COMMAND INFO %s: %q", name, info)
	}
	n, err := strconv.Atoi(info[1])
	if err != nil || n == 0 {
		c.rig.Fatalf("COMMAND INFO %s: arity %q", name, info[1])
	}
	return n
}

// leastWords is with how many words a command line may do.
func (c *wire) leastWords(name string) int {
	n := c.arity(name)
	return max(n, -n)
}
