package server

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"reminis/commands"
)

// This file owns connections to other servers. It must not know what is said.

// remote is a connection of which each read and write may take as long as within.
type remote struct {
	net.Conn
	within time.Duration
}

// remoteChunkBytes is how much one write sends: a large value may take longer than
// within, as long as it goes on.
const remoteChunkBytes = 64 << 10

func dialRemote(host, port string, within time.Duration) (commands.Link, error) {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(host, port), within)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("%w: %w", commands.ErrRefused, err)
	} else if err != nil {
		return nil, err
	}
	return remote{conn, within}, nil
}

func (r remote) Read(data []byte) (int, error) {
	if err := r.SetReadDeadline(time.Now().Add(r.within)); err != nil {
		return 0, err
	}
	return r.Conn.Read(data)
}

func (r remote) Write(data []byte) (written int, err error) {
	for written < len(data) {
		if err := r.SetWriteDeadline(time.Now().Add(r.within)); err != nil {
			return written, err
		}
		n, err := r.Conn.Write(data[written:min(len(data), written+remoteChunkBytes)])
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}
