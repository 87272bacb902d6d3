package commands

import (
	"strings"
	"testing"

	"reminis/engine"
)

// This file shows commands that begin just before a script is overdue, and meet its
// locks: none of them waits, as a driver that waited could not take SCRIPT KILL.

// TestCommandsAtAStall runs a line of each command while a transaction holds all locks
// for long. One that waits for them never returns: the test then ends with its stack.
func TestCommandsAtAStall(t *testing.T) {
	r := seeded(t)
	server := newTestServer(DefaultTable(), engine.Options{Pool: testPool()})
	server.connect(2).say("MEM.SET", "app:u1:s1:a", "1")
	holder := server.core.Engine.Begin()
	holder.LockAll()
	holder.LockOwner([]byte("app:u1"))
	server.core.Engine.Stall(true)
	var run func(words []string, c *Command)
	run = func(words []string, c *Command) {
		if c.Name == "shutdown" || c.Name == "debug" {
			return
		}
		for _, sub := range c.subs {
			run(append(words[:len(words):len(words)], sub.Name), sub)
		}
		if c.grammar == nil {
			return
		}
		for range 3 {
			line := words
			for _, arg := range c.grammar.Generate(r, false) {
				line = append(line[:len(line):len(line)], string(arg))
			}
			server.connect(2).begin(line...)
		}
	}
	for _, c := range server.core.Table.All() {
		run([]string{c.Name}, c)
	}
	holder.Commit()
	holder.Done()
	server.core.Engine.Stall(false)
}

// TestRunAgainAfterAStall: what gave up is run again, and has left nothing behind.
func TestRunAgainAfterAStall(t *testing.T) {
	for line, want := range map[string]string{
		"DBSIZE": ":2\r\n", "KEYS k": "*1\r\n$1\r\nk\r\n", "SCAN 0 MATCH k": "*2\r\n$1\r\n0\r\n*1\r\n$1\r\nk\r\n",
		"INFO keyspace": "keys=2", "MEMORY STATS": "keys.count\r\n:2\r\n", "GET k": "$1\r\nv\r\n", "RANDOMKEY": "\r\n",
		"MEM.CONSENT GET app:u1":  "working",
		"MEM.SESSION OPEN app:u1": "new\r\n:1\r\n",
		"MEM.GET app:u1:s1:a":     "1\r\n",
		`MEM.APPLY app:u1 [{"action":"upsert","key":"app:u1:s1:a","payload":2}]`: "version\r\n:2\r\n",
	} {
		server, client := newTestClient(t)
		client.say("SET", "k", "v")
		client.say("MEM.SET", "app:u1:s1:a", "1")
		holder := server.core.Engine.Begin()
		holder.LockAll()
		holder.LockOwner([]byte("app:u1"))
		server.core.Engine.Stall(true)
		client.begin(strings.Fields(line)...)
		if client.again == nil {
			t.Errorf("%s did not give up", line)
		}
		holder.Commit()
		holder.Done()
		server.core.Engine.Stall(false)
		if got := string(client.awake()); !strings.Contains(got, want) {
			t.Errorf("%s: %q", line, got)
		}
	}
}

// TestUnwatchAtAStall: the session watches nothing any more, though its keys do not
// know yet, and may watch anew.
func TestUnwatchAtAStall(t *testing.T) {
	for _, line := range []string{"UNWATCH", "RESET", "DISCARD"} {
		server, client := newTestClient(t)
		client.say("WATCH", "k")
		client.say("MULTI")
		holder := server.core.Engine.Begin()
		holder.LockAll()
		server.core.Engine.Stall(true)
		if line == "UNWATCH" {
			client.session.multi.reset()
		}
		client.say(line)
		if n := client.session.Watching(); n != 0 {
			t.Errorf("%s: %d keys are watched", line, n)
		}
		holder.Commit()
		holder.Done()
		server.core.Engine.Stall(false)
		client.say("WATCH", "other")
		server.connect(2).say("SET", "k", "v")
		client.say("MULTI")
		if got := client.say("EXEC"); got != "*0\r\n" {
			t.Errorf("%s: EXEC %q", line, got)
		}
	}
}

// TestScriptsOnRecordsLockAll: none of them holds an owner alone.
func TestScriptsOnRecordsLockAll(t *testing.T) {
	server, client := newTestClient(t)
	client.say("MEM.SET", "app:u1:s1:a", "1")
	client.say("SET", "k", "v")
	for key, all := range map[string]bool{"app:u1:s1:a": true, "k": false} {
		tx := server.core.Engine.Begin()
		lockScript(tx, &scriptLocks{}, [][]byte{[]byte(key)})
		if tx.HoldsAll() != all {
			t.Errorf("%s: all is locked: %v", key, !all)
		}
		tx.Commit()
		tx.Done()
	}
}
