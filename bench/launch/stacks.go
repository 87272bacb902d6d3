package launch

// This file owns looking into a server that is a Go program.

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// Stacks ends the server with SIGQUIT, upon which a Go program writes the stacks of
// its goroutines, and returns what it wrote. The error says when it wrote none: the
// server is no Go program, or catches the signal.
func (s *Server) Stacks() (string, error) {
	before, err := os.Stat(s.logPath)
	if err != nil {
		return "", fmt.Errorf("reading the server's log: %w", err)
	}
	if err := s.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		return "", fmt.Errorf("asking process %d for its stacks: %w", s.PID, err)
	}
	<-s.exited
	log, err := os.ReadFile(s.logPath)
	if err != nil {
		return "", fmt.Errorf("reading the server's log: %w", err)
	}
	stacks := string(log[min(len(log), int(before.Size())):])
	if !strings.Contains(stacks, "\ngoroutine ") {
		return "", errors.New("the server's log has no stacks\n" + s.logTail())
	}
	return stacks, nil
}

// Makers counts the goroutines in stacks by who made them.
func Makers(stacks string) map[string]int {
	made := map[string]int{}
	for stack := range strings.SplitSeq(stacks, "\n\n") {
		if !strings.HasPrefix(stack, "goroutine ") {
			continue
		}
		maker := "the start of the program"
		if _, behind, ok := strings.Cut(stack, "\ncreated by "); ok {
			maker, _, _ = strings.Cut(behind, "\n")
			maker, _, _ = strings.Cut(maker, " in goroutine ")
		}
		made[maker]++
	}
	return made
}
