//go:build !linux

package main

// This file owns the load on systems without epoll: a goroutine per connection.

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

type goroutineLoad struct{ connections []net.Conn }

// newLoad connects to a server.
func newLoad(addr string, connections int) (load, error) {
	l := &goroutineLoad{}
	for range connections {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("connecting to %s: %w", addr, err), l.close())
		}
		l.connections = append(l.connections, conn)
	}
	return l, nil
}

func (l *goroutineLoad) close() error {
	var errs []error
	for _, conn := range l.connections {
		errs = append(errs, conn.Close())
	}
	return errors.Join(errs...)
}

func (l *goroutineLoad) run(from source, limit time.Duration) (amount, error) {
	var (
		lock    sync.Mutex // guards from, done and errs
		done    amount
		errs    []error
		running sync.WaitGroup
	)
	started := time.Now()
	next := func(buf []byte) ([]byte, int) {
		lock.Lock()
		defer lock.Unlock()
		if limit > 0 && time.Since(started) >= limit {
			return nil, 0
		}
		return from.next(buf)
	}
	for _, conn := range l.connections {
		running.Go(func() {
			var replies counter
			err := drive(conn, next, &replies)
			lock.Lock()
			defer lock.Unlock()
			done.commands += replies.replies
			done.nils += replies.nils
			errs = append(errs, err, replies.checked())
		})
	}
	running.Wait()
	done.elapsed = time.Since(started)
	return done, errors.Join(errs...)
}

// drive sends one pipeline after the other over one connection.
func drive(conn net.Conn, next func([]byte) ([]byte, int), replies *counter) error {
	in := make([]byte, 64<<10)
	var buf []byte
	for {
		pipeline, commands := next(buf)
		if commands == 0 {
			return nil
		}
		if cap(buf) < len(pipeline) {
			buf = make([]byte, 0, 2*len(pipeline))
		}
		if err := conn.SetDeadline(time.Now().Add(replyLimit)); err != nil {
			return fmt.Errorf("setting a deadline: %w", err)
		}
		if _, err := conn.Write(pipeline); err != nil {
			return fmt.Errorf("sending: %w", err)
		}
		for until := replies.replies + commands; replies.replies < until; {
			n, err := conn.Read(in)
			if err != nil {
				return fmt.Errorf("receiving: %w", err)
			}
			if err := replies.feed(in[:n]); err != nil {
				return err
			}
		}
	}
}
