// This file owns the typed settings: what drivers, commands and the engine read
// on their hot paths instead of looking names up. It must not know directive
// names or texts; the table fills it.

package server

// A Durability says what has survived when a reply is sent.
type Durability uint8

const (
	// DurabilityEverySecond: at most one second of acknowledged changes is
	// lost, always a suffix of history.
	DurabilityEverySecond Durability = iota
	// DurabilityAlways: no reply leaves before its change is on disk.
	DurabilityAlways
	// DurabilityNo: written, and left to the system to make durable.
	DurabilityNo
	// DurabilityNone: a pure cache; nothing is written.
	DurabilityNone
)

func (d Durability) String() string {
	return [...]string{"everysec", "always", "no", "none"}[d]
}

// Settings is one consistent set of values. It is never changed once
// published: CONFIG SET publishes another.
type Settings struct {
	// Port is the TCP port, 0 for none. Bind lists addresses; one that begins
	// with '-' may be missing on this host.
	Port int
	Bind []string
	// TLSPort is the port for TLS, 0 for none.
	TLSPort int
	TLS     TLSSettings
	// UnixSocket is a path, "" for none, with permission bits (0: as umask has it).
	UnixSocket           string
	UnixSocketPermission int
	// TCPKeepAliveSeconds is 0 for none.
	TCPKeepAliveSeconds int
	MaxClients          int
	ProtectedMode       bool
	// RequirePass is "" when the default user needs no password. ACLFile keeps the
	// users; "" without one. ACLAllChannels: who is made may use all channels.
	RequirePass    string
	ACLFile        string
	ACLLogMax      int64
	ACLAllChannels bool
	// IdleTimeoutSeconds closes idle normal clients; 0 never.
	IdleTimeoutSeconds int64
	// BulkMaxBytes is proto-max-bulk-len, QueryBufferMaxBytes
	// client-query-buffer-limit.
	BulkMaxBytes        int
	QueryBufferMaxBytes int64
	OutputLimits        [classCount]OutputLimit
	// IOThreads is the number of event loops; 0 uses a goroutine per connection.
	IOThreads int

	// Daemonize to DebugCommand are the process's.
	Daemonize              bool
	Supervised             string
	PidFile                string
	LogFile                string
	LogLevel               string
	ShutdownTimeoutSeconds int64
	DebugCommand           string
	ProtectedConfigs       string
	// OOMScoreMode and OOMScore say how soon the kernel kills the process for
	// want of memory.
	OOMScoreMode string
	OOMScore     int
	// WatchdogMs is how long a driver may be at one batch before its stack is
	// logged, 0 for ever. CrashLog says whether a crash is reported in the log.
	WatchdogMs int64
	CrashLog   bool

	// Dir is the data directory. DBFileName is the snapshot in it. IgnoreRedisFiles
	// lets an empty store start beside that or the log of a Redis, AppendDirName or,
	// before version 7, AppendFileName.
	Dir            string
	DBFileName     string
	AppendDirName  string
	AppendFileName string
	// SnapshotSum says whether a snapshot has a checksum.
	SnapshotSum           bool
	SaveDelayMicroseconds int64 // for each key
	MemRDBRecords         bool  // memory records are in snapshots
	// Compressed says whether what goes to the disk as rows or in snapshots is
	// compressed.
	Compressed       bool
	IgnoreRedisFiles bool
	// Durability is that of plain keys, MemDurability that of profile and
	// semantic records.
	Durability     Durability
	MemDurability  Durability
	SavePoints     []SavePoint
	SaveGiven      bool // somebody gave SavePoints
	WriteTimeoutMs int64

	// MemOwnerSegments to MemMasterKeyCommand are MEM.*'s.
	MemOwnerSegments  int
	MemOwnerTag       bool
	MemIdempotencyMs  int64
	MemIdempotencyMax int64
	// MemEmbedderURL, with a model and a key, or MemEmbedderFile makes vectors.
	MemEmbedderURL, MemEmbedderModel, MemEmbedderKey string
	MemEmbedderFile                                  string
	// MemAuditFile is a path below Dir, "" for none, that gets every event as a line.
	MemAuditFile string
	// MemConsentRequired says that profile and semantic records need consent.
	MemConsentRequired bool
	// MemMasterKeyFile to MemMasterKeyCommand say where the key that wraps
	// owners' keys is: at most one of them does.
	MemMasterKeyFile    string
	MemMasterKeyEnv     string
	MemMasterKeyCommand string

	Databases      int
	MaxMemoryBytes uint64
	// MaxMemoryClients is maxmemory-clients in bytes; below 0, in percent of
	// MaxMemoryBytes.
	MaxMemoryClients int64
	MaxMemoryPolicy  string
	MaxMemorySamples int
	LFULogFactor     int
	LFUDecayMinutes  int
	// KeyspaceEvents is the set of event letters, 'A' spelt out.
	KeyspaceEvents  string
	TrackingKeysMax int64
	BusyReplyMs     int64

	// ReplicasWanted is how many replicas that lag at most ReplicasLagMax seconds writes
	// need; 0 of either is none.
	ReplicasWanted, ReplicasLagMax int64
	// SlowLogMicroseconds is -1 for never.
	SlowLogMicroseconds int64
	SlowLogMax          int64
	LatencyMonitorMs    int64
	LatencyTracking     bool
	LatencyPercentiles  []float64

	// The thresholds of compact encodings.
	HashListpackEntries    int64
	HashListpackValueBytes int64
	ListListpackSize       int64
	ListCompressDepth      int64
	SetIntsetEntries       int64
	ZsetListpackEntries    int64
	ZsetListpackValueBytes int64
	StreamNodeBytes        int64
	StreamNodeEntries      int64
	HLLSparseBytes         int64

	// appendOnly, appendSync and memSync are what the durabilities come from.
	appendOnly bool
	appendSync string
	memSync    string
}

// settle computes what depends on several directives.
//
// redis.conf must never lose data by surprise: `appendonly no` with save points,
// which is Redis's default and means "a snapshot now and then" there, keeps the
// journal, once a second. Only `appendonly no` without any save point asks for
// nothing to be kept.
func (s *Settings) settle() {
	switch {
	case s.appendOnly:
		s.Durability = durabilityOf(s.appendSync)
	case len(s.SavePoints) > 0:
		s.Durability = DurabilityEverySecond
	default:
		s.Durability = DurabilityNone
	}
	s.MemDurability = durabilityOf(s.memSync)
	if s.Durability == DurabilityNone {
		s.MemDurability = DurabilityNone
	}
}

func durabilityOf(name string) Durability {
	switch name {
	case "always":
		return DurabilityAlways
	case "no":
		return DurabilityNo
	}
	return DurabilityEverySecond
}
