package main

// This file owns a server of the few commands that the scenarios send, so that
// the load can be tested where no Redis is installed, and with replies that a
// real server does not give.

import (
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/redcon"
)

// toy is the server: a map, and replies that a test may replace.
type toy struct {
	lock    sync.Mutex
	values  map[string]string
	replace func(args []string) (reply string, ok bool)
}

// startToy returns the address of a toy server.
func startToy(t *testing.T, replace func([]string) (string, bool)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &toy{values: map[string]string{}, replace: replace}
	var running sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close() // ends the loop below
		running.Wait()
	})
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { server.serve(conn) })
		}
	})
	return listener.Addr().String()
}

// serve answers until the client leaves. It writes after each whole batch.
func (s *toy) serve(conn net.Conn) {
	defer conn.Close()
	var in, out []byte
	chunk := make([]byte, 64<<10)
	for {
		n, err := conn.Read(chunk)
		if err != nil {
			return
		}
		in = append(in, chunk[:n]...)
		for {
			complete, args, _, rest, err := redcon.ReadNextCommand(in, nil)
			if err != nil {
				return
			}
			if !complete {
				break
			}
			words := make([]string, len(args))
			for i, arg := range args {
				words[i] = string(arg)
			}
			out = append(out, s.answer(words)...)
			in = rest
		}
		if _, err := conn.Write(out); err != nil {
			return
		}
		out = out[:0]
	}
}

func (s *toy) answer(args []string) string {
	if s.replace != nil {
		if reply, ok := s.replace(args); ok {
			return reply
		}
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	switch strings.ToUpper(args[0]) {
	case "PING":
		return "+PONG\r\n"
	case "FLUSHALL":
		clear(s.values)
		return "+OK\r\n"
	case "SET":
		s.values[args[1]] = args[2]
		return "+OK\r\n"
	case "GET":
		if value, ok := s.values[args[1]]; ok {
			return fmt.Sprintf("$%d\r\n%s\r\n", len(value), value)
		}
		return "$-1\r\n"
	case "DEL":
		delete(s.values, args[1])
		return ":1\r\n"
	case "DBSIZE":
		return fmt.Sprintf(":%d\r\n", len(s.values))
	case "INFO":
		text := fmt.Sprintf("# Server\r\nredis_version:toy\r\nprocess_id:%d\r\nused_memory:%d\r\n", os.Getpid(), 50*len(s.values))
		return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text)
	}
	return "-ERR unknown command\r\n"
}
