package main

// This file owns what is sent to the server and read from it. It must not know
// how the results are counted.

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"reminis/bench/resp"
)

// pipelineMax is how many records are sent before their replies are read. Both
// together fit the sockets' buffers.
const pipelineMax = 64

// server is the server under measurement.
type server struct {
	client  *resp.Client
	product string   // first segment of all keys
	options []string // added to each MEM.RECALL
}

// owner is the scope of a conversation.
func (s *server) owner(c *conversation) string { return s.product + ":" + c.name }

func (s *server) key(c *conversation, t *turn) string {
	return fmt.Sprintf("%s:session_%d:%d", s.owner(c), t.session, t.number)
}

// store writes the turns of a conversation and answers their ids by key.
func (s *server) store(c *conversation) (map[string]string, error) {
	ids := make(map[string]string, len(c.turns))
	for first := 0; first < len(c.turns); first += pipelineMax {
		batch := c.turns[first:min(first+pipelineMax, len(c.turns))]
		for i := range batch {
			t := &batch[i]
			key := s.key(c, t)
			ids[key] = t.id
			if err := s.queue(key, t); err != nil {
				return nil, err
			}
		}
		if err := s.acknowledged(len(batch)); err != nil {
			return nil, fmt.Errorf("%s from turn %s on: %w", c.name, batch[0].id, err)
		}
	}
	return ids, nil
}

// queue has a turn sent as a record.
func (s *server) queue(key string, t *turn) error {
	value, err := json.Marshal(map[string]string{"speaker": t.speaker, "text": t.text, "caption": t.caption, "date": t.date})
	if err != nil {
		return fmt.Errorf("encoding turn %s: %w", t.id, err)
	}
	s.client.Queue("MEM.SET", key, string(value), "KIND", "semantic", "ANCHOR", t.anchor())
	return nil
}

// acknowledged sends what is queued, and says whether so many records were stored.
func (s *server) acknowledged(count int) error {
	if err := s.client.Flush(); err != nil {
		return err
	}
	for range count {
		reply, err := s.client.Receive()
		if err != nil {
			return err
		}
		if reply.Kind != ':' {
			return fmt.Errorf("MEM.SET: %.200q", reply.Raw)
		}
	}
	return nil
}

// recall asks a question and answers the keys found, best first, at most limit.
func (s *server) recall(c *conversation, text string, limit int) ([]string, error) {
	args := append([]string{"MEM.RECALL", s.owner(c), "QUERY", text, "TOPK", strconv.Itoa(limit)}, s.options...)
	reply, err := s.client.Do(args...)
	if err != nil {
		return nil, err
	}
	keys, err := hitKeys(reply)
	if err != nil {
		return nil, fmt.Errorf("MEM.RECALL of %q: %w", text, err)
	}
	return keys, nil
}

// hitKeys answers the keys of an array of hits, each a map or a flat array of
// names and values; an error if the reply is anything else.
func hitKeys(reply resp.Reply) ([]string, error) {
	if reply.Kind != '*' || reply.Null {
		return nil, fmt.Errorf("the reply is no array: %.200q", reply.Raw)
	}
	keys := make([]string, 0, len(reply.Items))
	for _, hit := range reply.Items {
		key := ""
		for i := 0; i+1 < len(hit.Items); i += 2 {
			if hit.Items[i].Text() == "key" {
				key = hit.Items[i+1].Text()
			}
		}
		if key == "" {
			return nil, fmt.Errorf("a hit has no key: %.200q", hit.Raw)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// processorTime answers what INFO says that the server has used so far.
func (s *server) processorTime() (time.Duration, error) {
	reply, err := s.client.Do("INFO", "cpu")
	if err != nil {
		return 0, err
	}
	if reply.IsError() {
		return 0, fmt.Errorf("INFO cpu: %s", reply.Text())
	}
	seconds, found := 0.0, 0
	for line := range strings.Lines(reply.Text()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name != "used_cpu_user" && name != "used_cpu_sys" {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("INFO cpu: %s: %w", name, err)
		}
		seconds += n
		found++
	}
	if found != 2 {
		return 0, fmt.Errorf("INFO cpu lacks used_cpu_user or used_cpu_sys: %.200q", reply.Text())
	}
	return time.Duration(seconds * float64(time.Second)), nil
}
