package memory

// This file holds Redis's glob facts as a table, a recursive matcher as oracle,
// and a comparison with a real server.

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
)

func TestMatchFacts(t *testing.T) {
	long := strings.Repeat("a", 1100)
	for _, c := range []struct {
		pattern, s string
		nocase     bool
		want       bool
	}{
		{"", "", false, true},
		{"*", "", false, false}, // util.c never looks at a pattern when the string is empty
		{"", "a", false, false},
		{"*", "a", false, true},
		{"a", "a", false, true},
		{"a", "A", false, false},
		{"a", "A", true, true},
		{"a*", "a", false, true},
		{"a**", "a", false, true},
		{"*a", "ba", false, true},
		{"h?llo", "hello", false, true},
		{"h?llo", "hllo", false, false},
		{"h*llo", "heeeello", false, true},
		{"h[ae]llo", "hallo", false, true},
		{"h[ae]llo", "hillo", false, false},
		{"h[^e]llo", "hallo", false, true},
		{"h[^e]llo", "hello", false, false},
		{"h[a-b]llo", "hbllo", false, true},
		{"h[b-a]llo", "hbllo", false, true}, // bounds in either order
		{"h[A-B]llo", "hbllo", true, true},
		{"[", "a", false, false},
		{"[^", "a", false, true}, // nothing is in an unclosed empty class
		{"[ab", "b", false, true},
		{"[a-", "-", false, true}, // a range needs three bytes
		{"[]a]", "a]", false, false},
		{`[\]]`, "]", false, true},
		{`[\A]`, "a", true, false}, // an escape in a class keeps its case
		{`\*`, "*", false, true},
		{`\*`, "a", false, false},
		{`a\`, `a\`, false, true},
		{"a*b*c", "aXbXc", false, true},
		{"a*b*c", "aXcXb", false, false},
		{"[\x80-\x01]", "\xff", false, true}, // char is signed
		{"[a-\xff]", "b", false, false},
		{strings.Repeat("*a", 1000), long, false, true},
		{strings.Repeat("*a", 1001), long, false, false}, // gives up
	} {
		if got := Match([]byte(c.pattern), []byte(c.s), c.nocase); got != c.want {
			t.Errorf("Match(%.40q, %.40q, %v) = %v", c.pattern, c.s, c.nocase, got)
		}
	}
}

// A matcher that tries every star again and again would not come back from
// these in this universe.
func TestMatchPathological(t *testing.T) {
	pattern := []byte(strings.Repeat("a*", 500) + "b")
	text := bytes.Repeat([]byte("a"), 2000)
	if Match(pattern, text, false) {
		t.Error("matched")
	}
	if !Match(pattern, append(text, 'b'), false) {
		t.Error("did not match")
	}
}

// slowMatch is the obvious recursion over the same elements.
func slowMatch(pattern, s []byte) bool {
	if len(s) == 0 {
		return len(pattern) == 0
	}
	if len(pattern) == 0 {
		return false
	}
	if pattern[0] == '*' {
		rest := bytes.TrimLeft(pattern, "*")
		if len(rest) == 0 {
			return true
		}
		for i := range s {
			if slowMatch(rest, s[i:]) {
				return true
			}
		}
		return false
	}
	next, ok := matchOne(pattern, 0, s[0], false)
	if !ok {
		return false
	}
	rest := pattern[next:]
	if len(s) == 1 {
		rest = bytes.TrimLeft(rest, "*")
	}
	return slowMatch(rest, s[1:])
}

func FuzzMatch(f *testing.F) {
	for _, seed := range [][2]string{{"a*b", "aab"}, {"[^a-c]*?", "xyz"}, {`\`, `\`}, {"*[", "a"}, {"**a**", "ba"}} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, pattern, s []byte) {
		if len(pattern) > 24 || len(s) > 24 {
			return
		}
		if got, want := Match(pattern, s, false), slowMatch(pattern, s); got != want {
			t.Fatalf("Match(%q, %q) = %v", pattern, s, got)
		}
		Match(pattern, s, true)
	})
}

func TestMatchAsRedis(t *testing.T) {
	server := startRedis(t)
	const seed = 20240817
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	alphabet := []byte("ab*?[]^-\\A\xff\x80Z")
	draw := func(size int) []byte {
		out := make([]byte, size)
		for i := range out {
			out[i] = alphabet[r.IntN(len(alphabet))]
		}
		return out
	}
	var keys [][]byte
	for range 400 {
		keys = append(keys, draw(1+r.IntN(5)))
		server.do("SET", string(keys[len(keys)-1]), "")
	}
	for range 3000 {
		pattern := draw(1 + r.IntN(8))
		want := server.do("KEYS", string(pattern))
		sort.Strings(want)
		seen := map[string]bool{}
		var got []string
		for _, key := range keys {
			if Match(pattern, key, false) && !seen[string(key)] {
				seen[string(key)] = true
				got = append(got, string(key))
			}
		}
		sort.Strings(got)
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Fatalf("KEYS %q\n got %q\nwant %q", pattern, got, want)
		}
	}
}

// redisServer is a real redis-server on a socket in a folder of its own.
type redisServer struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func startRedis(t *testing.T) *redisServer {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("redis-server is not installed: nothing to compare with")
	}
	folder := t.TempDir()
	socket := filepath.Join(folder, "s")
	command := exec.Command(path, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", folder)
	out, err := command.StdoutPipe()
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
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "ready to accept connections") {
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &redisServer{t, conn, bufio.NewReader(conn)}
}

// do sends a command and gives its reply's strings.
func (s *redisServer) do(args ...string) []string {
	s.t.Helper()
	var buf bytes.Buffer
	fmt.Fprintf(&buf, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&buf, "$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := s.conn.Write(buf.Bytes()); err != nil {
		s.t.Fatal(err)
	}
	return s.reply()
}

func (s *redisServer) reply() []string {
	line, err := s.in.ReadString('\n')
	if err != nil {
		s.t.Fatal(err)
	}
	line = strings.TrimSuffix(line, "\r\n")
	size, _ := strconv.Atoi(line[1:])
	switch line[0] {
	case '$':
		buf := make([]byte, size+2)
		if _, err := io.ReadFull(s.in, buf); err != nil {
			s.t.Fatal(err)
		}
		return []string{string(buf[:size])}
	case '*':
		var all []string
		for range size {
			all = append(all, s.reply()...)
		}
		return all
	case '-':
		s.t.Fatal(line)
	}
	return []string{line[1:]}
}
