package commands

import (
	"runtime/debug"
	"strconv"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns what MEMORY tells of the process: STATS, DOCTOR, MALLOC-STATS and
// PURGE. The figures are those of INFO memory, under Redis's other names.

func memoryStatsCommand() *Command {
	return onSession(Declaration{
		Name: "stats", Since: "4.0.0", Complexity: "O(1)", Summary: "Show memory usage details",
		Tips:  []string{nondeterministicOutput, "request_policy:all_shards", "response_policy:special"},
		Reply: reply.MapOf(reply.Bulk(), reply.Any()),
	}, grammar.Compile[noParams](), runMemoryStats)
}

// memoryFigures are what INFO memory and MEMORY have in common.
type memoryFigures struct {
	used, peak, overhead, active, resident int64
	clientBytes, pendingBytes              int64
}

func (k *Core) memoryFigures(f *Figures) memoryFigures {
	pool := k.Engine.Pool().Stats()
	m := memoryFigures{
		used: k.Engine.UsedBytes(), resident: f.ResidentBytes,
		active:      pool.UsedBytes + pool.KeptBytes + f.HeapBytes + f.HeapIdleBytes,
		clientBytes: f.ClientBytes, pendingBytes: k.storeFigures().PendingBytes,
	}
	m.peak = k.stats.notePeak(m.used)
	m.overhead = m.used - (pool.UsedBytes - pool.IdleBytes)
	return m
}

func runMemoryStats(s *Session, _ *noParams, w *reply.Writer) error {
	figures := s.Core.Process.Figures()
	m := s.Core.memoryFigures(&figures)
	keys := int64(0)
	sizes := make([]int, s.Core.Engine.Databases())
	err := s.within(func(*engine.Tx) {}, func(tx *engine.Tx) error {
		own := tx.DB
		defer func() { tx.DB = own }()
		for tx.DB = range sizes {
			sizes[tx.DB] = tx.Size()
			keys += int64(sizes[tx.DB])
		}
		return nil
	})
	if err != nil {
		return err
	}
	out := w.DeferMap(32)
	fields := 0
	number := func(name string, value int64) {
		fields++
		w.BulkString(name)
		w.Int(value)
	}
	ratio := func(name string, part, of int64) {
		fields++
		w.BulkString(name)
		w.Double(float64(part) / float64(max(1, of)))
	}
	number("peak.allocated", m.peak)
	number("total.allocated", m.used)
	number("startup.allocated", 0)
	number("replication.backlog", 0)
	number("clients.slaves", 0)
	number("clients.normal", m.clientBytes)
	number("cluster.links", 0)
	number("aof.buffer", m.pendingBytes)
	number("lua.caches", 0)
	number("functions.caches", 0)
	for db, size := range sizes {
		if size > 0 {
			fields++
			w.BulkString("db." + strconv.Itoa(db))
			w.Map(3)
			for _, name := range []string{"overhead.hashtable.main", "overhead.hashtable.expires", "overhead.hashtable.slot-to-keys"} {
				w.BulkString(name)
				w.Int(0) // keys and what finds them are one
			}
		}
	}
	dataset := m.used - m.overhead
	number("overhead.total", m.overhead)
	number("keys.count", keys)
	number("keys.bytes-per-key", dataset/max(1, keys))
	number("dataset.bytes", dataset)
	ratio("dataset.percentage", 100*dataset, m.used)
	ratio("peak.percentage", 100*m.used, m.peak)
	number("allocator.allocated", m.used)
	number("allocator.active", m.active)
	number("allocator.resident", m.resident)
	ratio("allocator-fragmentation.ratio", m.active, m.used)
	number("allocator-fragmentation.bytes", m.active-m.used)
	ratio("allocator-rss.ratio", m.resident, m.active)
	number("allocator-rss.bytes", m.resident-m.active)
	ratio("rss-overhead.ratio", 1, 1)
	number("rss-overhead.bytes", 0)
	ratio("fragmentation", m.resident, m.used)
	number("fragmentation.bytes", m.resident-m.used)
	w.Close(out, fields)
	return nil
}

func memoryDoctorCommand() *Command {
	return onSession(Declaration{
		Name: "doctor", Since: "4.0.0", Complexity: "O(1)", Summary: "Outputs memory problems report",
		Tips:  []string{nondeterministicOutput, "request_policy:all_shards", "response_policy:special"},
		Reply: reply.Verbatim(),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		figures := s.Core.Process.Figures()
		m := s.Core.memoryFigures(&figures)
		w.Verbatim("txt", m.diagnosis())
		return nil
	})
}

const (
	// doctorLeastBytes is how much must be in use for ratios to mean anything
	// (object.c getMemoryDoctorReport).
	doctorLeastBytes = 5 << 20
	// doctorPeak, doctorResident and doctorClients are from where on there is
	// something to say.
	doctorPeakPercent     = 150
	doctorResidentPercent = 200
	doctorClientBytes     = 200 << 10
)

// diagnosis says in words what the figures mean.
func (m *memoryFigures) diagnosis() string {
	if m.used < doctorLeastBytes {
		return "There is little data in memory: its figures mean nothing yet.\n"
	}
	text := ""
	if 100*m.peak > doctorPeakPercent*m.used {
		text += " * Peak memory: the most that was used is more than one and a half times what is used now. Memory that was freed goes back to the system, but may be counted as resident for a while.\n"
	}
	if 100*m.resident > doctorResidentPercent*m.used {
		text += " * Resident memory: more than twice of what the data takes is resident. A garbage collection or a checkpoint may be under way, or much was deleted just now; MEMORY PURGE gives back what is free.\n"
	}
	if m.clientBytes > doctorClientBytes*max(1, m.used/doctorLeastBytes/20) {
		text += " * Client buffers: clients hold much memory with what they have not sent or not read. CLIENT LIST shows which (qbuf, omem); client-output-buffer-limit bounds them.\n"
	}
	if text == "" {
		return "No problem was found with the use of memory.\n"
	}
	return "The use of memory has these peculiarities:\n\n" + text
}

func memoryMallocStatsCommand() *Command {
	return onSession(Declaration{
		Name: "malloc-stats", Since: "4.0.0", Complexity: "Depends on how much memory is allocated, could be slow",
		Summary: "Show allocator internal stats",
		Tips:    []string{nondeterministicOutput, "request_policy:all_shards", "response_policy:special"},
		Reply:   reply.Verbatim(),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		pool, figures := s.Core.Engine.Pool().Stats(), s.Core.Process.Figures()
		var text []byte
		for _, line := range []struct {
			name  string
			bytes int64
		}{
			{"tables: reserved address space", pool.MappedBytes}, {"tables: in use", pool.UsedBytes},
			{"tables: of these, not filled or dead", pool.IdleBytes}, {"tables: kept for the next", pool.KeptBytes},
			{"heap: objects", figures.HeapBytes}, {"heap: idle", figures.HeapIdleBytes}, {"resident", figures.ResidentBytes},
		} {
			text = append(append(append(text, line.name...), ": "...), strconv.FormatInt(line.bytes, 10)...)
			text = append(text, " bytes\n"...)
		}
		w.Verbatim("txt", string(text))
		return nil
	})
}

func memoryPurgeCommand() *Command {
	return onSession(Declaration{
		Name: "purge", Since: "4.0.0", Complexity: "Depends on how much memory is allocated, could be slow",
		Summary: "Ask the allocator to release memory",
		Tips:    []string{"request_policy:all_shards", "response_policy:all_succeeded"},
		Reply:   reply.OK(),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		if s.tx != nil {
			// EXEC holds locks: what is collected later goes back by itself.
			w.OK()
			return nil
		}
		s.aside("", func(string) error {
			debug.FreeOSMemory()
			return nil
		})
		return nil
	})
}
