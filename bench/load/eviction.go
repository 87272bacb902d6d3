package main

// This file owns how well a server chooses what it evicts. It must not know how
// results are shown.

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"reminis/bench/resp"
)

func evictionScenarios(cache []string) []scenario {
	return []scenario{
		{"hit-rate-lru", "reads that found their key, of a cache that holds a fifth of the keys, under allkeys-lru", cache, nil, "", true, runHitRate("allkeys-lru")},
		{"hit-rate-lfu", "the same under allkeys-lfu", cache, nil, "", true, runHitRate("allkeys-lfu")},
	}
}

const (
	// cachedKeys is how many keys both servers have memory for, of cachedValueBytes
	// each: much beside what else counts as used memory, and few enough to be used
	// many times over in a round. The clock of LRU counts seconds.
	cachedKeys       = 50_000
	cachedValueBytes = 1000
	// cachedOf is how many keys there are for each that has room.
	cachedOf = 5
	// hitRateRounds times the limit is how long a round takes.
	hitRateRounds = 5
	// driftEvery is after how many reads the favourite keys move on by one.
	driftEvery = 50
)

// runHitRate gives both servers the same reads at the same time, Zipf's law over
// keys whose ranks drift, and has each fill in what it misses.
func runHitRate(policy string) func(b *bench, s scenario, root string) error {
	return func(b *bench, s scenario, root string) (err error) {
		if b.ours.addr != "" || b.peer.addr != "" {
			return errNeedsProgram
		}
		sides, err := b.startBoth(root, s.flags)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stopAll(sides)) }()
		var caches [2]*cacheSide
		for i, side := range sides {
			if caches[i], err = newCacheSide(side, policy); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, caches[i].client.Close()) }()
		}
		hits := b.report.figure(s.name, 0, "hit_percent")
		keys := b.report.figure(s.name, 0, "keys_held")
		reads := newDriftingReads(cachedKeys * cachedOf)
		for range 4 {
			if _, _, err := readBoth(caches, reads, b.limit); err != nil {
				return err
			}
			for _, cache := range caches {
				if err := cache.adjust(); err != nil {
					return err
				}
			}
		}
		for range b.rounds {
			found, total, err := readBoth(caches, reads, hitRateRounds*b.limit)
			if err != nil {
				return err
			}
			for i, cache := range caches {
				hits.add(i, 100*float64(found[i])/float64(total))
				size, err := cache.side.size()
				if err != nil {
					return err
				}
				keys.add(i, float64(size))
			}
		}
		return b.report.show(s, 0, hits, keys)
	}
}

// driftingReads are keys by Zipf's law, whose ranks drift.
type driftingReads struct {
	ranks *rand.Zipf
	keys  int
	count int
}

func newDriftingReads(keys int) *driftingReads {
	return &driftingReads{ranks: rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.05, 1, uint64(keys-1)), keys: keys}
}

func (d *driftingReads) next() (number int) {
	d.count++
	return (int(d.ranks.Uint64()) + d.count/driftEvery) % d.keys
}

// readBoth has both servers read the same keys until the time is over.
func readBoth(caches [2]*cacheSide, reads *driftingReads, limit time.Duration) (found [2]int, total int, err error) {
	numbers := make([]int, loadPipeline)
	for began := time.Now(); time.Since(began) < limit; total += len(numbers) {
		for i := range numbers {
			numbers[i] = reads.next()
		}
		for i, cache := range caches {
			hits, err := cache.read(numbers)
			if err != nil {
				return found, total, err
			}
			found[i] += hits
		}
	}
	return found, total, nil
}

// cacheSide is a server that is used as a cache.
type cacheSide struct {
	side      *side
	client    *resp.Client
	value     string
	maxMemory float64
}

// newCacheSide gives a server memory for about cachedKeys: what it takes when it
// holds them.
func newCacheSide(side *side, policy string) (*cacheSide, error) {
	client, err := resp.Dial(side.addr, replyLimit)
	if err != nil {
		return nil, err
	}
	c := &cacheSide{side: side, client: client, value: strings.Repeat("v", cachedValueBytes)}
	if err := c.fill(policy); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return c, nil
}

func (c *cacheSide) fill(policy string) (err error) {
	for first := 0; first < cachedKeys; first += loadPipeline {
		for number := first; number < first+loadPipeline; number++ {
			c.client.Queue("SET", string(appendKey(nil, number)), c.value)
		}
		if err := c.receive(loadPipeline, nil); err != nil {
			return err
		}
	}
	if c.maxMemory, err = c.side.info("used_memory"); err != nil {
		return err
	}
	if _, err := c.side.do("CONFIG", "SET", "maxmemory-policy", policy); err != nil {
		return err
	}
	return c.adjust()
}

// adjust sets maxmemory so that there is room for cachedKeys: what a server takes
// beside them changes with use.
func (c *cacheSide) adjust() error {
	size, err := c.side.size()
	if err != nil {
		return err
	}
	c.maxMemory += float64(cachedKeys-size) * cachedValueBytes
	_, err = c.side.do("CONFIG", "SET", "maxmemory", strconv.FormatInt(int64(c.maxMemory), 10))
	return err
}

// read reads the keys of numbers, and then sets those that were not there.
func (c *cacheSide) read(numbers []int) (hits int, err error) {
	for _, number := range numbers {
		c.client.Queue("GET", string(appendKey(nil, number)))
	}
	var missed []int
	if err := c.receive(len(numbers), func(i int) { missed = append(missed, numbers[i]) }); err != nil {
		return 0, err
	}
	for _, number := range missed {
		c.client.Queue("SET", string(appendKey(nil, number)), c.value)
	}
	err = c.receive(len(missed), nil)
	return len(numbers) - len(missed), err
}

// receive flushes what is queued and takes count replies, of which it tells the
// null ones.
func (c *cacheSide) receive(count int, null func(i int)) error {
	if err := c.client.Flush(); err != nil {
		return err
	}
	for i := range count {
		last, err := c.client.Receive()
		if err != nil {
			return err
		}
		if last.IsError() {
			return errors.New(last.Text())
		}
		if last.Null {
			null(i)
		}
	}
	return nil
}
