package main

// This file owns the command line.

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"reminis/bench/launch"
)

func main() {
	if err := command(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func command(out io.Writer, args []string) (err error) {
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	ours := flags.String("ours", "", "our server: a program or an address (default: built from ./cmd/reminis)")
	peer := flags.String("peer", "redis-server", "the program to compare with")
	only := flags.String("scenario", "", "the scenarios to run, separated by commas; all if empty: "+strings.Join(names(scenarios()), ", "))
	depths := flags.String("pipeline", "", "the pipeline depths to measure, separated by commas; all of a scenario if empty")
	rounds := flags.Int("rounds", 5, "rounds; the figures are medians")
	limit := flags.Duration("duration", 2*time.Second, "time of one measurement")
	connections := flags.Int("connections", 50, "connections")
	keys := flags.Int("keyspace", 1_000_000, "different keys of the throughput scenarios")
	manyKeys := flags.Int("keys", 10_000_000, "keys of the scenarios memory and restart")
	record := flags.Bool("record", false, "append the figures to the files in -results")
	results := flags.String("results", "bench/results", "the directory of the recorded figures")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *rounds < 1 || *limit <= 0 || *connections < 1 || *keys < 1 || *manyKeys < 10 {
		return errors.New("rounds, duration, connections and keyspace must be positive, keys at least 10")
	}
	chosen, err := choose(*only, *depths)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "load-binary-")
	if err != nil {
		return fmt.Errorf("creating a directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	b := &bench{
		rounds: *rounds, limit: *limit, connections: *connections, keys: *keys, manyKeys: *manyKeys,
		report: &report{out: out, now: time.Now},
	}
	if *record {
		b.report.directory = *results
	}
	if b.ours, err = find(*ours, scratch); err != nil {
		return err
	}
	if b.peer, err = find(*peer, scratch); err != nil {
		return err
	}
	fmt.Fprintf(out, "settings: %d connections, %d keys of %d + %d bytes (memory, restart: %d keys), %d rounds of %v\n",
		b.connections, b.keys, keySizeBytes, valueSizeBytes, b.manyKeys, b.rounds, b.limit)
	return b.runAll(chosen)
}

// find turns the name of a program, a path, an address or nothing into a program.
func find(name, scratch string) (program, error) {
	var path string
	var err error
	switch {
	case name == "":
		path, err = launch.Build(scratch, "reminis/cmd/reminis")
	case strings.Contains(name, ":"):
		return program{addr: name}, nil
	case strings.Contains(name, "/"):
		path = name
	default:
		path, err = launch.Find(name)
	}
	return program{path: path}, err
}

func names(of []scenario) []string {
	var all []string
	for _, s := range of {
		all = append(all, s.name)
	}
	return all
}

// choose returns the scenarios named, narrowed to the pipeline depths named.
func choose(only, depths string) ([]scenario, error) {
	all := scenarios()
	if only != "" {
		wanted := strings.Split(only, ",")
		for _, name := range wanted {
			if !slices.Contains(names(all), name) {
				return nil, fmt.Errorf("there is no scenario %q; there are: %s", name, strings.Join(names(all), ", "))
			}
		}
		all = slices.DeleteFunc(all, func(s scenario) bool { return !slices.Contains(wanted, s.name) })
	}
	if depths == "" {
		return all, nil
	}
	var wanted []int
	for word := range strings.SplitSeq(depths, ",") {
		depth, err := strconv.Atoi(word)
		if err != nil || depth < 1 {
			return nil, fmt.Errorf("%q is no pipeline depth", word)
		}
		wanted = append(wanted, depth)
	}
	for i := range all {
		if all[i].depths != nil {
			all[i].depths = wanted
		}
	}
	return all, nil
}
