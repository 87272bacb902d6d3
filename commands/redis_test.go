package commands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reminis/commands/reply/redistest"
)

// This file owns the comparison of transcripts with a real redis-server. It must
// not know any command.

func TestTranscriptsAsRedis(t *testing.T) {
	redis := redistest.Start(t)
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
					compare(t, redis, lines, play(t, table, lines, proto, map[*Command]bool{}), proto)
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
		client, command, ok := splitCommand(line)
		if !ok {
			continue
		}
		if c := table.find(words(t, command)); client != "" || c != nil && c.Family == Memory {
			return false
		}
	}
	return true
}

func compare(t *testing.T, redis *redistest.Conn, lines, ours []string, proto int) {
	t.Helper()
	for _, line := range [][]string{{"RESET"}, {"HELLO", string(rune('0' + proto))}, {"FLUSHALL"}} {
		redis.Do(line...)
	}
	for i, line := range lines {
		_, command, ok := splitCommand(line)
		if !ok {
			continue
		}
		var argv []string
		for _, word := range words(t, command) {
			argv = append(argv, string(word))
		}
		theirs := redis.Do(argv...)
		proto = protoAfter(argv, proto)
		if i+1 < len(lines) && lines[i+1] == anyReply {
			continue
		}
		if theirs := render(t, theirs, proto); theirs != ours[i] {
			t.Errorf("%s in RESP%d:\nredis %s\nours  %s", line, proto, theirs, ours[i])
		}
	}
}

// protoAfter is the protocol in which a command line is answered.
func protoAfter(argv []string, proto int) int {
	switch {
	case strings.EqualFold(argv[0], "reset"):
		return 2
	case strings.EqualFold(argv[0], "hello") && len(argv) == 2 && (argv[1] == "2" || argv[1] == "3"):
		return int(argv[1][0] - '0')
	}
	return proto
}
