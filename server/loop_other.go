//go:build !linux

// This file owns the answer of systems without epoll: there are no event loops,
// and every connection gets a goroutine.

package server

import "errors"

func newLoop(*Server) (loopDriver, error) {
	return nil, errors.ErrUnsupported
}
