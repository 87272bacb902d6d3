package main

// This file owns the command line and the report.

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"

	"reminis/bench/launch"
	"reminis/bench/resp"
)

const (
	// caseLines is the number of lines of a case: enough for keys to have a past.
	caseLines = 250
	// reportMax is the number of different differences after which a run ends.
	reportMax = 20
	// knownMax is the number of lines that one case may lose to differences that
	// were reported before.
	knownMax = 50
)

func main() {
	if err := command(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// errDiffers is returned when the servers are not equal.
var errDiffers = errors.New("the servers differ")

func command(out io.Writer, args []string) (err error) {
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	ours := flags.String("ours", "", "our server: a program or an address (default: built from ./cmd/reminis)")
	peer := flags.String("peer", "redis-server", "the server to compare with: a program or an address")
	count := flags.Int("lines", 20_000, "command lines per protocol")
	seed := flags.Uint64("seed", 1, "the first case's seed; the following ones count up")
	protocol := flags.Int("protocol", 0, "2 or 3; both if 0")
	only := flags.String("families", "", "the families to draw from, separated by commas; all if empty")
	docsOf := flags.String("documentation", "ours", "the server whose COMMAND DOCS lines are drawn from: ours, peer or none")
	if err := flags.Parse(args); err != nil {
		return err
	}
	oursAddr, stopOurs, err := serve(*ours)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopOurs()) }()
	peerAddr, stopPeer, err := serve(*peer)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopPeer()) }()
	documentation, ok := map[string]string{"ours": oursAddr, "peer": peerAddr, "none": ""}[*docsOf]
	if !ok {
		return fmt.Errorf("the documentation is that of ours, peer or none, not of %q", *docsOf)
	}
	lines, err := chosen(*only, documentation)
	if err != nil {
		return err
	}
	protocols := []int{2, 3}
	if *protocol != 0 {
		protocols = []int{*protocol}
	}
	equal := true
	for _, p := range protocols {
		r := runner{out: out, ours: oursAddr, peer: peerAddr, protocol: p, lines: lines, tallies: map[string]*tally{}}
		if err := r.run(*seed, *count); err != nil {
			return err
		}
		r.printTallies()
		equal = equal && r.reported == 0
	}
	if differing, err := compareRaw(out, oursAddr, peerAddr); err != nil || differing > 0 {
		return errors.Join(err, errDiffers)
	}
	if !equal {
		return errDiffers
	}
	return nil
}

// documentedWeight is the weight of lines from the server's own documentation;
// the families' weights add up to about 50.
const documentedWeight = 12

// chosen returns the source of lines of the families named, some of them drawn
// from the documentation of the server at addr, if there is one.
func chosen(only, addr string) (source, error) {
	from := families()
	if only != "" {
		names := strings.Split(only, ",")
		for _, name := range names {
			if !slices.ContainsFunc(from, func(f family) bool { return f.name == name }) {
				return nil, fmt.Errorf("there is no family %q", name)
			}
		}
		from = slices.DeleteFunc(from, func(f family) bool { return !slices.Contains(names, f.name) })
	}
	groups, err := compiled(from)
	if err != nil {
		return nil, err
	}
	if addr == "" {
		return generated(groups), nil
	}
	templates, err := documented(addr, from)
	if err != nil {
		return nil, err
	}
	if len(templates) > 0 {
		groups = append(groups, group{documentedWeight, templates})
	}
	return generated(groups), nil
}

// serve returns the address of a server, starting it if it is a program.
func serve(server string) (addr string, stop func() error, err error) {
	if strings.Contains(server, ":") {
		return server, func() error { return nil }, nil
	}
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return "", nil, fmt.Errorf("creating a data directory: %w", err)
	}
	clean := func() error { return os.RemoveAll(dir) }
	path := server
	if server == "" {
		path, err = launch.Build(dir, "reminis/cmd/reminis")
	} else if !strings.Contains(server, "/") {
		path, err = launch.Find(server)
	}
	if err != nil {
		return "", nil, errors.Join(err, clean())
	}
	s, err := launch.Start(path, dir, "--save", "", "--appendonly", "no")
	if err != nil {
		return "", nil, errors.Join(err, clean())
	}
	return s.Addr, func() error { return errors.Join(s.Stop(), clean()) }, nil
}

// tally counts the replies to one command.
type tally struct{ lines, errors, nils int }

// runner compares case after case and reports each kind of difference once.
type runner struct {
	out        io.Writer
	ours, peer string
	protocol   int
	lines      source
	tallies    map[string]*tally
	relaxed    map[string]int // replies let through by each relaxation
	signatures []string       // of differences that were met
	reported   int            // kinds of difference
}

// run compares at least count lines, in cases from the seed on.
func (r *runner) run(seed uint64, count int) error {
	r.relaxed = map[string]int{}
	c := &comparator{
		ours: r.ours, peer: r.peer, protocol: r.protocol, relax: relaxations(),
		observe: r.observe, letThrough: func(name string) { r.relaxed[name]++ },
	}
	last := seed
	for sent := 0; sent < count && r.reported < reportMax; sent += caseLines {
		last = seed + uint64(sent/caseLines)
		if err := r.runCase(c, last); err != nil {
			return fmt.Errorf("RESP%d, seed %d: %w", r.protocol, last, err)
		}
	}
	fmt.Fprintf(r.out, "RESP%d: seeds %d..%d of %d lines: %d kinds of difference\n", r.protocol, seed, last, caseLines, r.reported)
	return nil
}

// runCase compares one case. A difference of a kind that was reported already
// costs its line, not the rest of the case.
func (r *runner) runCase(c *comparator, seed uint64) error {
	lines := slices.Collect(first(r.lines(seed), caseLines))
	depth := []int{1, 4, 16}[seed%3]
	for range knownMax {
		found, err := c.run(lines, depth)
		if err != nil || found == nil {
			return err
		}
		if !slices.Contains(r.signatures, found.signature()) {
			if err := r.reduce(*c, seed, depth, lines[:found.at+1], found); err != nil {
				return err
			}
			r.signatures = append(r.signatures, found.signature())
		}
		lines = slices.Delete(slices.Clone(lines), found.at, found.at+1)
	}
	return nil
}

// reduce shortens a case that ends with a difference, and reports it.
func (r *runner) reduce(c comparator, seed uint64, depth int, lines []line, found *difference) error {
	c.observe, c.letThrough = nil, func(string) {}
	if again, err := c.run(lines, 1); err == nil && again != nil {
		depth = 1
	}
	var failure error
	lines = shrink(lines, func(candidate []line) bool {
		again, err := c.run(candidate, depth)
		failure = errors.Join(failure, err)
		return again != nil && again.line.name() == found.line.name()
	})
	again, err := c.run(lines, depth)
	if err := errors.Join(failure, err); err != nil {
		return err
	}
	if again != nil {
		found = again
	}
	if slices.Contains(r.signatures, found.signature()) {
		return nil
	}
	r.reported++
	r.signatures = append(r.signatures, found.signature())
	r.report(seed, depth, lines, found)
	return nil
}

func (r *runner) report(seed uint64, depth int, lines []line, found *difference) {
	fmt.Fprintf(r.out, "--- RESP%d, seed %d, %d at a time, shortened to:\n", r.protocol, seed, depth)
	for _, l := range lines {
		fmt.Fprintln(r.out, l)
	}
	ours, peer := around(found.ours, found.peer)
	fmt.Fprintf(r.out, "   ours %s\n   peer %s\n   at   %s\n", ours, peer, found.line)
}

// around shows two replies where they begin to differ, if they are long.
func around(ours, peer string) (string, string) {
	same := 0
	for same < min(len(ours), len(peer)) && ours[same] == peer[same] {
		same++
	}
	return window(ours, same), window(peer, same)
}

// window is the part of s around a position.
func window(s string, at int) string {
	const before, after = 100, 300
	shown := s
	if len(shown) > at+after {
		shown = shown[:at+after] + " …"
	}
	if at > before && len(s) > before+after {
		shown = "… " + shown[at-before:]
	}
	return shown
}

func (r *runner) observe(l line, reply resp.Reply) {
	name := l.name()
	if r.tallies[name] == nil {
		r.tallies[name] = &tally{}
	}
	t := r.tallies[name]
	t.lines++
	if reply.IsError() {
		t.errors++
	}
	if reply.Null {
		t.nils++
	}
}

// printTallies shows what was compared, so that a generator that only produces
// errors is noticed.
func (r *runner) printTallies() {
	var sum tally
	for _, t := range r.tallies {
		sum.lines += t.lines
		sum.errors += t.errors
		sum.nils += t.nils
	}
	fmt.Fprintf(r.out, "RESP%d: %d replies equal, to %d names; %d errors, %d nils\n", r.protocol, sum.lines, len(r.tallies), sum.errors, sum.nils)
	for _, relaxation := range relaxations() {
		if count := r.relaxed[relaxation.name]; count > 0 {
			fmt.Fprintf(r.out, "RESP%d: %5d differed by %s: %s\n", r.protocol, count, relaxation.name, relaxation.reason)
		}
	}
}

// first ends a sequence after n elements.
func first[T any](from iter.Seq[T], n int) iter.Seq[T] {
	return func(yield func(T) bool) {
		left := n
		for element := range from {
			if left == 0 || !yield(element) {
				return
			}
			left--
		}
	}
}
