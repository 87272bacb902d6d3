// This file owns what the command processor asks of the process around it:
// configuration, other connections, figures, the end. It must not know any
// command.

package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"math"
	"os"
	"runtime/metrics"
	"syscall"

	"reminis/commands"
	"reminis/engine/memory"
)

// Host gives core what it asks of the process: s's connections, config, and
// shutdown, which must make the process stop soon and return at once. Call it
// before Listen. Settings that the processor's limits come from are applied now
// and whenever they change.
func Host(s *Server, config *Config, core *commands.Core, shutdown func()) {
	core.Config = configHost{config}
	core.Clients = clientsHost{s}
	rates := newRates(s, &core.Stats().Commands)
	s.background.Go(rates.run)
	core.Process = &processHost{
		server: s, config: config, shutdown: shutdown, runID: newRunID(), startMs: s.now(), rates: rates,
	}
	core.Dial = dialRemote
	s.background.Go(func() { runSavePoints(config, core, s.done) })
	applyClients(config, s)
	applyObservation(config, &core.Observation)
	applyUsers(config, core)
	s.FollowConfig(config)
}

// newRunID is 40 random hexadecimal digits.
func newRunID() string {
	var random [20]byte
	_, _ = rand.Read(random[:]) // never fails, or the program ends
	return hex.EncodeToString(random[:])
}

// Limit keeps the processor's limits as the directives say. It comes before data is
// loaded, whose form they decide.
func Limit(config *Config, core *commands.Core) {
	limits := &core.Engine.Limits
	apply := func(next *Settings) error {
		limits.HashListpackEntries.Store(next.HashListpackEntries)
		limits.HashListpackValue.Store(next.HashListpackValueBytes)
		limits.SetIntsetEntries.Store(next.SetIntsetEntries)
		limits.SortedSetListpackEntries.Store(next.ZsetListpackEntries)
		limits.SortedSetListpackValue.Store(next.ZsetListpackValueBytes)
		limits.HLLSparse.Store(next.HLLSparseBytes)
		limits.ListNode.Store(next.ListListpackSize)
		limits.Uncompressed.Store(!next.Compressed)
		limits.StreamNodeEntries.Store(next.StreamNodeEntries)
		limits.StreamNodeBytes.Store(next.StreamNodeBytes)
		limits.StringMax.Store(int64(next.BulkMaxBytes))
		limits.MaxMemory.Store(int64(min(next.MaxMemoryBytes, math.MaxInt64)))
		limits.ConsentRequired.Store(next.MemConsentRequired)
		limits.SetEvents(next.KeyspaceEvents)
		limits.SetPolicy(next.MaxMemoryPolicy)
		limits.Samples.Store(int64(next.MaxMemorySamples))
		core.ReplicasWanted.Store(next.ReplicasWanted > 0 && next.ReplicasLagMax > 0)
		core.MakeRoom()
		core.LimitTracked(next.TrackingKeysMax)
		core.DelaySaves(next.SaveDelayMicroseconds)
		core.SaveRecords(next.MemRDBRecords)
		return nil
	}
	_ = apply(config.Settings())
	config.OnChange(apply,
		"hash-max-listpack-entries", "hash-max-listpack-value",
		"set-max-intset-entries", "hll-sparse-max-bytes",
		"list-max-listpack-size", "rdbcompression",
		"zset-max-listpack-entries", "zset-max-listpack-value",
		"stream-node-max-entries", "stream-node-max-bytes",
		"maxmemory", "maxmemory-policy", "maxmemory-samples",
		"proto-max-bulk-len", "mem-consent", "tracking-table-max-keys", "rdb-key-save-delay",
		"mem-rdb-records",
		"notify-keyspace-events",
		"min-replicas-to-write", "min-replicas-max-lag")
}

// applyClients keeps what clients may hold as the directives say.
func applyClients(config *Config, s *Server) {
	apply := func(next *Settings) error {
		s.LimitClients(next)
		return nil
	}
	_ = apply(config.Settings())
	config.OnChange(apply, "maxmemory-clients", "maxmemory")
}

// applyObservation keeps what is recorded as the directives say.
func applyObservation(config *Config, o *commands.Observation) {
	apply := func(next *Settings) error {
		o.SlowMicroseconds.Store(next.SlowLogMicroseconds)
		o.SlowMax.Store(next.SlowLogMax)
		o.LatencyMs.Store(next.LatencyMonitorMs)
		return nil
	}
	_ = apply(config.Settings())
	config.OnChange(apply, "slowlog-log-slower-than", "slowlog-max-len", "latency-monitor-threshold")
}

// configHost is the configuration as commands see it.
type configHost struct{ config *Config }

func (h configHost) Get(name string) string {
	text, _ := h.config.Text(name)
	return text
}

func (h configHost) Match(patterns []string, visit func(name, value string)) {
	match := func(pattern, name string) bool { return memory.Match([]byte(pattern), []byte(name), true) }
	for _, setting := range h.config.Get(patterns, match) {
		visit(setting.Name, setting.Value)
	}
}

func (h configHost) Set(pairs []string, local bool) error { return h.config.Set(pairs, local) }

func (h configHost) Late(name string) bool { return h.config.Late(name) }

func (h configHost) Sensitive(name string) bool { return h.config.Sensitive(name) }

func (h configHost) Rewrite(all bool) error { return h.config.Rewrite(all) }

// clientsHost is the registry as commands see it.
type clientsHost struct{ server *Server }

func (h clientsHost) Each(visit func(commands.Client) bool) {
	nowMs := h.server.now()
	for _, client := range h.server.Clients().List() {
		if !visit(clientHost{client, nowMs}) {
			return
		}
	}
}

func (h clientsHost) KeepReplyPeaks(ms int64) {
	switch ms {
	case commands.KeepForEver:
		ms = math.MaxInt64
	case commands.KeepDefault:
		ms = replyResetMs
	}
	h.server.replyTuning.resetMs.Store(ms)
}

func (h clientsHost) FitReplies(on bool) { h.server.replyTuning.fixed.Store(!on) }

// clientHost is one connection as the sessions of others see it.
type clientHost struct {
	client Client
	nowMs  int64
}

func (h clientHost) Row() commands.ClientRow {
	return commands.ClientRow{
		ID: h.client.ID(), RemoteAddr: h.client.RemoteAddr(), LocalAddr: h.client.LocalAddr(),
		User:  stringOr(h.client.Info().User.Load(), "default"),
		Class: clientClasses[h.client.Class()],
	}
}

// clientClasses are the processor's names of the classes.
var clientClasses = [classCount]commands.ClientClass{
	ClassNormal: commands.ClassNormal, ClassReplica: commands.ClassReplica, ClassPubSub: commands.ClassPubSub,
}

func (h clientHost) AppendLine(dst []byte) []byte { return h.client.AppendLine(dst, h.nowMs) }

func (h clientHost) Kill() { h.client.Conn().Kill() }

// processHost is the process as commands see it.
type processHost struct {
	server   *Server
	config   *Config
	shutdown func()
	runID    string
	startMs  int64
	rates    *rates
}

func (h *processHost) Log(text string) { h.server.log.Warn(text) }

func (h *processHost) LogAt(level int, text string) {
	levels := [...]slog.Level{slog.LevelDebug, LevelVerbose, slog.LevelInfo, slog.LevelWarn}
	h.server.log.Log(context.Background(), levels[level], text)
}

// Crash does not return where the signal ends the process.
func (h *processHost) Crash() {
	if err := crashSelf(syscall.SIGSEGV); err != nil {
		h.server.log.Error("crashing failed", "error", err)
		return
	}
	select {}
}

func (h *processHost) ResetFigures() { h.server.ResetStats() }

// Shutdown stops the process. What is acknowledged is durable or becomes so,
// whatever the request says about saving; there is no snapshot to write.
func (h *processHost) Shutdown(commands.ShutdownRequest) error {
	h.shutdown()
	return nil
}

func (h *processHost) Figures() commands.Figures {
	settings, stats := h.config.Settings(), h.server.Stats()
	user, system := processorMicroseconds()
	heap, idle := heapBytes()
	executable, _ := os.Executable()
	f := commands.Figures{
		ProcessID: os.Getpid(), RunID: h.runID, Port: settings.Port, StartMs: h.startMs,
		Executable: executable, ConfigFile: h.config.Path, Supervised: supervisor(settings.Supervised).String(),
		System: systemName(), Polling: "goroutines", Loops: len(h.server.loops),
		Connected: stats.Connected, Blocked: stats.Blocked, PubSub: stats.PubSub, MaxClients: settings.MaxClients,
		LongestInputBytes: stats.LongestInputBytes, LongestOutputBytes: stats.LongestOutputBytes, ClientBytes: stats.MemoryBytes,
		Accepted: stats.Accepted, Refused: stats.Rejected, InputBytes: stats.InputBytes, OutputBytes: stats.OutputBytes,
		Reads: stats.Reads, Writes: stats.Writes,
		ProtocolErrors: stats.ProtocolErrors, QueryLimited: stats.QueryLimit, OutputLimited: stats.OutputLimit, Evicted: stats.Evicted,
		ResidentBytes: residentBytes(), HeapBytes: heap, HeapIdleBytes: idle, SystemBytes: systemBytes(),
		UserMicroseconds: user, SystemMicroseconds: system, CollectorSeconds: collectorSeconds(),
	}
	if f.Loops > 0 {
		f.Polling = "epoll"
	}
	f.CommandsPerSecond, f.InputBytesPerSecond, f.OutputBytesPerSecond = h.rates.perSecond()
	return f
}

// heapBytes is what Go's memory holds, and what it keeps without using it.
func heapBytes() (used, idle int64) {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64()), int64(samples[1].Value.Uint64() + samples[2].Value.Uint64())
}

// collectorSeconds is what the garbage collector took of the processors.
func collectorSeconds() float64 {
	sample := [1]metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}}
	metrics.Read(sample[:])
	return sample[0].Value.Float64()
}
