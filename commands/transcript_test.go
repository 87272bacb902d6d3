package commands

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns transcripts: testdata/<command> shows command lines and the
// replies to them, and the test runs them in both protocols. It must not know
// any command.
//
// A block, which ends at an empty line, has a server of its own:
//
//	# what the block shows
//	> SET key "a value\x00"
//	+OK
//	@ 1500ms
//	b> GET key
//	"a value\x00"
//	> HGETALL h
//	2 ["f" "v"]
//	3 {"f" "v"}
//
// "b>" is a line of a second client, named b; a line that blocks has no reply, and
// "b<" is where b looks whether it has come. "b&>" is a line that goes on while others
// run; there, "b<" waits for it. "@" lets time pass. A reply stands
// on one line: +status, -ERROR text, :1, "bulk", nil, nil-array (RESP2 only),
// ,1.5 (double), #t, (123 (big number), ="verbatim", [array], ~[set], {map},
// >[push]; two lines with the protocol in front where the protocols differ; or
// "..." where only the shape of the reply matters. What was pushed to a client
// stands in front of its next reply.
//
// A real redis-server answers the same lines in redis_test.go, but for blocks in
// which time passes or that have a line "# not compared".
//
// With -rewrite the replies are written anew; read the difference before you
// commit it.

var rewrite = flag.Bool("rewrite", false, "write the replies of transcripts anew")

func TestTranscripts(t *testing.T) {
	table := DefaultTable()
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[*Command]bool{}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.IsDir() {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) { runTranscript(t, table, file, seen) })
	}
	t.Run("every command has one", func(t *testing.T) {
		for _, c := range table.All() {
			if _, err := os.Stat(filepath.Join("testdata", c.Name)); err != nil {
				t.Errorf("%s has no transcript", c.Name)
				continue
			}
			for _, each := range slices.Concat(c.Subs, []*Command{c}) {
				if each.runs() && each.Unavailable == "" && !seen[each] {
					t.Errorf("no transcript shows a reply of %s that is not an error", each.FullName())
				}
			}
		}
	})
}

func runTranscript(t *testing.T, table *Table, file string, seen map[*Command]bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for number, block := range strings.Split(strings.Trim(string(text), "\n"), "\n\n") {
		if number > 0 {
			out.WriteByte('\n')
		}
		lines := strings.Split(block, "\n")
		replies2, replies3 := play(t, table, lines, 2, seen), play(t, table, lines, 3, seen)
		for i, line := range lines {
			if isReply(line) {
				continue
			}
			out.WriteString(line + "\n")
			if i+1 < len(lines) && lines[i+1] == anyReply {
				out.WriteString(anyReply + "\n")
				continue
			}
			if replies2[i].text == replies3[i].text {
				if replies2[i].text != "" {
					out.WriteString(replies2[i].text + "\n")
				}
				continue
			}
			out.WriteString("2 " + replies2[i].text + "\n3 " + replies3[i].text + "\n")
		}
	}
	if out.String() == string(text) {
		return
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Error(firstDifference(string(text), out.String()))
}

// anyReply stands for a reply that is looked at only for its shape.
const anyReply = "..."

// isReply tells a reply from a command line, a comment and a passage of time.
func isReply(line string) bool {
	_, _, ok := splitCommand(line)
	_, waits := awaits(line)
	return !ok && !waits && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "@")
}

// splitCommand splits "b> GET key" into a client's name and a line.
func splitCommand(line string) (client, command string, ok bool) {
	client, command, ok = strings.Cut(line, "> ")
	return client, command, ok && strings.Trim(strings.TrimSuffix(client, "&"), "abcdefghijklmnopqrstuvwxyz") == ""
}

// awaits tells a line "b<", on which client b looks for a reply.
func awaits(line string) (client string, ok bool) {
	client, ok = strings.CutSuffix(line, "<")
	return client, ok && strings.Trim(client, "abcdefghijklmnopqrstuvwxyz") == ""
}

// answer is what a client reads after a line: its text as transcripts show it, and
// how many replies it is.
type answer struct {
	text    string
	replies int
	waiting int // clients that wait, if the line does
}

// play runs a block in one protocol and returns the answer to each line that is a
// command.
func play(t *testing.T, table *Table, lines []string, proto int, seen map[*Command]bool) []answer {
	t.Helper()
	s := newTestServer(table, engine.Options{Pool: testPool()})
	clients := map[string]*testClient{}
	answers := make([]answer, len(lines))
	for i, line := range lines {
		if text, ok := strings.CutPrefix(line, "@ "); ok {
			passed, err := time.ParseDuration(text)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			s.clock.nowMs += passed.Milliseconds()
			s.core.Engine.WaitersLate()
			continue
		}
		if name, ok := awaits(line); ok {
			data := clients[name].awake()
			answers[i] = answer{text: render(t, data, clients[name].session.Proto), replies: count(t, data)}
			continue
		}
		name, command, ok := splitCommand(line)
		if !ok {
			continue
		}
		name, goesOn := strings.CutSuffix(name, "&")
		if clients[name] == nil {
			clients[name] = s.connect(proto)
		}
		argv := words(t, command)
		clients[name].goesOn = goesOn
		data := clients[name].do(argv...)
		// HELLO changes the protocol.
		proto := clients[name].session.Proto
		answers[i] = answer{text: render(t, data, proto), replies: count(t, data)}
		if clients[name].blocks {
			answers[i].waiting = len(s.core.blocked.byID) + len(s.core.pause.asleep)
		}
		own := data[clients[name].taken:]
		if c := table.find(argv); c != nil && !bytes.HasPrefix(own, []byte("-")) && string(own) != "+QUEUED\r\n" {
			seen[c] = true
			// CLIENT REPLY OFF and SHUTDOWN answer nothing.
			if err := c.Reply.Check(own, proto); err != nil && len(own) > 0 {
				t.Errorf("%s: RESP%d: %v", line, proto, err)
			}
		}
	}
	return answers
}

// count is how many replies data holds.
func count(t *testing.T, data []byte) int {
	t.Helper()
	replies := 0
	for ; len(data) > 0; replies++ {
		rest, err := reply.Skip(data)
		if err != nil {
			t.Fatalf("%v: %q", err, data)
		}
		data = rest
	}
	return replies
}

// words splits a command line: words between spaces, or Go strings in quotes.
func words(t *testing.T, line string) [][]byte {
	t.Helper()
	var argv [][]byte
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		if line[0] != '"' {
			word, rest, _ := strings.Cut(line, " ")
			argv, line = append(argv, []byte(word)), rest
			continue
		}
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		argv, line = append(argv, []byte(word)), line[len(quoted):]
	}
	return argv
}

// render is replies as a transcript shows them.
func render(t *testing.T, data []byte, proto int) string {
	t.Helper()
	var out strings.Builder
	for len(data) > 0 {
		if out.Len() > 0 {
			out.WriteByte(' ')
		}
		var err error
		if data, err = renderOne(&out, data, proto); err != nil {
			t.Fatalf("%v: %q", err, data)
		}
	}
	return out.String()
}

func renderOne(out *strings.Builder, data []byte, proto int) ([]byte, error) {
	item, rest, err := reply.Read(data)
	if err != nil {
		return data, err
	}
	ends := ""
	switch item.Kind {
	case reply.KindBulk:
		out.WriteString(strconv.Quote(string(item.Text)))
	case reply.KindVerbatim:
		out.WriteString("=" + strconv.Quote(string(item.Text)))
	case reply.KindNull:
		out.WriteString(nullName(item, proto))
	case reply.KindArray:
		ends = "[]"
	case reply.KindMap:
		ends = "{}"
	default:
		out.WriteByte(byte(item.Kind))
		out.Write(item.Text)
		if item.Kind == reply.KindSet || item.Kind == reply.KindPush || item.Kind == reply.KindAttribute {
			ends = "[]"
		}
	}
	if ends == "" {
		return rest, nil
	}
	out.WriteByte(ends[0])
	for i := range item.Count {
		if i > 0 {
			out.WriteByte(' ')
		}
		if rest, err = renderOne(out, rest, proto); err != nil {
			return rest, err
		}
	}
	out.WriteByte(ends[1])
	return rest, nil
}

// nullName shows a null of the wrong protocol as what it is.
func nullName(item reply.Item, proto int) string {
	switch {
	case item.NullOf == 0 && proto == 3, item.NullOf == reply.KindBulk && proto == 2:
		return "nil"
	case item.NullOf == reply.KindArray && proto == 2:
		return "nil-array"
	}
	return fmt.Sprintf("nil%c-in-RESP%d", item.NullOf, proto)
}

func firstDifference(want, have string) string {
	wants, haves := strings.Split(want, "\n"), strings.Split(have, "\n")
	for i := range wants {
		if i >= len(haves) || wants[i] != haves[i] {
			return fmt.Sprintf("line %d (after %q):\nwant %s\nhave %s", i+1, wants[max(0, i-1)], wants[i], strings.Join(haves[min(i, len(haves)):min(i+1, len(haves))], ""))
		}
	}
	return fmt.Sprintf("line %d: more than expected: %s", len(wants), haves[min(len(wants)-1, len(haves)-1)])
}

// TestRender shows that a null of the other protocol does not pass for one.
func TestRender(t *testing.T) {
	for _, test := range []struct {
		data  string
		proto int
		want  string
	}{
		{"$-1\r\n", 2, "nil"},
		{"*-1\r\n", 2, "nil-array"},
		{"_\r\n", 3, "nil"},
		{"$-1\r\n", 3, "nil$-in-RESP3"},
		{"*2\r\n:1\r\n$1\r\na\r\n", 2, `[:1 "a"]`},
		{"%1\r\n+k\r\n,1.5\r\n", 3, `{+k ,1.5}`},
	} {
		if have := render(t, bytes.Clone([]byte(test.data)), test.proto); have != test.want {
			t.Errorf("%q in RESP%d: want %s, have %s", test.data, test.proto, test.want, have)
		}
	}
}
