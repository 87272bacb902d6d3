package commands

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reminis/commands/reply/redistest"
)

// This file owns the comparison of transcripts with a real redis-server. It must
// not know any command.

func TestTranscriptsAsRedis(t *testing.T) {
	first := redistest.Start(t)
	clients := map[string]*redistest.Conn{"": first}
	table := DefaultTable()
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			// A folder.
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			for _, block := range strings.Split(strings.Trim(string(text), "\n"), "\n\n") {
				lines := strings.Split(block, "\n")
				if !comparable(t, table, lines) {
					continue
				}
				for _, proto := range []int{2, 3} {
					compare(t, clients, lines, play(t, table, lines, proto, map[*Command]bool{}), proto)
				}
			}
		})
	}
}

// comparable says whether Redis can be asked the same.
func comparable(t *testing.T, table *Table, lines []string) bool {
	for _, line := range lines {
		if strings.HasPrefix(line, "# not compared") || strings.HasPrefix(line, "@") {
			return false
		}
		_, command, ok := splitCommand(line)
		if !ok {
			continue
		}
		if c := table.find(words(t, command)); c != nil && c.Family == Memory {
			return false
		}
	}
	return true
}

// compare says the lines to Redis, through one connection for each client, and
// takes as many replies as we give.
func compare(t *testing.T, clients map[string]*redistest.Conn, lines []string, ours []answer, proto int) {
	t.Helper()
	protos := map[string]int{}
	var control *redistest.Conn
	for name, client := range clients {
		client.Send("RESET")
		for string(client.Next()) != "+RESET\r\n" {
			// What the block before left unread.
		}
		client.Do("HELLO", string(rune('0'+proto)))
		protos[name] = proto
	}
	clients[""].Do("FLUSHALL")
	for i, line := range lines {
		if name, ok := awaits(line); ok {
			if theirs := render(t, nextReplies(clients[name], ours[i].replies), protos[name]); theirs != ours[i].text {
				t.Errorf("line %d, %s in RESP%d:\nredis %s\nours  %s", i, line, proto, theirs, ours[i].text)
			}
			continue
		}
		name, command, ok := splitCommand(line)
		if !ok {
			continue
		}
		if clients[name] == nil {
			clients[name] = clients[""].Dial()
			clients[name].Do("HELLO", string(rune('0'+proto)))
			protos[name] = proto
		}
		var argv []string
		for _, word := range words(t, command) {
			argv = append(argv, string(word))
		}
		clients[name].Send(argv...)
		if n := ours[i].waiting; n > 0 {
			if control == nil {
				control = clients[""].Dial()
			}
			awaitBlocked(control, n)
		}
		data := nextReplies(clients[name], ours[i].replies)
		protos[name] = protoAfter(argv, data, protos[name])
		if i+1 < len(lines) && lines[i+1] == anyReply {
			continue
		}
		if theirs := render(t, data, protos[name]); theirs != ours[i].text {
			t.Errorf("%s in RESP%d:\nredis %s\nours  %s", line, proto, theirs, ours[i].text)
		}
	}
}

func nextReplies(client *redistest.Conn, count int) (data []byte) {
	for range count {
		data = append(data, client.Next()...)
	}
	return data
}

// awaitBlocked returns once count clients of the server wait.
func awaitBlocked(control *redistest.Conn, count int) {
	want := fmt.Appendf(nil, "\r\nblocked_clients:%d\r\n", count)
	for !bytes.Contains(control.Do("INFO", "clients"), want) {
	}
}

// protoAfter is the protocol of a client after a command line and its reply.
func protoAfter(argv []string, data []byte, proto int) int {
	switch {
	case strings.EqualFold(argv[0], "reset"):
		return 2
	case bytes.HasPrefix(data, []byte("-")):
	case strings.EqualFold(argv[0], "hello") && len(argv) == 2 && (argv[1] == "2" || argv[1] == "3"):
		return int(argv[1][0] - '0')
	}
	return proto
}
