package commands

import (
	"os"
	"testing"
)

// This file owns the proof that COMMANDS.md is what the declarations say. It
// must not know any command.

func TestReference(t *testing.T) {
	const file = "COMMANDS.md"
	want := DefaultTable().Reference()
	if *rewrite {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if want != string(have) {
		t.Errorf("%s is not what the declarations say (go generate ./commands): %s", file, firstDifference(string(have), want))
	}
}
