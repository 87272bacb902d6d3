// This file owns the rates of INFO: commands and bytes per second. It must not
// know INFO's names.

package server

import (
	"sync"
	"sync/atomic"
	"time"
)

// Rates are means over the last 1.6 seconds, from samples at the interval at
// which Redis takes them.
const (
	rateInterval = 100 * time.Millisecond
	rateSamples  = 16
)

// rates samples counters. The counters may be reset at any time.
type rates struct {
	server  *Server
	sources [3]*atomic.Int64

	mu      sync.Mutex
	last    [3]int64
	lastAt  time.Time
	samples [rateSamples][3]float64
	next    int
}

// newRates samples the commands and the bytes that s's connections carry.
func newRates(s *Server, commands *atomic.Int64) *rates {
	return &rates{
		server:  s,
		sources: [3]*atomic.Int64{commands, &s.stats.inputBytes, &s.stats.outputBytes},
		lastAt:  time.Now(),
	}
}

// run samples until the server stops.
func (r *rates) run() {
	ticker := time.NewTicker(rateInterval)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			r.sample(now)
		case <-r.server.done:
			return
		}
	}
}

func (r *rates) sample(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seconds := now.Sub(r.lastAt).Seconds()
	if seconds <= 0 {
		return
	}
	r.lastAt = now
	for i, source := range r.sources {
		value := source.Load()
		// A counter that fell was reset.
		r.samples[r.next][i] = float64(max(0, value-r.last[i])) / seconds
		r.last[i] = value
	}
	r.next = (r.next + 1) % rateSamples
}

// perSecond is the mean of the samples.
func (r *rates) perSecond() (commands int64, inputBytes, outputBytes float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var sums [3]float64
	for _, sample := range r.samples {
		for i, value := range sample {
			sums[i] += value / rateSamples
		}
	}
	return int64(sums[0]), sums[1], sums[2]
}
