package main

// This file owns the command line, the rounds and the verdict.

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"reminis/bench/launch"
	"reminis/bench/resp"
)

func main() {
	if err := command(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

// fuzzer is one run.
type fuzzer struct {
	out         io.Writer
	target      *target
	words       vocabulary
	seed        uint64
	workers     int
	round       time.Duration
	guest       bool // before AUTH
	reproFolder string

	sent memory
}

func command(out io.Writer, args []string) (err error) {
	flags := flag.NewFlagSet("fuzz", flag.ContinueOnError)
	server := flags.String("server", "", "the server: a program or an address (default: built from ./cmd/reminis)")
	password := flags.String("password", "", "the password of a server given by its address")
	guest := flags.Bool("guest", false, "send without authenticating; a server that is started wants a password")
	duration := flags.Duration("duration", time.Minute, "how long to send")
	round := flags.Duration("round", 15*time.Second, "the length of a round, after which all leave and everything is deleted")
	connections := flags.Int("connections", 48, "connections at a time")
	seed := flags.Uint64("seed", rand.Uint64(), "the seed")
	limit := flags.Duration("limit", 10*time.Second, "within which a new connection must be answered")
	folder := flags.String("repro", ".", "the directory for the bytes of a failure")
	again := flags.String("replay", "", "a file of such bytes, to be sent again in place of random ones")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *connections < 1 || *round <= 0 || *duration <= 0 || *limit <= 0 {
		return errors.New("connections, round, duration and limit must be positive")
	}
	s, stop, err := serve(*server, *password, *limit, *guest)
	if err != nil {
		return err
	}
	f := &fuzzer{out: out, target: s.target, seed: *seed, workers: *connections, round: *round, guest: *guest, reproFolder: *folder}
	if *again != "" {
		attacks, err := recorded(*again)
		if err != nil {
			return errors.Join(err, stop())
		}
		return errors.Join(replay(s.target, attacks), stop())
	}
	fmt.Fprintf(out, "seed %d, %d connections, %v in rounds of %v, authenticated: %v\n", *seed, *connections, *duration, *round, !*guest)
	if err := f.rounds(*duration); err != nil {
		return errors.Join(f.fail(err), f.keepStacks(s), stop())
	}
	if err := s.compareGoroutines(out); err != nil {
		return errors.Join(f.fail(err), stop())
	}
	return stop()
}

// fail prints and keeps what was sent last.
func (f *fuzzer) fail(cause error) error {
	fmt.Fprintf(f.out, "seed %d: %v\n", f.seed, cause)
	return errors.Join(cause, f.sent.report(f.out, f.kept("repro")))
}

// kept is the path of a file that a failure leaves.
func (f *fuzzer) kept(kind string) string {
	return filepath.Join(f.reproFolder, fmt.Sprintf("fuzz-%d.%s", f.seed, kind))
}

// keepStacks ends a server of ours and keeps what its goroutines were at. The error
// quotes the log of one that has ended by itself.
func (f *fuzzer) keepStacks(s *served) error {
	if s.process == nil {
		return nil
	}
	stacks, err := s.process.Stacks()
	s.process = nil
	if err != nil {
		return err
	}
	return os.WriteFile(f.kept("stacks"), []byte(stacks), 0o644)
}

// rounds runs round after round and compares what they leave.
func (f *fuzzer) rounds(duration time.Duration) error {
	start, err := f.begin()
	if err != nil {
		return err
	}
	fmt.Fprintf(f.out, "start: %v\n", start)
	var left []holding
	total := 0
	for began := time.Now(); time.Since(began) < duration; {
		n, err := f.attackFor(len(left), min(f.round, duration-time.Since(began)))
		if err != nil {
			return fmt.Errorf("round %d: %w", len(left), err)
		}
		total += n
		h, err := f.target.settle(&start)
		if err != nil {
			return fmt.Errorf("after round %d: %w", len(left), err)
		}
		left = append(left, h)
		fmt.Fprintf(f.out, "round %d: %d connections; left: %v\n", len(left)-1, n, h)
	}
	fmt.Fprintf(f.out, "%d connections in %d rounds; longest answer %v, peak %.1f MB resident, %d scripts killed\n", total, len(left),
		time.Duration(f.target.longest.Load()).Round(time.Millisecond), float64(f.target.peak.Load())/(1<<20), f.target.busy.Load())
	return f.grown(left)
}

// begin learns the commands and what the server holds before it all.
func (f *fuzzer) begin() (holding, error) {
	c, err := f.target.dial()
	if err != nil {
		return holding{}, err
	}
	f.words, err = learn(c)
	if err := errors.Join(err, c.Close()); err != nil {
		return holding{}, err
	}
	return f.target.settle(nil)
}

// grown compares the median of the first rounds with that of the last ones. The
// very first round fills what is filled once.
func (f *fuzzer) grown(left []holding) error {
	if len(left) < 4 {
		return nil
	}
	left = left[1:]
	some := max(1, len(left)/5)
	first, last := median(left[:some]), median(left[len(left)-some:])
	fmt.Fprintf(f.out, "resident memory: %.1f MB at first, %.1f MB at last\n", float64(first)/(1<<20), float64(last)/(1<<20))
	if float64(last) > growthShare*float64(first)+growthBytes {
		return fmt.Errorf("resident memory has grown from %d to %d bytes", first, last)
	}
	return nil
}

func median(of []holding) int64 {
	var all []int64
	for _, h := range of {
		all = append(all, h.residentBytes)
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// attackFor runs all workers for one round and returns how many connections they
// made. The error is the first thing that the server did wrong.
func (f *fuzzer) attackFor(round int, length time.Duration) (total int, err error) {
	var hello []byte
	if !f.guest && f.target.password != "" {
		hello = resp.AppendCommand(nil, "AUTH", f.target.password)
	}
	over := make(chan struct{})
	failures := make(chan error, f.workers+1)
	counts := make([]int, f.workers)
	var running sync.WaitGroup
	running.Go(func() { failures <- f.target.watch(over) })
	for worker := range f.workers {
		running.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				s := sent{round, worker + counts[worker]*f.workers, f.words.plan(f.seed, round, worker+counts[worker]*f.workers, hello)}
				f.sent.keep(worker, s)
				counts[worker]++
				if err := s.attack.run(f.target.addr, f.target.limit, over); err != nil {
					failures <- fmt.Errorf("connection %d: %w", s.number, err)
					return
				}
			}
		})
	}
	end := time.NewTimer(length)
	defer end.Stop()
	select {
	case <-end.C:
	case err = <-failures:
	}
	close(over)
	running.Wait()
	close(failures)
	for failure := range failures {
		err = errors.Join(err, failure)
	}
	for _, n := range counts {
		total += n
	}
	return total, err
}

// served is the server of a run: a process of ours, or any at an address.
type served struct {
	target  *target
	process *launch.Server
	fresh   func() (*launch.Server, error) // another process like it
}

// serve starts the server, or finds the one at an address.
func serve(server, password string, limit time.Duration, guest bool) (s *served, stop func() error, err error) {
	if strings.Contains(server, ":") {
		s = &served{target: &target{addr: server, password: password, limit: limit}}
		s.target.pid, err = pidOf(s.target)
		return s, func() error { return nil }, err
	}
	scratch, err := os.MkdirTemp("", "fuzz-")
	if err != nil {
		return nil, nil, fmt.Errorf("creating a directory: %w", err)
	}
	clean := func() error { return os.RemoveAll(scratch) }
	path := server
	switch {
	case server == "":
		path, err = launch.Build(scratch, "reminis/cmd/reminis")
	case !strings.Contains(server, "/"):
		path, err = launch.Find(server)
	}
	if err != nil {
		return nil, nil, errors.Join(err, clean())
	}
	// A small memory makes eviction part of it; scripts without end are ended soon.
	flags := []string{"--appendonly", "yes", "--maxmemory", "256mb", "--maxmemory-policy", "allkeys-random", "--lua-time-limit", "200"}
	if guest {
		password = strconv.FormatUint(rand.Uint64(), 36)
		flags = append(flags, "--requirepass", password)
	}
	s = &served{fresh: func() (*launch.Server, error) {
		dir, err := os.MkdirTemp(scratch, "data-")
		if err != nil {
			return nil, fmt.Errorf("creating a data directory: %w", err)
		}
		return launch.Start(path, dir, flags...)
	}}
	if s.process, err = s.fresh(); err != nil {
		return nil, nil, errors.Join(err, clean())
	}
	s.target = &target{addr: s.process.Addr, password: password, limit: limit, pid: s.process.PID}
	return s, func() error {
		if s.process == nil {
			return clean()
		}
		return errors.Join(s.process.Stop(), clean())
	}, nil
}

// pidOf asks a server for its process.
func pidOf(s *target) (int, error) {
	c, err := s.dial()
	if err != nil {
		return 0, err
	}
	reply, err := c.Do("INFO", "server")
	if err := errors.Join(err, c.Close()); err != nil {
		return 0, err
	}
	pid, err := figure(reply.Text(), "process_id")
	return int(pid), err
}

// goroutineSlack is how many more goroutines of a kind a server may have than one
// that was only just started.
const goroutineSlack = 8

// compareGoroutines ends the server for the stacks of its goroutines, and starts
// it anew to compare them with. Nothing is known of a server that is not ours.
func (s *served) compareGoroutines(out io.Writer) error {
	if s.process == nil {
		return nil
	}
	var made [2]map[string]int
	for i := range made {
		stacks, err := s.process.Stacks()
		s.process = nil
		if err != nil {
			return err
		}
		made[i] = launch.Makers(stacks)
		if i == 1 {
			break
		}
		if s.process, err = s.fresh(); err != nil {
			return err
		}
		// With its data read, as the other's is.
		fresh := target{addr: s.process.Addr, password: s.target.password, pid: s.process.PID, limit: s.target.limit}
		c, err := fresh.dial()
		if err != nil {
			return err
		}
		if err := errors.Join(fresh.mustDo(c, "DBSIZE"), c.Close()); err != nil {
			return err
		}
	}
	after, before := made[0], made[1]
	count := func(of map[string]int) (n int) {
		for _, each := range of {
			n += each
		}
		return n
	}
	fmt.Fprintf(out, "goroutines: %d, just started %d\n", count(after), count(before))
	var err error
	for maker, n := range after {
		if n > before[maker]+goroutineSlack {
			err = errors.Join(err, fmt.Errorf("%d goroutines made by %s, just started %d", n, maker, before[maker]))
		}
	}
	return err
}
