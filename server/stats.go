// This file owns the counters behind INFO's clients and stats sections. It must
// not know INFO's names.

package server

import "sync/atomic"

// counters are changed by drivers, once per pass rather than per command where
// that is possible.
type counters struct {
	accepted, rejected      atomic.Int64
	inputBytes, outputBytes atomic.Int64
	reads, writes, commands atomic.Int64
	protocolErrors          atomic.Int64
	queryLimit, outputLimit atomic.Int64
	gateErrorMs             atomic.Int64
}

// Stats is a snapshot of the network side's counters.
type Stats struct {
	// Connected is open connections, Blocked those in a blocking command,
	// PubSub those with the pub/sub flag.
	Connected, Blocked, PubSub int
	// Accepted and Rejected count connections since the start (or reset).
	Accepted, Rejected int64
	// InputBytes and OutputBytes count what sockets carried; Reads and Writes
	// the system calls; Commands what was executed, parked commands included.
	InputBytes, OutputBytes int64
	Reads, Writes, Commands int64
	// ProtocolErrors counts requests that were none, QueryLimit and OutputLimit
	// the clients closed by client-query-buffer-limit and
	// client-output-buffer-limit.
	ProtocolErrors, QueryLimit, OutputLimit int64
	// LongestInputBytes and LongestOutputBytes are the largest buffers now.
	LongestInputBytes, LongestOutputBytes int64
	// Evicted counts the clients closed by maxmemory-clients.
	Evicted int64
	// MemoryBytes is what clients hold now.
	MemoryBytes int64
}

// overQueryLimit notes that a session is closed for what it has sent.
func (s *Server) overQueryLimit(of *session) {
	s.stats.queryLimit.Add(1)
	s.log.Warn("closing a client over its query buffer limit", "id", of.id, "addr", of.remote)
}

// overOutputLimit notes that a session is closed for what it does not read: once,
// although a pusher and its driver may both find out.
func (s *Server) overOutputLimit(of *session) {
	if of.limited.Swap(true) {
		return
	}
	s.stats.outputLimit.Add(1)
	s.log.Warn("closing a client over its output limit", "id", of.id, "addr", of.remote)
}

// Stats reads the counters and looks at every session once.
func (s *Server) Stats() Stats {
	c := &s.stats
	stats := Stats{
		Accepted: c.accepted.Load(), Rejected: c.rejected.Load(),
		InputBytes: c.inputBytes.Load(), OutputBytes: c.outputBytes.Load(),
		Reads: c.reads.Load(), Writes: c.writes.Load(), Commands: c.commands.Load(),
		ProtocolErrors: c.protocolErrors.Load(),
		QueryLimit:     c.queryLimit.Load(), OutputLimit: c.outputLimit.Load(),
		Evicted: s.ledger.evicted.Load(),
	}
	clients := s.clients.List()
	stats.Connected = len(clients)
	for _, client := range clients {
		i := client.Info()
		flags := i.Flags.Load()
		if flags&FlagBlocked != 0 {
			stats.Blocked++
		}
		if flags&FlagPubSub != 0 {
			stats.PubSub++
		}
		stats.LongestInputBytes = max(stats.LongestInputBytes, i.queryBytes.Load()+i.parsedBytes.Load())
		stats.LongestOutputBytes = max(stats.LongestOutputBytes, i.outputBytes.Load())
		stats.MemoryBytes += i.holdings.bytes()
	}
	return stats
}

// ResetStats is CONFIG RESETSTAT's part here.
func (s *Server) ResetStats() {
	c := &s.stats
	for _, counter := range []*atomic.Int64{
		&c.accepted, &c.rejected, &c.inputBytes, &c.outputBytes, &c.reads, &c.writes,
		&c.commands, &c.protocolErrors, &c.queryLimit, &c.outputLimit, &s.ledger.evicted,
	} {
		counter.Store(0)
	}
}
