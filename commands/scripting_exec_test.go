package commands

import (
	"strings"
	"testing"
)

// This file shows EXEC with scripts that take long: what its own client reads, what
// others may do meanwhile, and what happens when its client goes.

// kill says SCRIPT KILL until a script is there to be killed.
func (c *testClient) kill(t *testing.T) {
	t.Helper()
	for {
		switch answer := c.say("SCRIPT", "KILL"); {
		case answer == "+OK\r\n":
			return
		case !strings.HasPrefix(answer, "-NOTBUSY"):
			t.Fatal(answer)
		}
	}
}

// begin has a client execute a line that others see the end of.
func (c *testClient) begin(words ...string) {
	c.goesOn = true
	c.say(words...)
}

func TestExecStalls(t *testing.T) {
	server, client := newTestClient(t)
	server.core.Config.Set([]string{"busy-reply-threshold", "1"}, true)
	other := server.connect(2)
	for _, line := range [][]string{
		{"MULTI"}, {"SET", "k", "1"}, {"EVAL", "while true do end", "0"}, {"INCR", "k"}, {"SELECT", "1"},
		{"EVAL", "while true do redis.call('get', 'k') end", "0"}, {"EVAL", "return redis.call('get', 'k')", "0"}, {"CLIENT", "SETNAME", "n"},
	} {
		client.say(line...)
	}
	client.begin("EXEC")
	if got := other.say("GET", "k"); got != "-"+string(errBusyScript)+"\r\n" {
		t.Errorf("while it stalls: %q", got)
	}
	other.kill(t)
	client.step()
	if got := other.say("GET", "k"); got != "-"+string(errBusyScript)+"\r\n" {
		t.Errorf("while it stalls again: %q", got)
	}
	if client.session.DB != 1 || client.session.Name != "" {
		t.Errorf("it is in database %d and named %q", client.session.DB, client.session.Name)
	}
	other.kill(t)
	want := "*7\r\n+OK\r\n-ERR Script killed by user with SCRIPT KILL... script: 694a5fe1ddb97a4c6a1bf299d9537c7d3d0f84e7, on @user_script:1.\r\n:2\r\n+OK\r\n" +
		"-ERR Script killed by user with SCRIPT KILL... script: ea7409fd870ddbea0dc81553a847ff6e74179ed9, on @user_script:1.\r\n$-1\r\n+OK\r\n"
	if got := string(client.awake()); got != want {
		t.Errorf("EXEC: %q", got)
	}
	if got := other.say("GET", "k"); got != "$1\r\n2\r\n" {
		t.Errorf("behind it: %q", got)
	}
	if n := server.core.overdue.count.Load(); n != 0 {
		t.Errorf("%d are overdue", n)
	}
}

// TestExecOfAClientThatGoes: it happens whole, and its session ends with it.
func TestExecOfAClientThatGoes(t *testing.T) {
	for _, ended := range []bool{false, true} {
		server, client := newTestClient(t)
		other := server.connect(2)
		for _, line := range [][]string{
			{"MULTI"}, {"SET", "k", "1"}, {"EVAL", "while true do end", "0"}, {"EVAL", "while true do end", "0"}, {"INCR", "k"},
		} {
			client.say(line...)
		}
		client.begin("EXEC")
		if ended {
			other.kill(t)
			<-client.resumed // the driver of a session that is closed does not execute
			client.session.Close()
		} else {
			client.session.Close()
		}
		for server.core.overdue.count.Load() > 0 {
			other.say("SCRIPT", "KILL")
		}
		if got := other.say("GET", "k"); got != "$1\r\n2\r\n" {
			t.Errorf("behind it: %q", got)
		}
	}
}

// TestLeavingWhileAScriptIsOverdue: sessions that wait for a key, or watch it, end at
// once when a script has its lock, or nobody could kill the script. Nothing is taken
// for who has gone.
func TestLeavingWhileAScriptIsOverdue(t *testing.T) {
	server, client := newTestClient(t)
	other, waits, watches := server.connect(2), server.connect(2), server.connect(2)
	waits.say("BLPOP", "k", "0")
	watches.say("WATCH", "k")
	client.begin("EVAL", "while true do redis.call('exists', KEYS[1]) end", "1", "k")
	waits.session.Close()
	watches.session.Close()
	other.kill(t)
	client.awake()
	if got := other.say("RPUSH", "k", "a") + other.say("LLEN", "k"); got != ":1\r\n:1\r\n" {
		t.Errorf("a value for nobody: %q", got)
	}
}
