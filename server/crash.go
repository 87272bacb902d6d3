// This file owns what the log says of a process that crashes or hangs: a report
// in the form that Redis's users send in, and the stacks of what is at work too
// long. It must not know what the process does.

package server

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

// crashSignals are those that mean a crash. Those that the processor sends for what
// Go code did are panics of Go's; here are those that somebody else sends.
var crashSignals = []os.Signal{syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGABRT}

// ReportCrashes has the log told of panics and of signals that mean a crash, before
// the process ends by them, where the configuration wants it (crash-log-enabled).
// stop ends that.
func ReportCrashes(c *Config, log *Log) (stop func(), err error) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	apply := func(next *Settings) error {
		signal.Stop(signals)
		if !next.CrashLog {
			return debug.SetCrashOutput(nil, debug.CrashOptions{})
		}
		signal.Notify(signals, crashSignals...)
		return debug.SetCrashOutput(log.to, debug.CrashOptions{})
	}
	if err := apply(c.Settings()); err != nil {
		return nil, fmt.Errorf("having crashes reported in the log: %w", err)
	}
	c.OnChange(apply, "crash-log-enabled")
	go func() {
		select {
		case sent := <-signals:
			log.crash(sent.(syscall.Signal))
		case <-done:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}, nil
}

// crash reports a signal and ends the process by it.
func (l *Log) crash(sent syscall.Signal) {
	fmt.Fprintf(l.to, "\n\n=== REMINIS (REDIS BUG REPORT START: Cut & paste starting from here) ===\n")
	l.Error(fmt.Sprintf("Reminis crashed by signal: %d (%s)", int(sent), sent))
	fmt.Fprintf(l.to, "\n------ STACK TRACE ------\n%s\n------ BUILD ------\n%s\n=== BUG REPORT END ===\n", stacks(), build())
	// Both write into the file at once; what cannot be written is lost either way.
	_ = debug.SetCrashOutput(nil, debug.CrashOptions{})
	signal.Reset(sent)
	if err := crashSelf(sent); err != nil {
		l.Error("ending by the signal failed", "error", err)
	}
	os.Exit(2)
}

// build is what the program was built from.
func build() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return runtime.Version() + "\n"
	}
	return info.String()
}

// stacksMax bounds the text of all stacks.
const stacksMax = 4 << 20

// stacks is the stack of every goroutine.
func stacks() []byte {
	for size := 64 << 10; ; size *= 2 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size || size >= stacksMax {
			return buf[:n]
		}
	}
}

// watchdogLeastMs is the least period: one that is shorter is made this (debug.c
// enableWatchdog).
const watchdogLeastMs = 200

// watch logs, while watchdog-period is set, the stacks of all goroutines whenever an
// event loop has been at one batch for longer than that.
func (s *Server) watch() {
	ticker := time.NewTicker(watchdogLeastMs / 2 * time.Millisecond)
	defer ticker.Stop()
	told := make([]int64, len(s.loops))
	for {
		select {
		case <-ticker.C:
			if period := s.settings().WatchdogMs; period > 0 {
				s.bark(told, max(period, watchdogLeastMs))
			}
		case <-s.done:
			return
		}
	}
}

// bark tells of each batch once; told has when those began that it told of.
func (s *Server) bark(told []int64, periodMs int64) {
	for i, loop := range s.loops {
		began := loop.workingSinceMs()
		if began == 0 || began == told[i] || s.now()-began < periodMs {
			continue
		}
		told[i] = began
		s.log.Warn(strings.Join([]string{"", "--- WATCHDOG TIMER EXPIRED ---", string(stacks()), "------"}, "\n"), "loop", i)
	}
}
