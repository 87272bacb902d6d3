package lua

import (
	"errors"
	"sync/atomic"
	"time"
)

// This file owns how a script is ended, or made to pause, from outside. gopher-lua asks
// the context of a state before each instruction; a context whose channel is nil costs
// least.

// interrupt is the context of a state.
type interrupt struct {
	// reason is why the script ends, or pauseReason; nil while it goes on.
	reason atomic.Pointer[string]
	// paused is what a pause is.
	paused func()
}

var pauseReason = new(string)

func (i *interrupt) reset()          { i.reason.Store(nil) }
func (i *interrupt) set(text string) { i.reason.Store(&text) }

// pause has the script pause before its next instruction.
func (i *interrupt) pause() { i.reason.CompareAndSwap(nil, pauseReason) }

// text is why the script ends, "" while it does not.
func (i *interrupt) text() string {
	if reason := i.reason.Load(); reason != nil {
		return *reason
	}
	return ""
}

// Done implements context.Context.
func (i *interrupt) Done() <-chan struct{} {
	if i.reason.Load() == nil {
		return nil
	}
	return i.interrupted()
}

// interrupted is Done for a script that is to end or pause.
func (i *interrupt) interrupted() <-chan struct{} {
	if i.reason.CompareAndSwap(pauseReason, nil) {
		i.paused()
	}
	if i.text() == "" {
		return nil
	}
	closed := make(chan struct{})
	close(closed)
	return closed
}

// Err implements context.Context.
func (i *interrupt) Err() error {
	if text := i.text(); text != "" {
		return errors.New(text)
	}
	return nil
}

// Deadline implements context.Context.
func (i *interrupt) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value implements context.Context.
func (i *interrupt) Value(any) any { return nil }
