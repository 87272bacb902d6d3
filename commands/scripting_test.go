package commands

import (
	"strings"
	"testing"
)

// This file shows what scripts leave in the counters of calls and errors. It must not
// know Lua.

// TestScriptsThatFail: a call that answers an error has failed, whoever made the
// error, which is counted once (scripting.tcl, "Consistent eval error reporting").
func TestScriptsThatFail(t *testing.T) {
	for _, test := range []struct {
		line   []string
		failed string // of the command itself
		errors string
	}{
		{[]string{"EVAL", "return redis.call('select', 99)", "0"}, "1", "errorstat_ERR:count=1"},
		{[]string{"EVAL", "return redis.pcall('select', 99)", "0"}, "1", "errorstat_ERR:count=1"},
		{[]string{"EVAL", "redis.pcall('select', 99) return 1", "0"}, "0", "errorstat_ERR:count=1"},
		{[]string{"EVAL", "return {err = 'MINE own'}", "0"}, "1", "errorstat_MINE:count=1"},
		{[]string{"EVAL", "return nosuch", "0"}, "1", "errorstat_ERR:count=1"},
		{[]string{"EVAL_RO", "return redis.call('set', 'x', 'y')", "0"}, "1", "errorstat_ERR:count=1"},
		{[]string{"EVAL", "while true do redis.call('select', 99) end", "0"}, "1", "errorstat_ERR:count=1"},
	} {
		for _, within := range []string{"", "MULTI"} {
			_, client := newTestClient(t)
			if within != "" {
				client.say(within)
			}
			client.say(test.line...)
			if within != "" {
				client.say("EXEC")
			}
			stats, errors := client.say("INFO", "commandstats"), client.say("INFO", "errorstats")
			_, own, _ := strings.Cut(stats, "cmdstat_"+strings.ToLower(test.line[0])+":")
			own, _, _ = strings.Cut(own, "\r\n")
			if !strings.HasPrefix(own, "calls=1,") || !strings.HasSuffix(own, ",failed_calls="+test.failed) || !strings.Contains(errors, test.errors+"\r\n") {
				t.Errorf("%s %q: %s, %q", within, test.line, own, errors)
			}
		}
	}
}
