// This file owns the comparison with a real redis-server 7.0.15, where one is
// installed: the directive table and the answers to bytes that are no request.

package server

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"reminis/commands/quoting"
)

// startRedis starts a redis-server for one test and returns its address. The first
// argument may be a configuration file.
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
	// Between the look for a free port and the server's own another process may take it.
	for range 5 {
		if addr, ready := startRedisOnce(t, path, arguments); ready {
			return addr
		}
	}
	t.Fatal("redis-server did not start")
	return ""
}

func startRedisOnce(t *testing.T, path string, arguments []string) (addr string, ready bool) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = ln.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	ln.Close()
	var file []string
	if len(arguments) > 0 && !strings.HasPrefix(arguments[0], "-") {
		file, arguments = arguments[:1], arguments[1:]
	}
	usual := []string{"--port", port, "--save", "", "--appendonly", "no", "--dir", t.TempDir()}
	command := exec.Command(path, slices.Concat(file, usual, arguments)...)
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
			return addr, true
		}
		t.Log(lines.Text())
	}
	return "", false
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
	return &asker{t, patient{conn}, bufio.NewReader(patient{conn})}
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
		"port": "the test's", "dir": "ours has a directory of its own",
		"save": "the test's", "io-threads": "ours follows the number of processors", "pidfile": "the test's",
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
			if d.kind == text || d.name == "maxmemory" || d.name == "cluster-link-sendbuf-limit" || d.name == "maxmemory-clients" || d.name == "bind" {
				// Redis wraps what does not fit into these; who listens tries to bind.
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

// CLIENT LIST has Redis's fields in Redis's order.
func TestClientLineAgainstRedis(t *testing.T) {
	theirs := newAsker(t, startRedis(t)).ask("CLIENT", "LIST")[0]
	withDrivers(t, func(r *rig) {
		c := r.dial()
		info := c.serverConn().Info()
		r.eventually("nothing is pending", func() bool { return info.outputBytes.Load() == 0 })
		ours := string(r.server.Clients().List()[0].AppendLine(nil, r.server.now()))
		if got, want := fieldNames(ours), fieldNames(theirs); got != want {
			r.Errorf("the fields are\n%s\nwant\n%s", got, want)
		}
		for _, want := range []string{"id=1 ", " addr=" + c.LocalAddr().String(), " laddr=" + r.addr, " flags=N ",
			" db=0 sub=0 psub=0 ssub=0 multi=-1 qbuf=0 qbuf-free=", " argv-mem=0 multi-mem=0 ", " obl=0 oll=0 omem=0 ",
			" events=r cmd=NULL user=default redir=-1 resp=2"} {
			if !strings.Contains(ours, want) {
				r.Errorf("%q lacks %q", ours, want)
			}
		}
		name, command := "me", "client|list"
		info.Name.Store(&name)
		info.Command.Store(&command)
		info.Set(FlagPubSub|FlagMulti|FlagNoEvict, true)
		info.Set(FlagMulti, false)
		ours = string(r.server.Clients().List()[0].AppendLine(nil, info.createdMs+61_999))
		for _, want := range []string{" name=me age=61 ", " flags=Pe ", " cmd=client|list "} {
			if !strings.Contains(ours, want) {
				r.Errorf("%q lacks %q", ours, want)
			}
		}
	})
}

func fieldNames(line string) string {
	var names []string
	for _, field := range strings.Fields(line) {
		name, _, _ := strings.Cut(field, "=")
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// echoExecutor answers PING, ECHO and what is neither exactly as Redis does.
type echoExecutor struct{}

func (echoExecutor) Guarded() bool               { return false }
func (echoExecutor) Open(Conn) Executor          { return echoExecutor{} }
func (echoExecutor) Prefetch([][]byte, int) bool { return false }
func (echoExecutor) GateSeq() uint64             { return 0 }
func (echoExecutor) AuthRequired() bool          { return false }
func (echoExecutor) Close()                      {}
func (echoExecutor) EndBatch()                   {}
func (echoExecutor) HeldBytes() int64            { return 0 }
func (echoExecutor) Shrink()                     {}
func (echoExecutor) Execute(out []byte, argv [][]byte) ([]byte, Action) {
	name := strings.ToLower(string(argv[0]))
	switch {
	case name == "ping" && len(argv) == 1:
		return append(out, "+PONG\r\n"...), Continue
	case name == "ping" && len(argv) == 2 || name == "echo" && len(argv) == 2:
		return appendBulk(out, argv[1]), Continue
	case name == "ping" || name == "echo":
		return append(out, "-ERR wrong number of arguments for '"+name+"' command\r\n"...), Continue
	}
	text := "unknown command '" + cString(argv[0], 128) + "', with args beginning with: "
	args := ""
	for _, word := range argv[1:] {
		if len(args) >= 128 {
			break
		}
		args += "'" + cString(word, 128-len(args)) + "' "
	}
	text = strings.NewReplacer("\r", " ", "\n", " ").Replace(text + args)
	return append(out, "-ERR "+text+"\r\n"...), Continue
}

// cString is what printf's %.*s prints of a string.
func cString(text []byte, most int) string {
	if nul := bytes.IndexByte(text, 0); nul >= 0 {
		text = text[:nul]
	}
	return string(text[:min(len(text), most)])
}

// What is sent in one connection is answered with the same bytes as by Redis,
// valid, damaged or neither, however it is split.
func TestProtocolAgainstRedis(t *testing.T) {
	theirs := startRedis(t)
	for _, loops := range []int{0, 1} {
		server, err := New(Options{Handler: echoExecutor{}, Settings: func() *Settings { return testSettings(loops) }})
		if err != nil {
			t.Fatal(err)
		}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Serve(ln); err != nil {
			t.Fatal(err)
		}
		const seed = 20
		random := rand.New(rand.NewPCG(seed, uint64(loops)))
		refused := 0
		for i := range 600 {
			sent := damagedPipeline(random)
			want, got := exchange(t, theirs, sent, random), exchange(t, ln.Addr().String(), sent, random)
			if !bytes.Equal(got, want) {
				t.Fatalf("seed %d, pipeline %d, %d loops: %.300q\n got %.300q\nwant %.300q", seed, i, loops, sent, got, want)
			}
			refused += bytes.Count(want, []byte("Protocol error"))
		}
		if refused < 50 {
			t.Errorf("only %d pipelines were refused; the damage is too small", refused)
		}
		if err := server.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// damagedPipeline is a few requests of both forms with up to two bytes changed.
func damagedPipeline(random *rand.Rand) []byte {
	var sent []byte
	for range 1 + random.IntN(6) {
		word := strings.Repeat("a$*\r\n1"[random.IntN(6):], random.IntN(5))
		switch random.IntN(8) {
		case 0:
			sent = append(sent, "PING\r\n"...)
		case 1:
			sent = append(sent, "ECHO "+quoting.Quote(word)+"\n"...)
		case 2:
			sent = append(sent, []string{"\r\n", "*0\r\n", "*-1\r\n", "*1\r\n$0\r\n\r\n"}[random.IntN(4)]...)
		case 3:
			sent = append(sent, request("PING", word, word)...)
		case 4:
			sent = append(sent, request("ECHO", strings.Repeat("x", random.IntN(40000)))...)
		default:
			sent = append(sent, request("ECHO", word)...)
		}
	}
	for range random.IntN(3) {
		at := random.IntN(min(len(sent), 200))
		if random.IntN(3) == 0 {
			sent = append(sent[:at], sent[at+1:]...)
		} else {
			sent[at] = "\r\n*$-0193\x00x \"'"[random.IntN(14)]
		}
		if len(sent) == 0 {
			break
		}
	}
	return sent
}

// exchange sends bytes in a few pieces, ends its side, and reads all answers. A
// peer that has closed already may answer the rest with a reset.
func exchange(t *testing.T, addr string, sent []byte, random *rand.Rand) []byte {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	answer := make(chan []byte)
	go func() {
		got, _ := io.ReadAll(conn)
		answer <- got
	}()
	for len(sent) > 0 {
		n := 1 + random.IntN(len(sent))
		if _, err := conn.Write(sent[:n]); err != nil {
			break
		}
		sent = sent[n:]
	}
	_ = conn.(*net.TCPConn).CloseWrite()
	return <-answer
}
