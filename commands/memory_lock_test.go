package commands

import "testing"

// A record that is gone from this database and stands under the same key in
// another: both owners are locked in their order, not as they are met.
func TestRollbackBesideSameKeyOfAnotherDatabase(t *testing.T) {
	_, c := newTestClient(t)
	for _, step := range []struct {
		words []string
		reply string
	}{
		{[]string{"SELECT", "1"}, "+OK\r\n"},
		{[]string{"MEM.SET", "a:b:c", `{"in":1}`}, ":1\r\n"},
		{[]string{"SELECT", "0"}, "+OK\r\n"},
		{[]string{"MEM.SET", "a:b:c", `{"in":0}`}, ":1\r\n"},
		{[]string{"MEM.FORGET", "KEYS", "1", "a:b:c"}, ":1\r\n"},
		{[]string{"MEM.ROLLBACK", "a:b:c", "VERSION", "1"}, ":2\r\n"},
		{[]string{"MEM.GET", "a:b:c"}, "$8\r\n{\"in\":0}\r\n"},
	} {
		if got := c.say(step.words...); got != step.reply {
			t.Fatalf("%v: %q, want %q", step.words, got, step.reply)
		}
	}
}
