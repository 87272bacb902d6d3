package persistence

import "time"

// This file owns what can be set about a store.

// Durability says when a batch is fsynced without being asked for.
type Durability uint8

const (
	// Everysec syncs once a second, when something is not synced.
	Everysec Durability = iota
	// Always expects the caller to Sync before it replies.
	Always
	// Never leaves it to the operating system, but for one fsync per
	// PendingBytes/2, so that what a failing disk loses can be written again,
	// and before a checkpoint and at Close.
	Never
)

// Options are the settings of a store. The zero value is the default.
type Options struct {
	Durability Durability
	// SegmentBytes is the size of a journal segment; 64 MB. Two of them are
	// reserved on the disk at all times.
	SegmentBytes int64
	// CheckpointBytes is how much journal makes a checkpoint; 256 MB. Recovery
	// replays about so much at most; three quarters as much memory, and that of a
	// segment, is used meanwhile.
	CheckpointBytes int64
	// PendingBytes is how much may wait for the disk before Ready returns
	// ErrLagging; 64 MB.
	PendingBytes int64
	// CacheBytes is the memory for blocks of rows; 32 MB.
	CacheBytes int64
	// Uncompressed has tables written as they are; SetCompressed changes it.
	Uncompressed bool
	// SyncInterval is the period of Everysec; 1 s.
	SyncInterval time.Duration
	// CommandKeepMs is how long the ids of done commands are kept; 24 h.
	CommandKeepMs int64
	// Importing opens a store that is being filled, until EndImport.
	Importing bool
	// Logger receives what an operator should know; nil discards it.
	Logger Logger

	// retryAtOnce drops the pause between attempts to get out of a failure.
	retryAtOnce bool
	// manualCheckpoints leaves checkpoints to Checkpoint and Close.
	manualCheckpoints bool
	// manualCompactions leaves the rows as checkpoints wrote them.
	manualCompactions bool
}

// Logger is where messages go, one a call, without a newline.
type Logger interface {
	Printf(format string, args ...any)
}

type discard struct{}

func (discard) Printf(string, ...any) {}

func (o Options) withDefaults() Options {
	setDefault(&o.SegmentBytes, 64<<20)
	setDefault(&o.CheckpointBytes, 256<<20)
	setDefault(&o.PendingBytes, 64<<20)
	setDefault(&o.CacheBytes, 32<<20)
	setDefault(&o.CommandKeepMs, 24*60*60*1000)
	if o.SyncInterval <= 0 {
		o.SyncInterval = time.Second
	}
	if o.Logger == nil {
		o.Logger = discard{}
	}
	return o
}

func setDefault(v *int64, byDefault int64) {
	if *v <= 0 {
		*v = byDefault
	}
}
