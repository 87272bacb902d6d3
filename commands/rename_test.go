package commands

import (
	"strings"
	"testing"
)

// This file shows what rename-command does to the table.

func TestRename(t *testing.T) {
	table, long := DefaultTable(), strings.Repeat("y", 64)
	for from, to := range map[string]string{"flushall": "", "config": long, "GET": "Fetch"} {
		if err := table.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ line, want string }{
		{"flushall", ""}, {"get", ""}, {"FETCH", "get"}, {"set", "set"},
		{strings.ToUpper(long) + " get", "config|get"}, {long + "y get", ""}, {"config get", ""},
	} {
		got := ""
		if c := table.find(words(t, test.line)); c != nil {
			got = c.FullName()
		}
		if got != test.want {
			t.Errorf("%s finds %q, want %q", test.line, got, test.want)
		}
	}
	for _, c := range table.All() {
		if c.Name == "flushall" {
			t.Error("what was taken away is still listed")
		}
	}
	if err := table.Rename("flushall", "x"); err != ErrRenameUnknown {
		t.Errorf("what is not there: %v", err)
	}
	if err := table.Rename("set", "fetch"); err != ErrRenameTaken {
		t.Errorf("a name that is taken: %v", err)
	}
	if err := table.Rename("set", "SET"); err != nil || table.find(words(t, "set")) == nil {
		t.Errorf("a name of its own: %v", err)
	}
}
