package main

// This file owns what is measured. It must not know how results are shown.

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"reminis/bench/launch"
)

// scenario is one thing to measure.
type scenario struct {
	name    string
	summary string
	flags   []string // for both servers
	depths  []int    // pipelines, of those chosen; empty: it has its own
	command string
	durable bool
	run     func(b *bench, s scenario, root string) error
}

func scenarios() []scenario {
	cache := []string{"--save", "", "--appendonly", "no"}
	always := []string{"--save", "", "--appendonly", "yes", "--appendfsync", "always"}
	everysec := []string{"--save", "", "--appendonly", "yes", "--appendfsync", "everysec"}
	own := []scenario{
		{"set", "overwriting random keys, nothing kept on disk", cache, []int{1, 16, 64}, "SET", false, runThroughput},
		{"get", "reading random keys", cache, []int{1, 16, 64}, "GET", false, runThroughput},
		{"set-always", "overwriting, each reply after its fsync", always, []int{1, 16}, "SET", true, runThroughput},
		{"set-everysec", "overwriting, an fsync every second", everysec, []int{1, 16}, "SET", true, runThroughput},
		{"memory", "resident bytes per key; memory given back after deleting 9 of 10 keys", cache, nil, "", true, runMemory},
		{"restart", "time from the start of the process until all keys are served", everysec, nil, "", true, runRestart},
		{"mem-get", "reading records of 32 bytes, beside GET of our own server", everysec, []int{1, 16}, "GET", true, runBeside(getRecords)},
		{"mem-set", "writing session records, beside SET of our own server", everysec, []int{1, 16}, "SET", true, runBeside(setRecords)},
		{"mem-audit", "reading records with every read audited, beside writes alone", everysec, []int{16}, "", true, runAudited},
		{"mem-profile", "writing profile records, each reply after its fsync: a hundred times the connections beside them", everysec, []int{1}, "", true, runProfiles},
		{"mem-load", "MEM.LOAD of an owner with 20 profile records, 50 turns and 1,000 semantic records, beside GET of as many bytes", everysec, []int{1}, "", true, runLoadOwner},
		{"mem-size", "resident and disk bytes per record of 200 bytes, with history, audit and text index", everysec, nil, "", true, runRecordSize},
		{"written", "bytes written to disk per user byte, overwriting each key six times", everysec, nil, "", true, runWritten},
	}
	return slices.Concat(own, collectionScenarios(cache), listScenarios(cache), hashScenarios(cache), sortedSetScenarios(cache), scriptScenarios(cache), evictionScenarios(cache), fanScenarios(cache))
}

// bench is one run of the command.
type bench struct {
	ours, peer  program
	rounds      int
	limit       time.Duration // of one measurement
	connections int
	keys        int // key space of throughput and written
	manyKeys    int // keys of memory and restart
	report      *report
}

// names of the two sides, in this order everywhere.
var sideNames = [2]string{"ours", "peer"}

// startBoth starts both servers with the same flags.
func (b *bench) startBoth(root string, flags []string) (sides [2]*side, err error) {
	for i, p := range []program{b.ours, b.peer} {
		if sides[i], err = p.start(dataDir(root, sideNames[i]), b.connections, flags...); err != nil {
			return sides, errors.Join(err, stopAll(sides))
		}
	}
	return sides, b.report.versions(sides)
}

func stopAll(sides [2]*side) error {
	var errs []error
	for _, s := range sides {
		if s != nil {
			errs = append(errs, s.stop())
		}
	}
	return errors.Join(errs...)
}

// order returns the sides' numbers, reversed every second round.
func order(round int) [2]int {
	if round%2 == 1 {
		return [2]int{1, 0}
	}
	return [2]int{0, 1}
}

// runThroughput measures one command at each pipeline depth.
func runThroughput(b *bench, s scenario, root string) (err error) {
	if s.durable && (b.ours.addr != "" || b.peer.addr != "") {
		return errNeedsProgram
	}
	sides, err := b.startBoth(root, s.flags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopAll(sides)) }()
	for _, side := range sides {
		if _, err := side.fill(b.keys); err != nil {
			return err
		}
	}
	for _, depth := range s.depths {
		if err := b.throughputAt(s, sides, depth); err != nil {
			return fmt.Errorf("%s at %s: %w", s.name, pipelineLabel(depth), err)
		}
	}
	return nil
}

func (b *bench) throughputAt(s scenario, sides [2]*side, depth int) error {
	rate := b.report.figure(s.name, depth, "ops_per_second")
	cpu := b.report.figure(s.name, depth, "cpu_us_per_op")
	driver := b.report.figure(s.name, depth, "driver_cpu_us_per_op")
	gc := b.report.figure(s.name, depth, "gc_percent_of_core")
	from := build(plain(s.command), b.keys, b.keys, depth, 1)
	for round := range b.rounds {
		for _, i := range order(round) {
			r, err := sides[i].measure(from, b.limit)
			if err != nil {
				return err
			}
			if r.nils > 0 {
				return fmt.Errorf("%d of %d keys were missing", r.nils, r.commands)
			}
			rate.add(i, r.perSecond())
			cpu.add(i, r.cpu.Seconds()*1e6/float64(r.commands))
			driver.add(i, r.driver.Seconds()*1e6/float64(r.commands))
			gc.add(i, 100*r.gc/r.elapsed.Seconds())
		}
	}
	return b.report.show(s, depth, rate, cpu, driver, gc)
}

// runMemory loads many keys into each server, one server after the other, and
// deletes most of them again.
func runMemory(b *bench, s scenario, root string) error {
	figures := map[string]*figure{}
	names := []string{"resident_bytes_per_key", "used_bytes_per_key", "fill_keys_per_second", "gc_percent_of_core", "resident_percent_after_delete"}
	var all []*figure
	for _, name := range names {
		figures[name] = b.report.figure(s.name, loadPipeline, name)
		all = append(all, figures[name])
	}
	for i, p := range []program{b.ours, b.peer} {
		if p.addr != "" {
			return errNeedsProgram
		}
		if err := b.memoryOf(p, i, dataDir(root, sideNames[i]), s, figures); err != nil {
			return err
		}
	}
	return b.report.show(s, loadPipeline, all...)
}

func (b *bench) memoryOf(p program, i int, dir string, s scenario, figures map[string]*figure) (err error) {
	side, err := p.start(dir, b.connections, s.flags...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, side.stop()) }()
	empty, err := b.settledResident(side)
	if err != nil {
		return err
	}
	usedEmpty, err := side.info("used_memory")
	if err != nil {
		return err
	}
	filled, err := side.fill(b.manyKeys)
	if err != nil {
		return err
	}
	full, err := b.settledResident(side)
	if err != nil {
		return err
	}
	usedFull, err := side.info("used_memory")
	if err != nil {
		return err
	}
	perKey := 1 / float64(b.manyKeys)
	figures["fill_keys_per_second"].add(i, filled.perSecond())
	figures["resident_bytes_per_key"].add(i, float64(full-empty)*perKey)
	figures["used_bytes_per_key"].add(i, (usedFull-usedEmpty)*perKey)
	r, err := side.measure(build(plain("SET"), b.manyKeys, b.keys, 16, 2), b.limit)
	if err != nil {
		return err
	}
	figures["gc_percent_of_core"].add(i, 100*r.gc/r.elapsed.Seconds())
	isDeleted := func(number int) bool { return number%10 != 0 }
	if _, err := side.load.run(&sequence{command: plain("DEL"), limit: b.manyKeys, pipeline: loadPipeline, take: isDeleted}, 0); err != nil {
		return err
	}
	if err := side.checkSize((b.manyKeys + 9) / 10); err != nil {
		return err
	}
	left, err := b.settledResident(side)
	figures["resident_percent_after_delete"].add(i, 100*float64(left)/float64(full))
	return err
}

// settleLimit is how long a figure may take to come to rest.
func (b *bench) settleLimit() time.Duration { return min(time.Minute, 15*b.limit) }

// settledResident is a side's resident memory once it has come to rest.
func (b *bench) settledResident(s *side) (int64, error) {
	return settled(b.settleLimit(), func() (int64, error) { return launch.ResidentBytes(s.pid) })
}

// runRestart has our server recover from its store and Redis from the RDB file
// that it wrote with SAVE.
func runRestart(b *bench, s scenario, root string) error {
	ready := b.report.figure(s.name, 0, "ready_seconds")
	rate := b.report.figure(s.name, 0, "ready_keys_per_second")
	flags := [2][]string{s.flags, {"--save", "", "--appendonly", "no"}}
	programs := [2]program{b.ours, b.peer}
	for i, p := range programs {
		if p.addr != "" {
			return errNeedsProgram
		}
		if err := b.prepareRestart(p, dataDir(root, sideNames[i]), i == 1, flags[i]); err != nil {
			return err
		}
	}
	for round := range min(b.rounds, 5) {
		for _, i := range order(round) {
			took, err := b.restart(programs[i], dataDir(root, sideNames[i]), flags[i])
			if err != nil {
				return err
			}
			ready.add(i, took.Seconds())
			rate.add(i, float64(b.manyKeys)/took.Seconds())
		}
	}
	return b.report.show(s, 0, ready, rate)
}

// prepareRestart leaves a stopped server's data in dir.
func (b *bench) prepareRestart(p program, dir string, save bool, flags []string) error {
	side, err := p.start(dir, b.connections, flags...)
	if err != nil {
		return err
	}
	_, err = side.fill(b.manyKeys)
	if err == nil && save {
		_, err = side.do("SAVE")
	}
	return errors.Join(err, side.stop())
}

// restart returns the time until the server answered with all keys in memory.
func (b *bench) restart(p program, dir string, flags []string) (time.Duration, error) {
	side, err := p.start(dir, 1, flags...)
	if err != nil {
		return 0, err
	}
	err = side.checkSize(b.manyKeys)
	return side.server.ReadyAfter, errors.Join(err, side.stop())
}

// runWritten overwrites every key six times in random order.
func runWritten(b *bench, s scenario, root string) (err error) {
	if b.ours.addr != "" || b.peer.addr != "" {
		return errNeedsProgram
	}
	sides, err := b.startBoth(root, s.flags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopAll(sides)) }()
	ratio := b.report.figure(s.name, 16, "written_bytes_per_user_byte")
	for i, side := range sides {
		written := func() (int64, error) { return launch.WrittenBytes(side.pid) }
		if _, err := side.fill(b.keys); err != nil {
			return err
		}
		before, err := settled(b.settleLimit(), written)
		if err != nil {
			return err
		}
		overwrites := 0
		for overwrites < 6*b.keys {
			from := &once{prebuilt: build(plain("SET"), b.keys, b.keys, 16, uint64(overwrites))}
			done, err := side.load.run(from, 0)
			if err != nil {
				return err
			}
			overwrites += done.commands
		}
		after, err := settled(b.settleLimit(), written)
		if err != nil {
			return err
		}
		ratio.add(i, float64(after-before)/float64(overwrites*(keySizeBytes+valueSizeBytes)))
	}
	return b.report.show(s, 16, ratio)
}

// runAll runs the scenarios, each with a data directory of its own that is
// removed afterwards.
func (b *bench) runAll(chosen []scenario) error {
	for _, s := range chosen {
		root, err := os.MkdirTemp("", "load-")
		if err != nil {
			return fmt.Errorf("creating a data directory: %w", err)
		}
		err = s.run(b, s, root)
		if err = errors.Join(err, os.RemoveAll(root)); err != nil {
			return fmt.Errorf("scenario %s: %w", s.name, err)
		}
	}
	return nil
}
