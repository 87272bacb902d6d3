package commands

// This file owns INFO's section on memory records. Figures of records themselves
// are MEM.STATS's: they take a walk over all owners.

// RecordHost is what the process around the engine knows of records.
type RecordHost struct {
	// AuditFileDropped are the events that the audit file lacks, AuditFileErrors
	// how often it failed.
	AuditFileDropped, AuditFileErrors int64
	// AuditFileUnerased are the erasures that the audit file still lacks.
	AuditFileUnerased int64
	// EmbedWaiting are the records that wait for a vector, EmbedMissed those that
	// were refused a place in the queue for it.
	EmbedWaiting, EmbedMissed int64
}

// infoRecords: rates are of what was asked since the start, 1 when nothing was.
// The percentiles are the ends of buckets, so up to a quarter too high.
func infoRecords(k *Core, out *infoWriter) {
	owners, uses := k.Engine.Owners(), k.Engine.RecordUses()
	out.number("memory_owners", int64(owners))
	out.number("memory_writes_attempted", uses.Writes)
	out.number("memory_writes_committed", uses.Committed)
	out.ratio("memory_write_success_rate", uses.Committed, uses.Writes)
	out.number("memory_reads", uses.Reads)
	out.number("memory_read_hits", uses.Hits)
	out.ratio("memory_hit_rate", uses.Hits, uses.Reads)
	out.number("memory_recalls", uses.Recalls)
	out.number("memory_recall_hits", uses.RecallHits)
	out.ratio("memory_recall_rate", uses.RecallHits, uses.Recalls)
	var latency histogram
	took := int64(0)
	k.Table.each(func(c *Command) {
		if c.is(Recalls) {
			latency.join(&c.stats.latency)
			took += c.stats.ns.Load()
		}
	})
	out.number("memory_recall_calls", latency.count())
	out.number("memory_recall_usec", took/1000)
	out.number("memory_recall_p50_usec", latency.percentile(50)/1000)
	out.number("memory_recall_p99_usec", latency.percentile(99)/1000)
	host := RecordHost{}
	if k.Records != nil {
		host = k.Records()
	}
	out.number("memory_waiting_index_owners", int64(k.Engine.OwnersToIndex()))
	out.number("memory_waiting_embedder", host.EmbedWaiting)
	out.number("memory_embedder_missed", host.EmbedMissed)
	out.number("memory_denied", uses.Denied)
	out.number("memory_erased", uses.Erased)
	out.number("memory_left_out_at_start", k.Engine.Stats().Destroyed.Load())
	out.number("memory_audit_waiting", int64(k.Engine.ReadsWaiting()))
	out.number("memory_audit_dropped", uses.Unaudited)
	out.number("memory_audit_file_dropped", host.AuditFileDropped)
	out.number("memory_audit_file_errors", host.AuditFileErrors)
	out.number("memory_audit_file_unerased", host.AuditFileUnerased)
}
