package main

// This file owns what is watched: whether the server answers others, and what it
// holds. It must not know what is sent to it meanwhile.

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"reminis/bench/launch"
	"reminis/bench/resp"
)

const (
	// probeEvery is how often a new connection asks.
	probeEvery = 200 * time.Millisecond
	// probeTries is how often in a row a connection may be ended, as any client
	// may end all others.
	probeTries = 50
	// settleLimit bounds how long the server may take to give back what
	// connections held that have left.
	settleLimit = 30 * time.Second
	// purges is how often memory is purged, purgeEvery, before it is compared: the
	// server's own housekeeping has its turn each second.
	purges     = 4
	purgeEvery = 700 * time.Millisecond
	// descriptorSlack is how many more files a server may hold open than at its
	// start: its store has opened some since.
	descriptorSlack = 32
	// growthShare and growthBytes bound the growth of resident memory between the
	// first rounds and the last: a hundred bytes a connection, left behind by
	// some hundred thousand of them, are more.
	growthShare = 1.2
	growthBytes = 24 << 20
)

// target is the server.
type target struct {
	addr, password string
	pid            int
	limit          time.Duration // within which it must answer

	longest atomic.Int64 // nanoseconds that an answer has taken
	peak    atomic.Int64 // resident bytes
	busy    atomic.Int64 // scripts that were killed
}

// dial returns an authenticated connection.
func (s *target) dial() (*resp.Client, error) {
	c, err := resp.Dial(s.addr, s.limit)
	if err != nil {
		return nil, err
	}
	if s.password == "" {
		return c, nil
	}
	reply, err := c.Do("AUTH", s.password)
	if err == nil && reply.IsError() && !strings.HasPrefix(reply.Text(), "BUSY ") {
		err = fmt.Errorf("AUTH is answered %q", reply.Raw)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// probe asks a new connection for PONG. The error says that there was none in
// time. Scripts without end are ended, as an operator would.
func (s *target) probe() error {
	started := time.Now()
	var last error
	for range probeTries {
		last = s.ask()
		if taken := time.Since(started); taken > s.limit {
			return fmt.Errorf("no PONG within %v: %w", taken, errors.Join(last, errLate))
		}
		if last == nil {
			s.longest.Store(max(s.longest.Load(), int64(time.Since(started))))
			return nil
		}
	}
	return fmt.Errorf("no PONG in %d tries: %w", probeTries, last)
}

var errLate = errors.New("too late")

func (s *target) ask() (err error) {
	c, err := s.dial()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	reply, err := c.Do("PING")
	switch {
	case err != nil:
		return err
	case reply.Text() == "PONG":
		return nil
	case !strings.HasPrefix(reply.Text(), "BUSY "):
		return fmt.Errorf("PING is answered %q", reply.Raw)
	}
	s.busy.Add(1)
	answers := fmt.Errorf("PING is answered %q", reply.Raw)
	for _, kind := range []string{"SCRIPT", "FUNCTION"} {
		killed, err := c.Do(kind, "KILL")
		if err != nil {
			return errors.Join(answers, err)
		}
		answers = fmt.Errorf("%w, %s KILL %q", answers, kind, killed.Raw)
	}
	return answers
}

// watch probes until over is closed. The error is the first that a probe met.
func (s *target) watch(over <-chan struct{}) error {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return nil
		case <-tick.C:
		}
		if err := s.probe(); err != nil {
			return err
		}
		resident, err := launch.ResidentBytes(s.pid)
		if err != nil {
			return err
		}
		s.peak.Store(max(s.peak.Load(), resident))
	}
}

// holding is what the server has in its hands while nobody asks for anything.
type holding struct {
	descriptors, threads, clients int
	residentBytes, usedBytes      int64
}

func (h holding) String() string {
	return fmt.Sprintf("%d descriptors, %d threads, %d clients, %.1f MB resident, %.1f MB used",
		h.descriptors, h.threads, h.clients, float64(h.residentBytes)/(1<<20), float64(h.usedBytes)/(1<<20))
}

// settle deletes everything and waits until the connections of others are gone.
func (s *target) settle(before *holding) (h holding, err error) {
	c, err := s.dial()
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for _, line := range []string{"CLIENT UNPAUSE", "FLUSHALL", "SCRIPT FLUSH", "FUNCTION FLUSH", "ACL LOG RESET", "SLOWLOG RESET"} {
		if err := s.mustDo(c, line); err != nil {
			return h, err
		}
	}
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	deadline := time.Now().Add(settleLimit)
	for {
		if h, err = s.holds(c); err != nil {
			return h, err
		}
		if h.clients == 1 && (before == nil || h.descriptors <= before.descriptors+descriptorSlack) {
			break
		}
		if time.Now().After(deadline) {
			list, _ := c.Do("CLIENT", "LIST") // it makes the error clearer, no more
			return h, fmt.Errorf("%v after all have left the server holds %v; at the start %v\n%s", settleLimit, h, before, list.Text())
		}
		<-poll.C
	}
	return s.least(c)
}

// mustDo has a line carried out as soon as it can be: a server that wants a password says
// so while it reads its data too, and a script of the attack may be at it still.
func (s *target) mustDo(c *resp.Client, line string) error {
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for deadline := time.Now().Add(s.limit); ; <-poll.C {
		reply, err := c.Do(strings.Fields(line)...)
		if err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
		text := reply.Text()
		busy := strings.HasPrefix(text, "BUSY ")
		switch {
		case !reply.IsError():
			return nil
		case !busy && !strings.HasPrefix(text, "LOADING ") || time.Now().After(deadline):
			return fmt.Errorf("%s: %q", line, reply.Raw)
		case busy:
			if err := s.probe(); err != nil {
				return fmt.Errorf("%s: %w", line, err)
			}
		}
	}
}

// least is what the server holds once it has had time to give back what it keeps for
// a busy time.
func (s *target) least(c *resp.Client) (least holding, err error) {
	tick := time.NewTicker(purgeEvery)
	defer tick.Stop()
	for i := range purges {
		if i > 0 {
			<-tick.C
		}
		if err := s.mustDo(c, "MEMORY PURGE"); err != nil {
			return least, err
		}
		h, err := s.holds(c)
		if err != nil {
			return least, err
		}
		if i == 0 || h.residentBytes < least.residentBytes {
			least = h
		}
	}
	return least, nil
}

// holds reads what the server holds.
func (s *target) holds(c *resp.Client) (h holding, err error) {
	reply, err := c.Do("INFO")
	if err != nil {
		return h, fmt.Errorf("asking for figures: %w", err)
	}
	clients, err := figure(reply.Text(), "connected_clients")
	if err != nil {
		return h, err
	}
	h.clients = int(clients)
	if h.usedBytes, err = figure(reply.Text(), "used_memory"); err != nil {
		return h, err
	}
	if h.residentBytes, err = launch.ResidentBytes(s.pid); err != nil {
		return h, err
	}
	if h.descriptors, err = launch.Descriptors(s.pid); err != nil {
		return h, err
	}
	h.threads, err = launch.Threads(s.pid)
	return h, err
}

// figure finds a number in the text of INFO.
func figure(info, name string) (int64, error) {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return strconv.ParseInt(value, 10, 64)
		}
	}
	return 0, fmt.Errorf("INFO has no %s: %.100q", name, info)
}
