package main

import (
	"bytes"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"reminis/engine/memory"
	"reminis/persistence"
	"reminis/persistence/canary"
	"reminis/server"
)

// This file owns the tests of the audit file's lines, and that what is erased is
// taken out of them.

func TestAuditLine(t *testing.T) {
	event := memory.Event{TimeMs: 1700000000000, Op: memory.OpSet, Version: 2, OldVersion: 1, Key: []byte("ai:u1:s1:a"), User: []byte("agent"),
		Operator: []byte("agent"), Client: []byte("127.0.0.1:4000"), Reason: []byte("two\nlines \"quoted\"")}
	event.Seal(new(memory.Hasher), &memory.OwnerKey{}, nil)
	stored, err := memory.AppendLinked(nil, memory.Link{}, 0, memory.EncodeEvent(nil, &event))
	if err != nil {
		t.Fatal(err)
	}
	const rest = `"seq":7,"time":1700000000000,"op":"set","key":"ai:u1:s1:a","version":2,"old_version":1,"user":"agent","operator":"agent","client":"127.0.0.1:4000",` +
		`"caller":null,"trace":null,"command_id":null,"reason":"two\nlines \"quoted\"","payload_hash":null}`
	for owner, want := range map[string]string{"ai:u1": `{"db":3,"space":5,"owner":"ai:u1",`, "": `{"db":0,"space":null,"owner":null,`} {
		if got := appendAuditLine(nil, &server.AuditEntry{Database: 3, Space: 5, Owner: owner, Seq: 7, Event: stored}); string(got) != want+rest {
			t.Errorf("%s", got)
		}
	}
}

// What is erased is in no line of the audit file when MEM.ERASE replies, whatever
// said it, and all other lines are as they were.
func TestErasedIsNotInTheAuditFile(t *testing.T) {
	for scope, others := range map[string]string{"ai:gone": "ai:gone2", "ai:gone:s1": "ai:gone:s2"} {
		t.Run(scope, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seedOf(t), 5))
			path := filepath.Join(t.TempDir(), "audit")
			file := server.NewAuditFile(path, slog.New(slog.DiscardHandler), appendAuditLine)
			w := mustOpenWorld(t, vfs.NewCrashableMem(), newSetting(persistence.Everysec), clockAt(testStartMs))
			followAudit(w.engine, file)
			c := w.connect()
			gone, kept := canary.Word(rng), canary.Word(rng)
			write := func(scope, word string) {
				key := strings.Replace(scope, "ai:gone2", "ai:gone2:s1", 1)
				if scope == "ai:gone" {
					key = "ai:gone:s1"
				}
				c.do("MEM.SET", key+":a", `"`+word+`"`, "REASON", word, "BY", word, "TRACE", word, "CALLER", word, "ID", word)
				c.do("MEM.FORGET", "KEYS", "1", key+":a", "REASON", word)
			}
			write(scope, gone)
			write(others, kept)
			c.do("SELECT", "1")
			write(scope, kept) // another owner of the same name
			c.do("SELECT", "0")
			c.do("SWAPDB", "0", "2")
			c.do("SELECT", "2")
			if got := c.do("MEM.ERASE", scope, "REASON", "asked for it"); !strings.Contains(got, "receipt") {
				t.Fatal(got)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(text, []byte(gone)) {
				t.Errorf("the canary is in %s", text)
			}
			if n := bytes.Count(text, []byte(kept)); n < 12 {
				t.Errorf("of the others only %d places are left: %s", n, text)
			}
			if lines := bytes.Split(bytes.TrimSpace(text), []byte{'\n'}); len(lines) != 7 || !bytes.Contains(lines[6], []byte("asked for it")) ||
				!bytes.Contains(lines[0], []byte(`"seq":1,"time":1700000000000,"op":"init","key":null,"version":1,`)) {
				t.Errorf("%d lines: %s", len(lines), text)
			}
			if file.Close(); file.Dropped()+file.Errors()+file.Unerased() != 0 {
				t.Errorf("%d dropped, %d errors, %d owed", file.Dropped(), file.Errors(), file.Unerased())
			}
			if err := w.close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
