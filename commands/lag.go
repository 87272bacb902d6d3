package commands

import (
	"errors"
	"time"

	"reminis/engine"
)

// This file owns back-pressure: writes wait while the disk lags, and give up
// after a time with nothing written. Sessions wait, never their drivers.

// lag is a session's wait for the disk.
type lag struct{ since time.Time }

// ready says whether the session may write now. While the disk lags it makes
// the driver execute the command again later; past the time allowed it is an
// error.
func (s *Session) ready() error {
	err := s.Core.Engine.Ready()
	if err == nil || !errors.Is(err, engine.ErrLagging) || s.Core.WhenDurable == nil {
		s.lag.since = time.Time{}
		return err
	}
	now := time.Now()
	if s.lag.since.IsZero() {
		s.lag.since = now
	}
	left := s.Core.WriteTimeout() - now.Sub(s.lag.since)
	if left <= 0 {
		s.lag.since = time.Time{}
		return err
	}
	s.next = Retry
	again := onlyOnce(func() { s.Peer.Resume(nil) })
	time.AfterFunc(left, again)
	s.Core.WhenDurable(again)
	return err
}

// waitReady is ready for a worker, which may block.
func (k *Core) waitReady() error {
	err := k.Engine.Ready()
	if !errors.Is(err, engine.ErrLagging) || k.WhenDurable == nil {
		return err
	}
	deadline := time.NewTimer(k.WriteTimeout())
	defer deadline.Stop()
	for errors.Is(err, engine.ErrLagging) {
		again := make(chan struct{}, 1)
		k.WhenDurable(func() { again <- struct{}{} })
		select {
		case <-again:
		case <-deadline.C:
			return err
		}
		err = k.Engine.Ready()
	}
	return err
}

// onlyOnce is f for two callers of whom only the first may call it.
func onlyOnce(f func()) func() {
	first := make(chan struct{}, 1)
	first <- struct{}{}
	return func() {
		select {
		case <-first:
			f()
		default:
		}
	}
}
