// This file owns the spec of oom-score-adj.

package server

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

func TestOOMScore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "oom_score_adj")
	o := &oomScore{file: file, log: slog.New(slog.DiscardHandler)}
	set := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set("22\n")
	for _, test := range []struct {
		mode  string
		score int
		want  string
	}{
		{"no", 9, "22\n"}, {"yes", 9, "31"}, {"relative", 10, "32"}, {"absolute", 10, "10"}, {"relative", 2000, "1000"},
		{"absolute", -2000, "-1000"}, {"no", 9, "22"}, {"no", 10, "22"},
	} {
		if err := o.apply(&Settings{OOMScoreMode: test.mode, OOMScore: test.score}); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != test.want {
			t.Errorf("%s %d: %q (%v), want %q", test.mode, test.score, got, err, test.want)
		}
	}
	// What the file says when it is adjusted anew is the base then.
	set("100")
	if err := o.apply(&Settings{OOMScoreMode: "yes", OOMScore: 1}); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(file); string(got) != "101" {
		t.Errorf("adjusted anew: %q", got)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	o = &oomScore{file: file, log: slog.New(slog.DiscardHandler)}
	if err := o.apply(&Settings{OOMScoreMode: "yes"}); err != errOOMScore {
		t.Errorf("where there is no such file: %v", err)
	}
}
