package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// This file owns the test of what the log says of a process that crashes.

func TestCrashReport(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log")
	r, command := startProcess(t, dir, "--enable-debug-command", "yes", "--logfile", path)
	c := r.dial()
	if got, err := c.last("DEBUG", "SEGFAULT"); err == nil {
		t.Fatalf("DEBUG SEGFAULT: %q", got)
	}
	if err := command.Wait(); err == nil {
		t.Error("the process ended as if nothing was")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"REDIS BUG REPORT START", "crashed by signal: 11", "------ STACK TRACE ------", "commands.debugCommand"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the log lacks %q:\n%s", want, text)
		}
	}
}
