package main

// This file owns what is measured of memory records. Both sides are our own
// program: a record is compared with the plain key that it stands in for.

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"

	"reminis/bench/resp"
)

// recordsPerOwner is how many records of the key space one owner has.
const recordsPerOwner = 10

// recordsMax bounds the records of a scenario: each takes an fsync to make.
const recordsMax = 200_000

// appendRecordKey appends the key of a record by its number.
func appendRecordKey(buf []byte, number, perOwner int) []byte {
	buf = append(buf, "bench:user"...)
	buf = strconv.AppendInt(buf, int64(number/perOwner), 10)
	buf = append(buf, ":session:name"...)
	return strconv.AppendInt(buf, int64(number%perOwner), 10)
}

// appendJSONValue appends a JSON string of 32 bytes.
func appendJSONValue(buf []byte, number int) []byte {
	buf = append(buf, '"')
	start := len(buf)
	buf = appendValue(buf, number)[:start+valueSizeBytes-2]
	return append(buf, '"')
}

// record is MEM.GET key or MEM.SET key value KIND kind.
func record(command, kind string) request {
	return func(buf []byte, number int) []byte {
		key := appendRecordKey(nil, number, recordsPerOwner)
		if command == "MEM.GET" {
			return resp.AppendCommand(buf, []byte(command), key)
		}
		return resp.AppendCommand(buf, []byte(command), key, appendJSONValue(nil, number), []byte("KIND"), []byte(kind))
	}
}

func getRecords() request { return record("MEM.GET", "") }
func setRecords() request { return record("MEM.SET", "session") }

// ownPair starts our program twice, with so many connections each.
func (b *bench) ownPair(root string, flags []string, connections [2]int) (sides [2]*side, err error) {
	if b.ours.addr != "" {
		return sides, errNeedsProgram
	}
	for i := range sides {
		if sides[i], err = b.ours.start(dataDir(root, sideNames[i]), connections[i], flags...); err != nil {
			return sides, errors.Join(err, stopAll(sides))
		}
	}
	return sides, b.report.versions(sides)
}

// fillWith sends a command for each number below limit, once.
func (s *side) fillWith(command request, limit, pipeline int) error {
	_, err := s.load.run(&sequence{command: command, limit: limit, pipeline: pipeline, take: everyKey}, 0)
	if err != nil {
		return fmt.Errorf("filling %s: %w", s.addr, err)
	}
	return nil
}

// runBeside measures a command on records beside the plain one.
func runBeside(command func() request) func(b *bench, s scenario, root string) error {
	return func(b *bench, s scenario, root string) (err error) {
		sides, err := b.ownPair(root, s.flags, [2]int{b.connections, b.connections})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stopAll(sides)) }()
		keys := min(b.keys, recordsMax)
		if err := errors.Join(sides[0].fillWith(record("MEM.SET", "session"), keys, 16), sides[1].fillWith(plain("SET"), keys, 16), b.settle(sides)); err != nil {
			return err
		}
		for _, depth := range s.depths {
			from := [2]source{build(command(), keys, keys, depth, 1), build(plain(s.command), keys, keys, depth, 1)}
			if err := b.compare(s, sides, from, depth); err != nil {
				return err
			}
		}
		return nil
	}
}

// settle waits until both sides have done what filling them left: a checkpoint of
// the fill is no cost of what is measured next.
func (b *bench) settle(sides [2]*side) error {
	for _, side := range sides {
		if _, err := b.settledResident(side); err != nil {
			return err
		}
	}
	return nil
}

// compare measures a source on each side, in turn.
func (b *bench) compare(s scenario, sides [2]*side, from [2]source, depth int) error {
	rate := b.report.figure(s.name, depth, "ops_per_second")
	cpu := b.report.figure(s.name, depth, "cpu_us_per_op")
	gc := b.report.figure(s.name, depth, "gc_percent_of_core")
	for round := range b.rounds {
		for _, i := range order(round) {
			r, err := sides[i].measure(from[i], b.limit)
			if err != nil {
				return err
			}
			if r.nils > 0 {
				return fmt.Errorf("%d of %d replies were null", r.nils, r.commands)
			}
			rate.add(i, r.perSecond())
			cpu.add(i, r.cpu.Seconds()*1e6/float64(r.commands))
			gc.add(i, 100*r.gc/r.elapsed.Seconds())
		}
	}
	return b.report.show(s, depth, rate, cpu, gc)
}

// runAudited measures reads, audited on one side and not on the other.
func runAudited(b *bench, s scenario, root string) (err error) {
	sides, err := b.ownPair(root, s.flags, [2]int{b.connections, b.connections})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopAll(sides)) }()
	keys := min(b.keys, recordsMax)
	for _, side := range sides {
		if err := side.fillWith(record("MEM.SET", "session"), keys, 16); err != nil {
			return err
		}
	}
	if err := b.settle(sides); err != nil {
		return err
	}
	if _, err := sides[0].do("MEM.POLICY", "SET", "bench", "AUDIT", "ALL"); err != nil {
		return err
	}
	for _, depth := range s.depths {
		from := [2]source{build(getRecords(), keys, keys, depth, 1), build(getRecords(), keys, keys, depth, 1)}
		if err := b.compare(s, sides, from, depth); err != nil {
			return err
		}
	}
	return nil
}

// manyTimes is how many times more connections an agent platform opens than one
// service does.
const manyTimes = 100

// runProfiles writes records that are fsynced before the reply, over many
// connections and over few.
func runProfiles(b *bench, s scenario, root string) (err error) {
	flags := append([]string{"--maxclients", "10000"}, s.flags...)
	sides, err := b.ownPair(root, flags, [2]int{manyTimes * b.connections, b.connections})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopAll(sides)) }()
	keys := min(b.keys, recordsMax)
	write := record("MEM.SET", "profile")
	for _, depth := range s.depths {
		if err := b.compare(s, sides, [2]source{build(write, keys, keys, depth, 1), build(write, keys, keys, depth, 1)}, depth); err != nil {
			return err
		}
	}
	return nil
}

// What the owner of mem-load has.
const (
	loadProfiles  = 20
	loadTurns     = 50
	loadSemantics = 1000
	loadTextBytes = 200
)

// runLoadOwner measures the start of a turn: all that an agent needs of a user in
// one reply, beside a plain value of the same size.
func runLoadOwner(b *bench, s scenario, root string) (err error) {
	sides, err := b.ownPair(root, s.flags, [2]int{b.connections, b.connections})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopAll(sides)) }()
	if err := makeLoadOwner(sides[0]); err != nil {
		return err
	}
	// Two words that a tenth of the records have, and one that few have.
	query := word(10) + " " + word(60) + " " + word(1500)
	load := []string{"MEM.LOAD", "bench:user", "SESSION", "talk", "QUERY", query, "BUDGET", "4000"}
	text, err := sides[0].do(append(load, "FORMAT", "JSON")...)
	if err != nil {
		return err
	}
	if _, err := sides[1].do("SET", "plain", text); err != nil {
		return err
	}
	size := b.report.figure(s.name, 1, "json_bytes")
	size.add(0, float64(len(text)))
	size.add(1, float64(len(text)))
	if err := b.report.show(s, 1, size); err != nil {
		return err
	}
	fixed := func(words ...string) request {
		var argv [][]byte
		for _, word := range words {
			argv = append(argv, []byte(word))
		}
		return func(buf []byte, _ int) []byte { return resp.AppendCommand(buf, argv...) }
	}
	for _, depth := range s.depths {
		from := [2]source{build(fixed(load...), 1, 64, depth, 1), build(fixed("GET", "plain"), 1, 64, depth, 1)}
		if err := b.compare(s, sides, from, depth); err != nil {
			return err
		}
	}
	return nil
}

// vocabulary is how many words texts are made of; the first are by far the most
// frequent, as in any language.
const vocabulary = 3000

// loadText is about so many bytes of words that differ by number.
func loadText(number int) string {
	r := rand.New(rand.NewPCG(uint64(number), 3))
	var text strings.Builder
	for text.Len() < loadTextBytes {
		frequent := r.Float64()
		fmt.Fprintf(&text, "%s ", word(int(vocabulary*frequent*frequent*frequent)))
	}
	return text.String()[:loadTextBytes]
}

// word is a word by its number: syllables, so that it can be stemmed and read.
func word(number int) string {
	const consonants, vowels = "bdfgklmnprstvz", "aeiou"
	var text []byte
	for number += len(consonants); number > 0; number /= len(consonants) * len(vowels) {
		text = append(text, consonants[number%len(consonants)], vowels[number/len(consonants)%len(vowels)])
	}
	return string(text)
}

func makeLoadOwner(s *side) error {
	for n := range loadProfiles {
		if _, err := s.do("MEM.SET", fmt.Sprintf("bench:user:profile:p%d", n), fmt.Sprintf(`{"name":"p%d","likes":"%s"}`, n, loadText(n)[:100]), "KIND", "profile"); err != nil {
			return err
		}
	}
	for n := range loadTurns {
		turn := fmt.Sprintf(`{"role":"user","text":%q}`, loadText(n)[:120])
		if _, err := s.do("MEM.APPEND", "bench:user:talk:turns", "KIND", "session", "EX", "86400", "ITEMS", "1", turn); err != nil {
			return err
		}
	}
	for n := range loadSemantics {
		if _, err := s.do("MEM.SET", fmt.Sprintf("bench:user:facts:f%d", n), loadText(n), "TEXT", "KIND", "semantic"); err != nil {
			return err
		}
	}
	return nil
}

// runRecordSize fills our server with records of 200 bytes, each written twice
// (one version of history), and shows what a record takes: where an owner has
// many, and where it has few, whose indexes and trees then count.
func runRecordSize(b *bench, s scenario, root string) (err error) {
	if b.ours.addr != "" {
		return errNeedsProgram
	}
	for _, perOwner := range []int{1000, recordsPerOwner} {
		if err := b.recordSize(s, root, perOwner); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) recordSize(s scenario, root string, perOwner int) (err error) {
	dir := dataDir(root, strconv.Itoa(perOwner))
	side, err := b.ours.start(dir, b.connections, s.flags...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, side.stop()) }()
	empty, err := b.settledResident(side)
	if err != nil {
		return err
	}
	emptyDisk, err := directoryBytes(dir)
	if err != nil {
		return err
	}
	records := min(b.manyKeys, recordsMax)
	write := func(buf []byte, number int) []byte {
		return resp.AppendCommand(buf, []byte("MEM.SET"), appendRecordKey(nil, number, perOwner), []byte(loadText(number)), []byte("TEXT"), []byte("KIND"), []byte("semantic"))
	}
	for range 2 {
		if err := side.fillWith(write, records, 16); err != nil {
			return err
		}
	}
	full, err := b.settledResident(side)
	if err != nil {
		return err
	}
	if err := side.server.Stop(); err != nil { // the last checkpoint takes the journal over
		return err
	}
	side.server = nil
	disk, err := directoryBytes(dir)
	if err != nil {
		return err
	}
	perRecord := b.report.figure(s.name, 0, fmt.Sprintf("resident_per_value_byte_%d_per_owner", perOwner))
	perRecord.add(0, float64(full-empty)/float64(records)/loadTextBytes)
	onDisk := b.report.figure(s.name, 0, fmt.Sprintf("disk_per_value_byte_%d_per_owner", perOwner))
	onDisk.add(0, float64(disk-emptyDisk)/float64(records)/loadTextBytes)
	return b.report.show(s, 0, perRecord, onDisk)
}

// directoryBytes is the size of what a directory holds, but for the journal,
// whose segments are reserved whatever they hold.
func directoryBytes(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Base(filepath.Dir(path)) == "journal" {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}
