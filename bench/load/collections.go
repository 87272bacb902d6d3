package main

// This file owns what is measured of collections and of numbers in strings, side by
// side with Redis. It must not know how results are shown.

import (
	"errors"
	"fmt"
	"strconv"

	"reminis/bench/resp"
)

func collectionScenarios(cache []string) []scenario {
	return []scenario{
		{"incr", "incrementing random keys", cache, []int{1, 16}, "", false, runOn(plainly("INCR"), plainly("INCR"))},
		{"sadd", "adding a random member to one set", cache, []int{1, 16}, "", false, runOn(addMembers(1), addMembers(1))},
		{"spop", "adding two random members to a set and popping one, in turn", cache, []int{1, 16}, "", false, runOn(addMembers(2), addAndPop)},
		{"sinter", "intersecting two sets of ten members", cache, []int{1, 16}, "", false, runOn(smallSets, intersectPair)},
		{"xadd", "adding an entry of two fields to one stream", cache, []int{1, 16}, "", false, runOn(addEntries, addEntries)},
		{"xadd-trim", "adding an entry to a stream that is kept at about a thousand", cache, []int{1, 16}, "", false,
			runOn(addEntries, addEntriesTo("MAXLEN", "~", "1000"))},
		{"xrange", "reading the first ten entries of a stream", cache, []int{1, 16}, "", false, runOn(addEntries, readEntries)},
		{"memory-streams", "resident bytes per entry of streams of 10, and of one stream", cache, nil, "", true,
			runCollectionMemory([]collection{
				{"resident_bytes_per_entry_of_short_streams", 1, shortStreams()},
				{"resident_bytes_per_entry", 1, addEntries()},
			})},
		{"memory-sets", "resident bytes per set of 10 integers, per set of 10 texts, and per member of one set", cache, nil, "", true,
			runCollectionMemory([]collection{
				{"resident_bytes_per_set_of_integers", 1, setOf(10, 0, "")},
				{"resident_bytes_per_set_of_texts", 1, setOf(10, 500_000_000, "member:")},
				{"resident_bytes_per_member", 100, membersOf("SADD")},
			})},
	}
}

func plainly(command string) func() request {
	return func() request { return plain(command) }
}

// runOn measures a command at each pipeline depth, on what another one has filled.
func runOn(fill, command func() request) func(b *bench, s scenario, root string) error {
	return func(b *bench, s scenario, root string) (err error) {
		sides, err := b.startBoth(root, s.flags)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stopAll(sides)) }()
		for _, side := range sides {
			if err := side.fillWith(fill(), b.keys, loadPipeline); err != nil {
				return err
			}
		}
		for _, depth := range s.depths {
			from := [2]source{build(command(), b.keys, b.keys, depth, 1), build(command(), b.keys, b.keys, depth, 1)}
			if err := b.compare(s, sides, from, depth); err != nil {
				return fmt.Errorf("%s at %s: %w", s.name, pipelineLabel(depth), err)
			}
		}
		return nil
	}
}

const oneCollection = "collection"

// addMembers adds so many members to one set; those beside a number's are far from
// it.
func addMembers(count int) func() request {
	return func() request {
		return func(buf []byte, number int) []byte {
			line := [][]byte{[]byte("SADD"), []byte(oneCollection)}
			for i := range count {
				line = append(line, appendKey(nil, (number+i*500_003)%1_000_000_000))
			}
			return resp.AppendCommand(buf, line...)
		}
	}
}

// addAndPop keeps a set at about half of the members that there may be.
func addAndPop() request {
	add, pops := addMembers(2)(), true
	return func(buf []byte, number int) []byte {
		if pops = !pops; pops {
			return resp.AppendCommand(buf, []byte("SPOP"), []byte(oneCollection))
		}
		return add(buf, number)
	}
}

const oneStream = "stream"

// addEntriesTo adds entries to one stream, with options.
func addEntriesTo(options ...string) func() request {
	return func() request {
		return func(buf []byte, number int) []byte {
			line := [][]byte{[]byte("XADD"), []byte(oneStream)}
			for _, option := range options {
				line = append(line, []byte(option))
			}
			line = append(line, []byte("*"), []byte("sensor"), []byte(strconv.Itoa(number)), []byte("note"), appendKey(nil, number))
			return resp.AppendCommand(buf, line...)
		}
	}
}

func addEntries() request { return addEntriesTo()() }

func readEntries() request {
	return func(buf []byte, _ int) []byte {
		return resp.AppendCommand(buf, []byte("XRANGE"), []byte(oneStream), []byte("-"), []byte("+"), []byte("COUNT"), []byte("10"))
	}
}

// shortStreams makes streams of ten entries each.
func shortStreams() request {
	return func(buf []byte, number int) []byte {
		return resp.AppendCommand(buf, []byte("XADD"), appendKey(nil, number/10), []byte("*"),
			[]byte("sensor"), []byte(strconv.Itoa(number)), []byte("note"), appendKey(nil, number))
	}
}

// collection is what memory is measured of: figure per element, of which each
// request makes so many.
type collection struct {
	figure   string
	elements int
	make     request
}

// smallSets makes sets of ten members that have nine in common with the next.
func smallSets() request { return setOf(10, 0, "member:") }

func intersectPair() request {
	return func(buf []byte, number int) []byte {
		return resp.AppendCommand(buf, []byte("SINTER"), appendKey(nil, number), appendKey(nil, number+1))
	}
}

// setOf makes a number's own set of members; its key is that of another number,
// further on.
func setOf(count, further int, prefix string) request {
	return func(buf []byte, number int) []byte {
		line := [][]byte{[]byte("SADD"), appendKey(nil, number+further)}
		for i := range count {
			line = append(line, []byte(prefix+strconv.Itoa(number+i)))
		}
		return resp.AppendCommand(buf, line...)
	}
}

// membersOf adds a hundred members of 16 bytes to one collection for each number.
func membersOf(command string) request {
	return func(buf []byte, number int) []byte {
		line := [][]byte{[]byte(command), []byte(oneCollection)}
		for i := range 100 {
			line = append(line, appendKey(nil, number*100+i))
		}
		return resp.AppendCommand(buf, line...)
	}
}

// runCollectionMemory fills each server with all collections in turn, one server
// after the other.
func runCollectionMemory(of []collection) func(b *bench, s scenario, root string) error {
	return func(b *bench, s scenario, root string) error {
		var figures []*figure
		for _, c := range of {
			figures = append(figures, b.report.figure(s.name, loadPipeline, c.figure))
		}
		for i, p := range []program{b.ours, b.peer} {
			if p.addr != "" {
				return errNeedsProgram
			}
			if err := b.residentOf(p, i, dataDir(root, sideNames[i]), s, of, figures); err != nil {
				return err
			}
		}
		return b.report.show(s, loadPipeline, figures...)
	}
}

// residentOf adds to each collection's figure what a program holds resident for an
// element of it.
func (b *bench) residentOf(p program, i int, dir string, s scenario, of []collection, figures []*figure) (err error) {
	side, err := p.start(dir, b.connections, s.flags...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, side.stop()) }()
	before, err := b.settledResident(side)
	if err != nil {
		return err
	}
	for n, c := range of {
		requests := max(1, b.manyKeys/c.elements)
		if err := side.fillWith(c.make, requests, loadPipeline); err != nil {
			return err
		}
		after, err := b.settledResident(side)
		if err != nil {
			return err
		}
		figures[n].add(i, float64(after-before)/float64(requests*c.elements))
		before = after
	}
	return nil
}
