package main

// This file owns the file that a failure leaves, from which the last bytes can be
// sent again.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// keptMax is how many attacks of each worker are kept: the last one, and those
// before it whose effects come late.
const keptMax = 3

// shownBytes is how much is printed of the last stream of each worker; the file has
// all of all.
const shownBytes = 100

// memory keeps the last attacks of each worker.
type memory struct {
	lock sync.Mutex
	last map[int][]sent
}

type sent struct {
	round, number int
	attack        attack
}

func (m *memory) keep(worker int, s sent) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.last == nil {
		m.last = map[int][]sent{}
	}
	kept := append(m.last[worker], s)
	m.last[worker] = slices.Clone(kept[max(0, len(kept)-keptMax):])
}

// all is what is kept, in the order in which it was planned.
func (m *memory) all() []sent {
	m.lock.Lock()
	defer m.lock.Unlock()
	var all []sent
	for _, kept := range m.last {
		all = append(all, kept...)
	}
	slices.SortFunc(all, func(a, b sent) int { return (a.round-b.round)<<20 + a.number - b.number })
	return all
}

// report prints the last bytes and writes them to a file.
func (m *memory) report(out io.Writer, path string) error {
	var text strings.Builder
	all := m.all()
	for i, s := range all {
		a := s.attack
		head := fmt.Sprintf("%d %d %s %s %s %d ", s.round, s.number, a.sending, a.reading, a.ending, a.pieces)
		if i >= len(all)-len(m.last) {
			fmt.Fprintf(out, "%s%d bytes, the last %q\n", head, len(a.stream), a.stream[max(0, len(a.stream)-shownBytes):])
		}
		fmt.Fprintf(&text, "%s%q %q\n", head, a.hello, a.stream)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		return fmt.Errorf("keeping what was sent: %w", err)
	}
	fmt.Fprintf(out, "sent again with -replay %s\n", path)
	return nil
}

// recorded reads what report has written.
func recorded(path string) ([]attack, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading what was sent: %w", err)
	}
	var all []attack
	for line := range strings.Lines(string(text)) {
		a, err := parseAttack(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, len(all)+1, err)
		}
		all = append(all, a)
	}
	return all, nil
}

func parseAttack(line string) (attack, error) {
	words := strings.SplitN(line, " ", 7)
	if len(words) != 7 || !slices.Contains(sendings, words[2]) || !slices.Contains(readings, words[3]) || !slices.Contains(endings, words[4]) {
		return attack{}, errors.New("no attack")
	}
	pieces, err := strconv.ParseUint(words[5], 10, 64)
	if err != nil {
		return attack{}, fmt.Errorf("the seed of its pieces: %w", err)
	}
	quoted, err := strconv.QuotedPrefix(words[6])
	if err != nil {
		return attack{}, fmt.Errorf("how it authenticates: %w", err)
	}
	a := attack{sending: words[2], reading: words[3], ending: words[4], pieces: pieces}
	hello, err := strconv.Unquote(quoted)
	if err != nil {
		return attack{}, fmt.Errorf("how it authenticates: %w", err)
	}
	stream, err := strconv.Unquote(strings.TrimPrefix(words[6][len(quoted):], " "))
	if err != nil {
		return attack{}, fmt.Errorf("its bytes: %w", err)
	}
	a.hello, a.stream = []byte(hello), []byte(stream)
	return a, nil
}

// replay sends attacks again, all at once, and asks whether the server lives.
func replay(s *target, attacks []attack) error {
	over := make(chan struct{})
	var running sync.WaitGroup
	failures := make([]error, len(attacks))
	for i := range attacks {
		running.Go(func() { failures[i] = attacks[i].run(s.addr, s.limit, over) })
	}
	stay := time.NewTimer(stayMax)
	<-stay.C
	close(over)
	running.Wait()
	return errors.Join(errors.Join(failures...), s.probe())
}
