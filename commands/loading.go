package commands

import (
	"sync"
	"sync/atomic"

	"reminis/commands/reply"
)

// This file owns what sessions are told while the data is being read: they exist
// before it, so that clients learn that it takes a while. It must not know where the
// data comes from.

// dataLoading is whether data is being read, and how far that is.
type dataLoading struct {
	active   atomic.Bool
	startMs  int64
	progress func() (loadedBytes, totalBytes int64)

	mu sync.Mutex
	// tracked says that changes are to be watched from the end on: those that are
	// read are nobody's.
	tracked bool
}

// BeginLoading has commands on data refused until EndLoading. It comes before the
// first session. progress says how much there is to read, in bytes of files, and how
// much was read.
func (k *Core) BeginLoading(progress func() (loadedBytes, totalBytes int64)) {
	k.loading.startMs, k.loading.progress = k.Engine.NowMs(), progress
	k.loading.active.Store(true)
}

// EndLoading lets commands run.
func (k *Core) EndLoading() {
	l := &k.loading
	l.mu.Lock()
	if l.tracked {
		k.Engine.WatchChanges()
	}
	l.active.Store(false)
	l.mu.Unlock()
	if k.Engine.Limits.MaxMemory.Load() > 0 {
		k.Engine.Settle() // what the reading took must not cost keys
	}
	k.MakeRoom()
}

// MakeRoom is the engine's: what is being read is not evicted before it is whole.
func (k *Core) MakeRoom() bool { return k.loading.active.Load() || k.Engine.MakeRoom() }

// watchChanges is the engine's, from the end of the reading on.
func (k *Core) watchChanges() {
	l := &k.loading
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active.Load() {
		l.tracked = true
		return
	}
	k.Engine.WatchChanges()
}

// onLoaded is a subcommand of DEBUG that needs all data.
func onLoaded(run func(s *Session, args [][]byte, w *reply.Writer) error) func(s *Session, args [][]byte, w *reply.Writer) error {
	return func(s *Session, args [][]byte, w *reply.Writer) error {
		if s.Core.loading.active.Load() {
			return ErrLoading
		}
		return run(s, args, w)
	}
}

// infoLoading tells how far the reading is, and when it would end if it went on as
// fast.
func infoLoading(k *Core, out *infoWriter) {
	if !k.loading.active.Load() {
		return
	}
	loaded, total := k.loading.progress()
	left, seconds := max(0, total-loaded), (k.Engine.NowMs()-k.loading.startMs)/1000
	percent, eta := 0.0, int64(1)
	if total > 0 {
		percent = 100 * float64(min(loaded, total)) / float64(total)
	}
	if seconds > 0 {
		eta = int64(float64(seconds) * float64(left) / float64(loaded+1))
	}
	out.number("loading_start_time", k.loading.startMs/1000)
	out.number("loading_total_bytes", total)
	out.zeros("loading_rdb_used_mem")
	out.number("loading_loaded_bytes", loaded)
	out.field("loading_loaded_perc", "%.2f", percent)
	out.number("loading_eta_seconds", eta)
}
