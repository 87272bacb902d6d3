package main

import (
	"testing"

	"reminis/engine/memory"
	"reminis/server"
)

// This file owns the test of the audit file's lines.

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
	for owner, want := range map[string]string{"ai:u1": `{"db":3,"owner":"ai:u1",`, "": `{"db":3,"owner":null,`} {
		if got := appendAuditLine(nil, &server.AuditEntry{Database: 3, Owner: owner, Seq: 7, Event: stored}); string(got) != want+rest {
			t.Errorf("%s", got)
		}
	}
}
