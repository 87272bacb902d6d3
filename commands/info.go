package commands

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns INFO: which sections there are and the names of their fields,
// which monitoring programs read. It must not know where figures come from.

// RedisVersion is the version of Redis whose behaviour this server has.
const RedisVersion = "7.0.15"

// redisVersionNumber is RedisVersion as one number, a byte for each part.
const redisVersionNumber = 7<<16 | 0<<8 | 15

// Version is this server's own version.
const Version = "0.1.0"

type infoParams struct{ sections [][]byte }

func infoCommand() *Command {
	return onSession(Declaration{
		Name: "info", Family: Server, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Get information and statistics about the server", Categories: []string{"dangerous"},
		Flags: Loading | Stale, Lock: LockAll,
		Tips:    []string{nondeterministicOutput, "request_policy:all_shards", "response_policy:special"},
		History: []Change{{"7.0.0", "Added support for taking multiple section arguments."}},
		Reply:   reply.Verbatim(),
	}, grammar.Compile[infoParams](
		grammar.Opt(grammar.Rest("section", func(p *infoParams) *[][]byte { return &p.sections })),
	), func(s *Session, p *infoParams, w *reply.Writer) error {
		// Figures are taken shard by shard; inside EXEC all shards are held.
		return s.within(func(*engine.Tx) {}, func(tx *engine.Tx) error {
			w.Verbatim("txt", s.Core.info(tx, p.sections))
			return nil
		})
	})
}

// infoSection is one section of INFO.
type infoSection struct {
	name, title string
	// extra sections are only in "all"; the others are the default.
	extra bool
	write func(k *Core, out *infoWriter)
}

// infoSections are in the order in which INFO prints them.
func infoSections() []infoSection {
	return []infoSection{
		{name: "server", title: "Server", write: infoServer},
		{name: "clients", title: "Clients", write: infoClients},
		{name: "memory", title: "Memory", write: infoMemory},
		{name: "persistence", title: "Persistence", write: infoPersistence},
		{name: "stats", title: "Stats", write: infoStats},
		{name: "replication", title: "Replication", write: infoReplication},
		{name: "cpu", title: "CPU", write: infoCPU},
		{name: "modules", title: "Modules", write: func(*Core, *infoWriter) {}},
		{name: "memory_records", title: "Memory_records", write: infoRecords},
		{name: "commandstats", title: "Commandstats", extra: true, write: infoCommandStats},
		{name: "errorstats", title: "Errorstats", write: infoErrorStats},
		{name: "latencystats", title: "Latencystats", extra: true, write: infoLatencyStats},
		{name: "cluster", title: "Cluster", write: func(_ *Core, out *infoWriter) { out.number("cluster_enabled", 0) }},
		{name: "keyspace", title: "Keyspace", write: infoKeyspace},
	}
}

// info is INFO's text for the sections that words name.
func (k *Core) info(tx *engine.Tx, words [][]byte) string {
	all, byDefault := false, len(words) == 0
	named := make([]string, len(words))
	for i, word := range words {
		named[i] = strings.ToLower(string(upToNul(word)))
		all = all || named[i] == "all" || named[i] == "everything"
		byDefault = byDefault || named[i] == "default"
	}
	out := &infoWriter{tx: tx, figures: k.Process.Figures()}
	for _, section := range infoSections() {
		// Redis lists the modules' section under a name of its own, too.
		wanted := all || byDefault && !section.extra || slices.Contains(named, section.name) ||
			section.name == "modules" && slices.Contains(named, "module_list")
		if !wanted {
			continue
		}
		if out.text.Len() > 0 {
			out.text.WriteString("\r\n")
		}
		out.text.WriteString("# " + section.title + "\r\n")
		section.write(k, out)
	}
	return out.text.String()
}

// infoWriter collects the lines of INFO.
type infoWriter struct {
	text    strings.Builder
	tx      *engine.Tx
	figures Figures
}

func (o *infoWriter) field(name, format string, values ...any) {
	o.text.WriteString(name)
	o.text.WriteByte(':')
	fmt.Fprintf(&o.text, format, values...)
	o.text.WriteString("\r\n")
}

func (o *infoWriter) string(name, value string) { o.field(name, "%s", value) }

func (o *infoWriter) number(name string, value int64) { o.field(name, "%d", value) }

// zeros are fields of what does not exist here, which programs read all the same.
func (o *infoWriter) zeros(names ...string) {
	for _, name := range names {
		o.number(name, 0)
	}
}

// size is a number of bytes, also in a form for people.
func (o *infoWriter) size(name string, value int64) {
	o.number(name, value)
	o.string(name+"_human", humanBytes(value))
}

func (o *infoWriter) ratio(name string, part, whole int64) {
	if whole == 0 {
		part, whole = 1, 1
	}
	o.field(name, "%.2f", float64(part)/float64(whole))
}

// humanBytes is server.c's bytesToHuman.
func humanBytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%dB", n)
	}
	value, unit := float64(n)/1024, 0
	for value >= 1024 && unit < len("KMGTP")-1 {
		value, unit = value/1024, unit+1
	}
	return fmt.Sprintf("%.2f%c", value, "KMGTP"[unit])
}

func infoServer(k *Core, out *infoWriter) {
	f := &out.figures
	nowMs := k.Engine.NowMs()
	uptime := max(0, nowMs-f.StartMs) / 1000
	out.string("redis_version", RedisVersion)
	out.string("server_name", "reminis")
	out.string("reminis_version", Version)
	out.string("redis_git_sha1", "00000000")
	out.number("redis_git_dirty", 0)
	out.string("redis_build_id", "0")
	out.string("redis_mode", "standalone")
	out.string("os", f.System)
	out.number("arch_bits", 64)
	out.string("monotonic_clock", "POSIX clock_gettime")
	out.string("multiplexing_api", f.Polling)
	out.number("process_id", int64(f.ProcessID))
	out.string("process_supervised", f.Supervised)
	out.string("run_id", f.RunID)
	out.number("tcp_port", int64(f.Port))
	out.number("server_time_usec", nowMs*1000)
	out.number("uptime_in_seconds", uptime)
	out.number("uptime_in_days", uptime/86400)
	out.string("hz", k.Config.Get("hz"))
	out.string("configured_hz", k.Config.Get("hz"))
	out.number("lru_clock", nowMs/1000&(1<<24-1))
	out.string("executable", f.Executable)
	out.string("config_file", f.ConfigFile)
	out.number("io_threads_active", int64(max(0, f.Loops-1)))
}

func infoClients(k *Core, out *infoWriter) {
	f := &out.figures
	out.number("connected_clients", int64(f.Connected))
	out.zeros("cluster_connections")
	out.number("maxclients", int64(f.MaxClients))
	out.number("client_recent_max_input_buffer", f.LongestInputBytes)
	out.number("client_recent_max_output_buffer", f.LongestOutputBytes)
	out.number("blocked_clients", int64(f.Blocked))
	out.number("tracking_clients", k.tracker.clients.Load())
	out.number("pubsub_clients", int64(f.PubSub))
	out.zeros("clients_in_timeout_table")
}

// infoMemory: the data is in mapped blocks and the rest in Go's heap; both
// together are what Redis calls used memory.
func infoMemory(k *Core, out *infoWriter) {
	f := &out.figures
	m := k.memoryFigures(f)
	used, peak, overhead, active := m.used, m.peak, m.overhead, m.active
	out.size("used_memory", used)
	out.size("used_memory_rss", f.ResidentBytes)
	out.size("used_memory_peak", peak)
	out.field("used_memory_peak_perc", "%.2f%%", 100*float64(used)/float64(max(1, peak)))
	out.number("used_memory_overhead", overhead)
	out.number("used_memory_startup", 0)
	out.number("used_memory_dataset", used-overhead)
	out.field("used_memory_dataset_perc", "%.2f%%", 100*float64(used-overhead)/float64(max(1, used)))
	out.number("allocator_allocated", used)
	out.number("allocator_active", active)
	out.number("allocator_resident", f.ResidentBytes)
	out.size("total_system_memory", f.SystemBytes)
	out.zeros("used_memory_lua", "used_memory_vm_eval")
	out.string("used_memory_lua_human", humanBytes(0))
	scripts, scriptBytes := k.scripts.count()
	functions := newFunctionSet()
	if !k.loading.active.Load() { // they would be kept as they are now
		functions = k.functionSet()
	}
	out.number("used_memory_scripts_eval", scriptBytes)
	out.number("number_of_cached_scripts", scripts)
	out.number("number_of_functions", int64(len(functions.functions)))
	out.number("number_of_libraries", int64(len(functions.libraries)))
	out.zeros("used_memory_vm_functions")
	out.size("used_memory_vm_total", 0)
	out.number("used_memory_functions", functions.sizeBytes())
	out.size("used_memory_scripts", scriptBytes+functions.sizeBytes())
	limit, _ := grammar.ParseInt([]byte(k.Config.Get("maxmemory")))
	out.size("maxmemory", limit)
	out.string("maxmemory_policy", k.Config.Get("maxmemory-policy"))
	out.ratio("allocator_frag_ratio", active, used)
	out.number("allocator_frag_bytes", active-used)
	out.ratio("allocator_rss_ratio", f.ResidentBytes, active)
	out.number("allocator_rss_bytes", f.ResidentBytes-active)
	out.ratio("rss_overhead_ratio", 1, 1)
	out.zeros("rss_overhead_bytes")
	out.ratio("mem_fragmentation_ratio", f.ResidentBytes, used)
	out.number("mem_fragmentation_bytes", f.ResidentBytes-used)
	out.zeros("mem_not_counted_for_evict", "mem_replication_backlog", "mem_total_replication_buffers", "mem_clients_slaves")
	out.number("mem_clients_normal", f.ClientBytes)
	out.zeros("mem_cluster_links")
	out.number("mem_aof_buffer", m.pendingBytes)
	out.string("mem_allocator", "reminis")
	out.zeros("active_defrag_running", "lazyfree_pending_objects")
	out.number("lazyfreed_objects", k.Engine.Stats().LazyFreed.Load())
}

// storeFigures are those of the store, or of none.
func (k *Core) storeFigures() StoreFigures {
	if k.Store == nil {
		return StoreFigures{}
	}
	return k.Store.Figures()
}

// infoPersistence tells of snapshots, and of the journal and checkpoints under
// Redis's names for its log, then under its own.
func infoPersistence(k *Core, out *infoWriter) {
	f := k.storeFigures()
	status := "ok"
	if f.Failed {
		status = "err"
	}
	out.number("loading", boolInt(k.loading.active.Load()))
	out.zeros("async_loading", "current_cow_peak", "current_cow_size", "current_cow_size_age")
	infoSnapshots(k, out)
	out.number("aof_enabled", boolInt(k.Store != nil))
	out.number("aof_rewrite_in_progress", boolInt(k.rewriting.running.Load() && !k.rewriting.scheduled.Load()))
	out.number("aof_rewrite_scheduled", boolInt(k.rewriting.scheduled.Load()))
	out.number("aof_last_rewrite_time_sec", -1)
	out.number("aof_current_rewrite_time_sec", -1)
	rewrite := "ok"
	if k.rewriting.failed.Load() {
		rewrite = "err"
	}
	out.string("aof_last_bgrewrite_status", rewrite)
	out.number("aof_rewrites", k.rewriting.times.Load())
	out.number("aof_rewrites_consecutive_failures", k.rewriting.failures.Load())
	out.string("aof_last_write_status", status)
	out.zeros("aof_last_cow_size", "module_fork_in_progress", "module_fork_last_cow_size")
	defer infoLoading(k, out)
	if k.Store == nil {
		return
	}
	out.number("aof_current_size", f.JournalBytes)
	out.zeros("aof_base_size", "aof_pending_rewrite")
	out.number("aof_buffer_length", f.PendingBytes)
	out.zeros("aof_pending_bio_fsync", "aof_delayed_fsync")
	out.string("store_durability", f.Durability)
	out.number("store_appended_seq", int64(f.AppendedSeq))
	out.number("store_durable_seq", int64(f.DurableSeq))
	out.number("store_checkpoint_seq", int64(f.CheckpointSeq))
	out.number("store_journal_segments", int64(f.Segments))
	out.number("store_journal_syncs", int64(f.Syncs))
	out.number("store_rows_bytes", f.RowBytes)
	out.string("store_last_error", f.LastError)
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func infoStats(k *Core, out *infoWriter) {
	f, data := &out.figures, k.Engine.Stats()
	out.number("total_connections_received", f.Accepted)
	out.number("total_commands_processed", k.stats.Commands.Load())
	out.number("instantaneous_ops_per_sec", f.CommandsPerSecond)
	out.number("total_net_input_bytes", f.InputBytes)
	out.number("total_net_output_bytes", f.OutputBytes)
	out.zeros("total_net_repl_input_bytes", "total_net_repl_output_bytes")
	out.field("instantaneous_input_kbps", "%.2f", f.InputBytesPerSecond/1024)
	out.field("instantaneous_output_kbps", "%.2f", f.OutputBytesPerSecond/1024)
	out.field("instantaneous_input_repl_kbps", "%.2f", 0.0)
	out.field("instantaneous_output_repl_kbps", "%.2f", 0.0)
	out.number("rejected_connections", f.Refused)
	out.zeros("sync_full", "sync_partial_ok", "sync_partial_err")
	out.number("expired_keys", data.Expired.Load())
	out.field("expired_stale_perc", "%.2f", 0.0)
	out.zeros("expired_time_cap_reached_count", "expire_cycle_cpu_milliseconds")
	out.number("evicted_keys", k.Engine.Stats().Evicted.Load())
	out.number("evicted_clients", f.Evicted)
	out.zeros("total_eviction_exceeded_time", "current_eviction_exceeded_time")
	out.number("keyspace_hits", data.Hits.Load())
	out.number("keyspace_misses", data.Misses.Load())
	out.number("pubsub_channels", k.registry.counts[toChannel].Load())
	out.number("pubsub_patterns", k.registry.counts[toPattern].Load())
	out.number("pubsubshard_channels", k.registry.counts[toShardChannel].Load())
	out.zeros("latest_fork_usec", "total_forks",
		"migrate_cached_sockets", "slave_expires_tracked_keys", "active_defrag_hits", "active_defrag_misses",
		"active_defrag_key_hits", "active_defrag_key_misses", "total_active_defrag_time", "current_active_defrag_time",
		"unexpected_error_replies")
	keys, items, prefixes := k.tracker.figures()
	out.number("tracking_total_keys", int64(keys))
	out.number("tracking_total_items", int64(items))
	out.number("tracking_total_prefixes", int64(prefixes))
	out.number("total_error_replies", k.stats.Errors.Load())
	out.zeros("dump_payload_sanitizations")
	out.number("total_reads_processed", f.Reads)
	out.number("total_writes_processed", f.Writes)
	out.zeros("io_threaded_reads_processed", "io_threaded_writes_processed", "reply_buffer_shrinks", "reply_buffer_expands")
	out.number("client_query_buffer_limit_disconnections", f.QueryLimited)
	out.number("client_output_buffer_limit_disconnections", f.OutputLimited)
	out.number("protocol_errors", f.ProtocolErrors)
}

// infoReplication: there are no replicas; the ids are those of a primary that
// never had one.
func infoReplication(_ *Core, out *infoWriter) {
	out.string("role", "master")
	out.zeros("connected_slaves")
	out.string("master_failover_state", "no-failover")
	out.string("master_replid", out.figures.RunID)
	out.string("master_replid2", strings.Repeat("0", 40))
	out.zeros("master_repl_offset")
	out.number("second_repl_offset", -1)
	out.zeros("repl_backlog_active")
	out.number("repl_backlog_size", 1<<20)
	out.zeros("repl_backlog_first_byte_offset", "repl_backlog_histlen")
}

func infoCPU(_ *Core, out *infoWriter) {
	f := &out.figures
	seconds := func(name string, microseconds int64) {
		out.field(name, "%d.%06d", microseconds/1e6, microseconds%1e6)
	}
	seconds("used_cpu_sys", f.SystemMicroseconds)
	seconds("used_cpu_user", f.UserMicroseconds)
	seconds("used_cpu_sys_children", 0)
	seconds("used_cpu_user_children", 0)
	out.field("gc_cpu_seconds", "%.6f", f.CollectorSeconds)
}

func infoCommandStats(k *Core, out *infoWriter) {
	k.Table.each(func(c *Command) {
		calls, rejected, failed := c.stats.latency.count(), c.stats.rejected.Load(), c.stats.failed.Load()
		if calls == 0 && rejected == 0 && failed == 0 {
			return
		}
		microseconds := c.stats.ns.Load() / 1000
		out.field("cmdstat_"+c.FullName(), "calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
			calls, microseconds, float64(microseconds)/float64(max(1, calls)), rejected, failed)
	})
}

func infoErrorStats(k *Core, out *infoWriter) {
	for _, code := range k.stats.errors.all() {
		out.field("errorstat_"+code.name, "count=%d", code.count)
	}
}

// infoLatencyStats: the percentiles are the ends of buckets, so up to a quarter
// too high.
func infoLatencyStats(k *Core, out *infoWriter) {
	percentiles := strings.Fields(k.Config.Get("latency-tracking-info-percentiles"))
	if k.Config.Get("latency-tracking") == "no" || len(percentiles) == 0 {
		return
	}
	k.Table.each(func(c *Command) {
		if c.stats.latency.count() == 0 {
			return
		}
		var parts []string
		for _, word := range percentiles {
			percent, _ := strconv.ParseFloat(word, 64)
			parts = append(parts, fmt.Sprintf("p%s=%.3f", word, float64(c.stats.latency.percentile(percent))/1000))
		}
		out.string("latency_percentiles_usec_"+c.FullName(), strings.Join(parts, ","))
	})
}

func infoKeyspace(_ *Core, out *infoWriter) {
	tx := out.tx
	own := tx.DB
	for tx.DB = 0; tx.DB < tx.Databases(); tx.DB++ {
		if keys, withDeadline, meanTTLMs := tx.Keyspace(); keys > 0 {
			out.field(fmt.Sprintf("db%d", tx.DB), "keys=%d,expires=%d,avg_ttl=%d", keys, withDeadline, meanTTLMs)
		}
	}
	tx.DB = own
}

// nondeterministicOutput is the tip that a reply depends on more than the data.
const nondeterministicOutput = "nondeterministic_output"
