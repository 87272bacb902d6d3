package main

// This file owns the flags and the order of a run.

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"reminis/bench/resp"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:6379", "address of the server")
	data := flag.String("data", "", "path of the conversations (locomo10.json)")
	product := flag.String("product", "locomo", "first segment of all keys; what is there under the same keys is overwritten")
	options := flag.String("options", "", "further words for each MEM.RECALL, e.g. \"NEIGHBOURS 0\"")
	records := flag.Int("records", 0, "measure what recalls cost instead: the records of the one owner that is asked")
	owners := flag.Int("owners", 1, "how many owners there are then")
	timeout := flag.Duration("timeout", 30*time.Second, "how long to wait for a reply")
	flag.Parse()
	size := size{records: *records, owners: *owners}
	if err := run(os.Stdout, *addr, *data, *product, strings.Fields(*options), *timeout, size); err != nil {
		fmt.Fprintln(os.Stderr, "recall:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, addr, data, product string, options []string, timeout time.Duration, size size) error {
	conversations, err := readConversations(data)
	if err != nil {
		return err
	}
	client, err := resp.Dial(addr, timeout)
	if err != nil {
		return err
	}
	defer client.Close()
	s := &server{client: client, product: product, options: options}
	if size.records > 0 {
		return measureCost(w, s, conversations, size)
	}
	return measure(w, s, conversations)
}

// measure stores all conversations, asks all questions and prints the figures.
func measure(w io.Writer, s *server, conversations []conversation) error {
	ids := make([]map[string]string, len(conversations))
	turns := 0
	used, err := s.processorTime()
	if err != nil {
		return err
	}
	began := time.Now()
	for i := range conversations {
		if ids[i], err = s.store(&conversations[i]); err != nil {
			return err
		}
		turns += len(conversations[i].turns)
	}
	elapsed := time.Since(began)
	stored, err := s.processorTime()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "stored %d turns of %d conversations in %v, server CPU %v a turn\n", turns, len(conversations),
		elapsed.Round(time.Millisecond), perItem(stored-used, turns))

	var figures, heldOut tally
	var latencies []time.Duration
	for i := range conversations {
		c := &conversations[i]
		for _, q := range c.questions {
			began := time.Now()
			keys, err := s.recall(c, q.text, topK)
			if err != nil {
				return err
			}
			latencies = append(latencies, time.Since(began))
			found := make([]string, len(keys))
			for n, key := range keys {
				id, ok := ids[i][key]
				if !ok {
					return fmt.Errorf("MEM.RECALL of %q found %q, which is not of that conversation", q.text, key)
				}
				found[n] = id
			}
			if err := figures.add(q, found); err != nil {
				return err
			}
			if isHeldOut(i) {
				_ = heldOut.add(q, found) // its category is known by now
			}
		}
	}
	asked, err := s.processorTime()
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "held out:")
	heldOut.write(w)
	fmt.Fprintln(w, "all conversations:")
	figures.write(w)
	fmt.Fprintf(w, "a question: %s; server CPU %v on average\n", spread(latencies), perItem(asked-stored, len(latencies)))
	return nil
}

// spread says how long questions took.
func spread(latencies []time.Duration) string {
	return fmt.Sprintf("p50 %v, p95 %v, p99 %v as seen by one client",
		percentile(latencies, 0.50), percentile(latencies, 0.95), percentile(latencies, 0.99))
}

func perItem(total time.Duration, count int) time.Duration {
	return (total / time.Duration(max(count, 1))).Round(time.Microsecond)
}
