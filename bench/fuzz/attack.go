package main

// This file owns one hostile connection: how it sends, how it reads and how it
// ends. It must not know what the bytes mean.

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"time"
)

const (
	// bytewiseMaxBytes bounds what is sent a byte at a time.
	bytewiseMaxBytes = 3000
	// sendLimit is how long a peer that takes nothing more is sent to.
	sendLimit = 500 * time.Millisecond
	// readBytes is how much is read at once.
	readBytes = 64 << 10
	// stayMax bounds how long a connection stays that neither sends nor closes.
	stayMax = 2 * time.Second
)

// The ways of sending, reading and ending; a repro file has them by name.
var (
	sendings = []string{"whole", "pieces", "bytewise"}
	readings = []string{"everything", "slowly", "nothing"}
	endings  = []string{"closes", "half-closes", "resets", "stays"}
)

// attack is all that one connection does.
type attack struct {
	sending, reading, ending string
	hello                    []byte // what it authenticates with, not damaged
	stream                   []byte
	pieces                   uint64 // the seed of where the stream is cut
}

// plan draws the attack of one connection. It follows from its arguments alone.
func (v vocabulary) plan(seed uint64, round, number int, hello []byte) attack {
	r := rand.New(rand.NewPCG(seed, uint64(round)<<32|uint64(number)))
	return attack{
		sending: pick(r, sendings), reading: pick(r, readings), ending: pick(r, endings),
		hello: hello, stream: v.stream(r), pieces: r.Uint64(),
	}
}

// run does what was planned. The error is what the server did wrong; that it
// closes is nothing wrong. Who stays leaves when over is closed.
func (a *attack) run(addr string, limit time.Duration, over <-chan struct{}) error {
	dialed, err := net.DialTimeout("tcp", addr, limit)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	conn := dialed.(*net.TCPConn)
	left := make(chan struct{})
	read := make(chan error, 1)
	go func() { read <- a.read(conn, limit, left) }()
	a.send(conn)
	switch a.ending {
	case "half-closes":
		_ = conn.CloseWrite() // an error says that the server was faster
		if a.reading == "everything" {
			return a.awaitEnd(conn, read, limit, over)
		}
	case "resets":
		_ = conn.SetLinger(0) // without it the close is an ordinary one
	case "stays":
		stay := time.NewTimer(stayMax)
		defer stay.Stop()
		select {
		case <-over:
		case <-stay.C:
		}
	}
	close(left)
	_ = conn.Close() // it may have been closed by the server
	<-read
	return nil
}

// awaitEnd waits until the server ends a connection that has half closed. Of one
// that is still being answered a while after all is over nothing is known.
func (a *attack) awaitEnd(conn net.Conn, read <-chan error, limit time.Duration, over <-chan struct{}) error {
	var ended error
	select {
	case ended = <-read:
	case <-over:
		grace := time.NewTimer(limit)
		defer grace.Stop()
		select {
		case ended = <-read:
		case <-grace.C:
			_ = conn.Close() // ends the reading
			<-read
			return nil
		}
	}
	_ = conn.Close() // it may have been closed by the server
	if errors.Is(ended, os.ErrDeadlineExceeded) {
		return fmt.Errorf("the server has neither said anything to a connection that half closed nor ended it for %v", limit)
	}
	return nil
}

// send sends the stream until the server takes no more.
func (a *attack) send(conn *net.TCPConn) {
	if conn.SetWriteDeadline(time.Now().Add(sendLimit)) != nil {
		return // closed by the server
	}
	if _, err := conn.Write(a.hello); err != nil {
		return
	}
	r := rand.New(rand.NewPCG(a.pieces, 0))
	rest := a.stream
	for sent := 0; len(rest) > 0; {
		n := len(rest)
		switch {
		case a.sending == "bytewise" && sent < bytewiseMaxBytes:
			n = 1
		case a.sending == "pieces":
			n = min(n, 1+r.IntN(1+r.IntN(20_000)))
		}
		if _, err := conn.Write(rest[:n]); err != nil {
			return
		}
		rest, sent = rest[n:], sent+n
	}
}

// read takes what the server sends, until it ends, is silent for longer than the
// limit, or this side has left. A server may be at a long pipeline for longer.
func (a *attack) read(conn net.Conn, limit time.Duration, left <-chan struct{}) error {
	switch a.reading {
	case "nothing":
		<-left
		return nil
	case "slowly":
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for buf := make([]byte, 100); ; {
			select {
			case <-left:
				return nil
			case <-tick.C:
			}
			if _, err := conn.Read(buf); err != nil {
				return err
			}
		}
	}
	for buf := make([]byte, readBytes); ; {
		if err := conn.SetReadDeadline(time.Now().Add(limit)); err != nil {
			return err
		}
		if _, err := conn.Read(buf); err != nil {
			return err
		}
	}
}
