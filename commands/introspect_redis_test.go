package commands

import (
	"fmt"
	"strings"
	"testing"

	"reminis/commands/reply/redistest"
)

// This file owns the comparison of COMMAND INFO and COMMAND DOCS with a real
// redis-server, for every command that both have. It must not know any command
// but through the table.

// notCompared are commands of which something is knowingly different, and what.
var notCompared = map[string]string{}

func TestCommandsAsRedis(t *testing.T) {
	redis := redistest.Start(t)
	server, client := newTestClient(t)
	server.core.Table.each(func(c *Command) {
		if notCompared[c.FullName()] != "" {
			return
		}
		for _, what := range []string{"INFO", "DOCS"} {
			theirs := render(t, redis.Do("COMMAND", what, c.FullName()), 2)
			ours := render(t, []byte(client.say("COMMAND", what, c.FullName())), 2)
			if theirs == "[nil]" || theirs == "[]" {
				return
			}
			if len(c.Subs) > 0 {
				// The subcommands are compared one by one; their order in Redis is
				// that of a hash table, and not all are there.
				theirs, ours = withoutSubcommands(theirs), withoutSubcommands(ours)
			}
			if theirs != ours {
				t.Errorf("COMMAND %s %s\n%s", what, c.FullName(), different(theirs, ours))
			}
		}
	})
}

// notThere are commands of Redis 7.0 that this server does not have, and why.
var notThere = map[string]string{}

// TestNoCommandIsMissing: whatever Redis lists is there, if only to say that it
// cannot be done.
func TestNoCommandIsMissing(t *testing.T) {
	redis := redistest.Start(t)
	table := DefaultTable()
	list := render(t, redis.Do("COMMAND", "LIST"), 2)
	names := strings.Split(strings.NewReplacer("[", "", "]", "", `"`, "").Replace(list), " ")
	if len(names) < 300 {
		t.Fatalf("redis lists %d commands", len(names))
	}
	for _, name := range names {
		if table.byFullName([]byte(name)) == nil && notThere[name] == "" {
			t.Errorf("%s is not there", name)
		}
	}
}

func withoutSubcommands(row string) string {
	row, _, _ = strings.Cut(row, ` "subcommands" `)
	row, _, _ = strings.Cut(row, ` [["`)
	return row
}

// different shows two long lines from a little before they differ.
func different(theirs, ours string) string {
	at := 0
	for at < min(len(theirs), len(ours)) && theirs[at] == ours[at] {
		at++
	}
	from := max(0, at-60)
	cut := func(line string) string { return line[min(from, len(line)):min(len(line), at+160)] }
	return fmt.Sprintf("redis …%s\nours  …%s", cut(theirs), cut(ours))
}
