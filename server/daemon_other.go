//go:build !linux && !darwin

// This file owns the answers of the other systems.

package server

import (
	"errors"
	"syscall"
)

func newSession() *syscall.SysProcAttr { return nil }

func stopSelf() error { return nil }

func crashSelf(syscall.Signal) error { return errors.New("there are no signals on this system") }

// raiseDescriptors answers that no limit is known.
func raiseDescriptors(uint64) uint64 { return 0 }
