package main

// This file owns one of the two servers that are compared: starting it, loading
// it, and reading what it and the system say about it.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"reminis/bench/launch"
	"reminis/bench/resp"
)

// loadPipeline is the pipeline depth for filling a server.
const loadPipeline = 64

// program is a server that can be started, or one that runs at an address.
type program struct {
	path string
	addr string // in place of path
}

// errNeedsProgram is returned when a scenario must start a server itself and was
// given an address.
var errNeedsProgram = errors.New("this scenario starts the server with settings of its own: give a program, not an address")

// side is a running server.
type side struct {
	addr   string
	pid    int
	server *launch.Server // nil if it was not started here
	load   load
}

// start runs the program with its data in dir and connects the load. A program
// that is an address is emptied instead, and must not be given directives that
// matter.
func (p program) start(dir string, connections int, flags ...string) (*side, error) {
	s := &side{addr: p.addr}
	if p.addr == "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("creating the data directory: %w", err)
		}
		server, err := launch.Start(p.path, dir, flags...)
		if err != nil {
			return nil, err
		}
		s.server, s.addr, s.pid = server, server.Addr, server.PID
	} else if err := s.attach(); err != nil {
		return nil, err
	}
	var err error
	if s.load, err = newLoad(s.addr, connections); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// attach empties a server that runs already and finds its process.
func (s *side) attach() error {
	if _, err := s.do("FLUSHALL"); err != nil {
		return err
	}
	pid, err := s.info("process_id")
	if err != nil {
		return err
	}
	s.pid = int(pid)
	return nil
}

func (s *side) stop() error {
	var errs []error
	if s.load != nil {
		errs = append(errs, s.load.close())
		s.load = nil
	}
	if s.server != nil {
		errs = append(errs, s.server.Stop())
	}
	return errors.Join(errs...)
}

// do sends one command on a connection of its own. An error reply is an error.
func (s *side) do(args ...string) (string, error) {
	client, err := resp.Dial(s.addr, replyLimit)
	if err != nil {
		return "", err
	}
	reply, err := client.Do(args...)
	text := reply.Text()
	if err == nil && reply.IsError() {
		err = errors.New(text)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return text, errors.Join(err, client.Close())
}

// errNotReported is returned by info for a field that INFO does not have.
var errNotReported = errors.New("INFO does not report it")

// infoText returns a field of INFO.
func (s *side) infoText(name string) (string, error) {
	all, err := s.do("INFO")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(all) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("%s: %w", name, errNotReported)
}

// info returns a field of INFO that is a number.
func (s *side) info(name string) (float64, error) {
	text, err := s.infoText(name)
	if err != nil {
		return 0, err
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("field %s of INFO: %w", name, err)
	}
	return value, nil
}

// fill writes the keys 0 to keys-1.
func (s *side) fill(keys int) (amount, error) {
	done, err := s.load.run(&sequence{command: plain("SET"), limit: keys, pipeline: loadPipeline, take: everyKey}, 0)
	if err != nil {
		return done, fmt.Errorf("filling %s: %w", s.addr, err)
	}
	return done, s.checkSize(keys)
}

// checkSize makes sure that the server holds so many keys.
func (s *side) checkSize(keys int) error {
	size, err := s.size()
	if err == nil && size != keys {
		err = fmt.Errorf("%s holds %d keys, not %d", s.addr, size, keys)
	}
	return err
}

// size is the number of keys that the server holds.
func (s *side) size() (int, error) {
	text, err := s.do("DBSIZE")
	if err != nil {
		return 0, err
	}
	size, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("DBSIZE of %s: %w", s.addr, err)
	}
	return size, nil
}

// reading is what one measured run showed.
type reading struct {
	amount
	cpu    time.Duration // that the server used
	driver time.Duration // that this process used
	gc     float64       // seconds of the server's collector, 0 if it does not report them
}

// measure runs a load after a warm-up of a fifth of the time.
func (s *side) measure(from source, limit time.Duration) (reading, error) {
	return s.measureOf(func(limit time.Duration) (amount, error) { return s.load.run(from, limit) }, limit)
}

// measureOf is measure of another kind of load.
func (s *side) measureOf(run func(limit time.Duration) (amount, error), limit time.Duration) (reading, error) {
	if _, err := run(limit / 5); err != nil {
		return reading{}, err
	}
	gcBefore, err := s.collected()
	if err != nil {
		return reading{}, err
	}
	before, driverBefore, err := s.used()
	if err != nil {
		return reading{}, err
	}
	done, err := run(limit)
	if err != nil {
		return reading{}, err
	}
	after, driverAfter, err := s.used()
	if err != nil {
		return reading{}, err
	}
	gcAfter, err := s.collected()
	return reading{amount: done, cpu: after - before, driver: driverAfter - driverBefore, gc: gcAfter - gcBefore}, err
}

// used returns the processor time of the server and of this process.
func (s *side) used() (server, driver time.Duration, err error) {
	server, err = launch.CPU(s.pid)
	if err == nil {
		driver, err = launch.CPU(os.Getpid())
	}
	return server, driver, err
}

// collected returns the processor seconds that the server's garbage collector
// has used; 0 for a server without one.
func (s *side) collected() (float64, error) {
	seconds, err := s.info("gc_cpu_seconds")
	if errors.Is(err, errNotReported) {
		return 0, nil
	}
	return seconds, err
}

// settled polls a figure until it has changed by less than a percent for five
// seconds, so that work which a server puts off has begun, or until the limit is
// reached, and returns the last one.
func settled(limit time.Duration, figure func() (int64, error)) (int64, error) {
	const interval = 200 * time.Millisecond
	poll := time.NewTicker(interval)
	defer poll.Stop()
	last, err := figure()
	if err != nil {
		return 0, err
	}
	calm := time.Duration(0)
	for waited := time.Duration(0); waited < limit && calm < min(5*time.Second, limit); waited += interval {
		<-poll.C
		now, err := figure()
		if err != nil {
			return 0, err
		}
		calm += interval
		if max(now, last)-min(now, last) > last/100 {
			calm, last = 0, now
		}
	}
	return figure()
}

// dataDir returns a directory for a side's data below root.
func dataDir(root, name string) string { return filepath.Join(root, name) }
