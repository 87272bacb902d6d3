package commands

import (
	"strings"
	"testing"

	"reminis/commands/reply/redistest"
)

// This file holds INFO to what monitoring programs read of it, and to the fields
// that Redis has.

// infoReaders names fields of INFO by the program that reads them. Left out is what
// only other versions of Redis, forks of it, replicas and clusters have.
var infoReaders = map[string]string{
	"redis_exporter": `redis_version redis_build_id redis_mode os run_id tcp_port process_id uptime_in_seconds
		connected_clients blocked_clients tracking_clients pubsub_clients maxclients
		client_recent_max_output_buffer client_recent_max_input_buffer
		allocator_active allocator_allocated allocator_resident allocator_frag_ratio allocator_frag_bytes allocator_rss_ratio allocator_rss_bytes
		used_memory used_memory_rss used_memory_peak used_memory_lua used_memory_vm_eval used_memory_vm_functions used_memory_vm_total
		used_memory_functions used_memory_scripts used_memory_scripts_eval used_memory_overhead used_memory_startup used_memory_dataset
		number_of_cached_scripts number_of_functions number_of_libraries maxmemory maxmemory_policy total_system_memory
		mem_fragmentation_ratio mem_fragmentation_bytes mem_clients_slaves mem_clients_normal mem_cluster_links mem_aof_buffer
		mem_replication_backlog mem_total_replication_buffers mem_not_counted_for_evict rss_overhead_ratio rss_overhead_bytes
		expired_stale_perc lazyfree_pending_objects lazyfreed_objects active_defrag_running migrate_cached_sockets
		active_defrag_hits active_defrag_misses active_defrag_key_hits active_defrag_key_misses expired_time_cap_reached_count
		loading async_loading rdb_changes_since_last_save rdb_bgsave_in_progress rdb_last_save_time rdb_last_bgsave_status rdb_last_bgsave_time_sec
		rdb_current_bgsave_time_sec rdb_saves rdb_last_cow_size rdb_last_load_keys_expired rdb_last_load_keys_loaded
		aof_enabled aof_rewrite_in_progress aof_rewrite_scheduled aof_last_rewrite_time_sec aof_current_rewrite_time_sec aof_last_cow_size
		aof_current_size aof_base_size aof_pending_rewrite aof_buffer_length aof_pending_bio_fsync aof_delayed_fsync
		aof_last_bgrewrite_status aof_last_write_status module_fork_in_progress module_fork_last_cow_size
		current_eviction_exceeded_time pubsub_channels pubsub_patterns pubsubshard_channels latest_fork_usec tracking_total_keys tracking_total_items
		tracking_total_prefixes connected_slaves repl_backlog_size repl_backlog_active repl_backlog_first_byte_offset repl_backlog_histlen
		master_repl_offset second_repl_offset slave_expires_tracked_keys sync_full sync_partial_ok sync_partial_err cluster_enabled
		total_connections_received total_commands_processed rejected_connections total_net_input_bytes total_net_output_bytes
		total_net_repl_input_bytes total_net_repl_output_bytes expired_keys expire_cycle_cpu_milliseconds evicted_keys evicted_clients
		total_eviction_exceeded_time keyspace_hits keyspace_misses total_forks unexpected_error_replies total_error_replies
		dump_payload_sanitizations total_reads_processed total_writes_processed io_threaded_reads_processed io_threaded_writes_processed
		client_query_buffer_limit_disconnections client_output_buffer_limit_disconnections reply_buffer_shrinks reply_buffer_expands
		used_cpu_sys used_cpu_user used_cpu_sys_children used_cpu_user_children role`,
	"Datadog redisdb": `role redis_version total_commands_processed instantaneous_ops_per_sec aof_last_rewrite_time_sec aof_rewrite_in_progress
		aof_current_size aof_buffer_length connected_clients connected_slaves rejected_connections maxclients blocked_clients evicted_keys expired_keys
		latest_fork_usec pubsub_channels pubsub_patterns rdb_bgsave_in_progress rdb_changes_since_last_save rdb_last_bgsave_time_sec
		mem_fragmentation_ratio used_memory used_memory_lua used_memory_peak used_memory_rss used_memory_overhead used_memory_startup maxmemory
		active_defrag_running active_defrag_hits active_defrag_misses active_defrag_key_hits active_defrag_key_misses
		repl_backlog_histlen master_repl_offset used_cpu_sys used_cpu_sys_children used_cpu_user used_cpu_user_children keyspace_hits keyspace_misses`,
	"RedisInsight": `redis_version redis_mode server_name os arch_bits uptime_in_days uptime_in_seconds process_id connected_clients used_memory
		used_memory_human used_memory_peak total_commands_processed instantaneous_ops_per_sec instantaneous_input_kbps instantaneous_output_kbps
		keyspace_hits keyspace_misses used_cpu_sys used_cpu_user role connected_slaves cluster_enabled maxmemory_policy`,
}

func TestInfoHasWhatProgramsRead(t *testing.T) {
	_, client := newTestClient(t)
	client.say("SET", "k", "v")
	have := infoFields(client.say("INFO", "everything"))
	for reader, names := range infoReaders {
		for _, name := range strings.Fields(names) {
			if value, ok := have[name]; !ok || value == "" {
				t.Errorf("%s does not find %s", reader, name)
			}
		}
	}
	if have["db0"] == "" || have["db1"] != "" {
		t.Errorf("the lines of databases are %q and %q: only those with keys have one", have["db0"], have["db1"])
	}
}

// infoNotThere are fields of Redis 7.0 that are missing, and why.
var infoNotThere = map[string]string{
	"atomicvar_api":             "tells how Redis's C was compiled",
	"gcc_version":               "tells how Redis's C was compiled",
	"used_cpu_sys_main_thread":  "there is no main thread: several loops run commands, and change their threads",
	"used_cpu_user_main_thread": "there is no main thread: several loops run commands, and change their threads",
}

func TestInfoFieldsAsRedis(t *testing.T) {
	redis := redistest.Start(t)
	redis.Do("SET", "k", "v")
	_, client := newTestClient(t)
	client.say("SET", "k", "v")
	for _, section := range []string{"everything", "default", "server", "clients", "memory", "persistence", "stats", "replication", "cpu", "cluster", "keyspace"} {
		have := infoFields(client.say("INFO", section))
		for name := range infoFields(string(redis.Do("INFO", section))) {
			kind, _, _ := strings.Cut(name, "_")
			if _, ok := have[name]; !ok && infoNotThere[name] == "" && kind != "cmdstat" && kind != "errorstat" && kind != "latency" {
				t.Errorf("INFO %s has no %s", section, name)
			}
		}
	}
}

// infoFields are the fields of INFO's reply.
func infoFields(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && !strings.HasPrefix(line, "#") {
			fields[name] = value
		}
	}
	return fields
}

// TestConfigResetStat: what counts begins again at zero, what describes stays.
func TestConfigResetStat(t *testing.T) {
	server, client := newTestClient(t)
	for _, line := range []string{"SET k v", "GET k", "GET none", "NOSUCH", "SET short v PX 1", "UNLINK k", "INCR none", "HGET none f"} {
		client.say(strings.Fields(line)...)
	}
	server.core.rewriting.times.Store(2)
	server.core.rewriting.failures.Store(2)
	server.core.Engine.Stats().LazyFreed.Store(3)
	server.core.Engine.Stats().Evicted.Store(3)
	server.core.Engine.Stats().Expired.Store(3)
	before := infoFields(client.say("INFO", "everything"))
	client.say("CONFIG", "RESETSTAT")
	after := infoFields(client.say("INFO", "everything"))
	for _, name := range []string{
		"expired_keys", "evicted_keys", "keyspace_hits", "keyspace_misses", "total_error_replies", "aof_rewrites",
		"aof_rewrites_consecutive_failures", "lazyfreed_objects", "rdb_saves",
	} {
		if after[name] != "0" {
			t.Errorf("%s was %s and is %s", name, before[name], after[name])
		}
	}
	for name := range after {
		if strings.HasPrefix(name, "errorstat_") || strings.HasPrefix(name, "cmdstat_") && name != "cmdstat_config|resetstat" {
			t.Errorf("%s is left", name)
		}
	}
	for _, name := range []string{"db0", "redis_version", "used_memory_peak"} {
		if after[name] == "" {
			t.Errorf("%s is gone", name)
		}
	}
}
