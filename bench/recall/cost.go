package main

// This file owns what a recall costs an owner of a given size among others.

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// size is how much a server holds whose recalls are measured.
type size struct{ records, owners int }

// joined makes conversations one, of so many turns: each session keeps its turns
// together, and when all were taken they are taken again, with the ends of others, so
// that no two say the same.
func joined(conversations []conversation, records int) conversation {
	all := conversation{name: "all"}
	for i := range conversations {
		all.questions = append(all.questions, conversations[i].questions...)
	}
	session := 0
	for round := 0; ; round++ {
		for i := range conversations {
			last := 0
			for _, t := range conversations[i].turns {
				if len(all.turns) == records {
					return all
				}
				if t.session != last {
					last = t.session
					session++
				}
				t.session = session
				if round > 0 {
					t.text = half(t.text, 0) + half(all.turns[(len(all.turns)*7+round)%len(all.turns)].text, 1)
				}
				all.turns = append(all.turns, t)
			}
		}
	}
}

// half is the first or the second half of a text, in words.
func half(text string, which int) string {
	words := strings.SplitAfter(text, " ")
	if which == 0 {
		return strings.Join(words[:len(words)/2], "")
	}
	return strings.Join(words[len(words)/2:], "")
}

// storeOthers gives other owners a turn each.
func (s *server) storeOthers(turns []turn, owners int) error {
	for first := 0; first < owners; first += pipelineMax {
		count := min(pipelineMax, owners-first)
		for i := range count {
			t := &turns[(first+i)%len(turns)]
			c := conversation{name: fmt.Sprintf("other%d", first+i)}
			if err := s.queue(s.key(&c, t), t); err != nil {
				return err
			}
		}
		if err := s.acknowledged(count); err != nil {
			return fmt.Errorf("owners from %d on: %w", first, err)
		}
	}
	return nil
}

func measureCost(w io.Writer, s *server, conversations []conversation, size size) error {
	all := joined(conversations, size.records)
	if err := s.storeOthers(all.turns, size.owners-1); err != nil {
		return err
	}
	if _, err := s.store(&all); err != nil {
		return err
	}
	for _, limit := range []int{10, 50} {
		if _, err := s.recall(&all, all.questions[0].text, limit); err != nil { // indexes
			return err
		}
		before, err := s.processorTime()
		if err != nil {
			return err
		}
		var latencies []time.Duration
		for _, q := range all.questions {
			began := time.Now()
			if _, err := s.recall(&all, q.text, limit); err != nil {
				return err
			}
			latencies = append(latencies, time.Since(began))
		}
		after, err := s.processorTime()
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%d records of %d, one of %d owners: %s; server CPU %v on average\n",
			limit, size.records, size.owners, spread(latencies), perItem(after-before, len(latencies)))
	}
	return nil
}
