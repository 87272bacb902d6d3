package commands

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine/effect"
)

// This file owns SAVE and BGSAVE, and when the last snapshot was written. It must
// not know what is in one (snapshot_write.go), nor where it lies.

// Snapshots is the file in Redis's format that SAVE writes (dbfilename).
type Snapshots interface {
	// Write replaces the file by what fill writes, or leaves it as it was.
	Write(fill func(w SnapshotWriter) error) error
	// Read hands what the file has to a target, which may have got a part when
	// there is an error.
	Read(into SnapshotTarget) error
}

// SnapshotWriter takes what a snapshot has.
type SnapshotWriter interface {
	// Function takes the code of a library.
	Function(code []byte) error
	// Database says in which database the keys that follow are, and about how many
	// it has, and with a deadline.
	Database(db, keys, withDeadline int) error
	// Note takes what is said beside the next key, which a Redis passes over.
	Note(note []byte) error
	// Key takes a key and its value, which begins with its type. A deadline of 0
	// is none, and so are idleSeconds and frequency when they are negative.
	Key(key, value []byte, deadlineMs, idleSeconds, frequency int64) error
}

// RowTarget takes the plain keys of a store, as the effects that make them.
type RowTarget interface {
	Row(e *effect.Effect) error
}

// errSaveAborted ends a snapshot that nobody wants any more.
var errSaveAborted = errors.New("it was given up")

func saveCommand() *Command {
	return onSession(Declaration{
		Name: "save", Family: Server, Since: "1.0.0", Complexity: "O(N) where N is the total number of keys in all databases",
		Summary: "Synchronously save the dataset to disk",
		Flags:   NoAsyncLoading | Admin | NoScript | NoMulti,
		Reply:   reply.OK(),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, _ *reply.Writer) error {
		save, err := s.Core.beginSave(false)
		if err != nil {
			return err
		}
		s.aside("", func(string) error { return s.Core.runSave(save) })
		return nil
	})
}

type bgSaveParams struct{ schedule bool }

func bgSaveCommand() *Command {
	return onSession(Declaration{
		Name: "bgsave", Family: Server, Since: "1.0.0", Complexity: "O(1)",
		Summary: "Asynchronously save the dataset to disk",
		Flags:   NoAsyncLoading | Admin | NoScript,
		History: []Change{{"3.2.2", "Added the `SCHEDULE` option."}},
		Reply:   reply.Status(),
	}, grammar.Compile[bgSaveParams](
		grammar.Opt(grammar.Token("SCHEDULE", func(p *bgSaveParams) *bool { return &p.schedule }).Since("3.2.2")),
	), func(s *Session, _ *bgSaveParams, w *reply.Writer) error {
		// Nothing that is under way has to end first, so SCHEDULE begins at once.
		save, err := s.Core.beginSave(true)
		if err != nil {
			return err
		}
		go func() { _ = s.Core.runSave(save) }() // its end is logged, and INFO tells
		w.Status("Background saving started")
		return nil
	})
}

// saving is a snapshot that is being written.
type saving struct {
	background bool
	startMs    int64
	// changes and emptied are the engine's counts when it began.
	changes, emptied int64
	// sizes are how many keys each database had then, and with a deadline.
	sizes   [][2]int
	total   atomic.Int64
	written atomic.Int64
	left    int // memory records that the snapshot does not have
	records int // and that it has
	given   atomic.Bool
	ended   chan struct{}
}

// saves is what is known of snapshots.
type saves struct {
	delayMicroseconds atomic.Int64 // see DelaySaves
	withRecords       atomic.Bool  // see SaveRecords

	mu      sync.Mutex
	now     *saving // nil: none is being written
	lastMs  int64   // when the last one was written; 0: none was
	endedMs int64   // when the last one ended, written or not
	tookMs  int64   // how long the last one in the background took; -1: there was none
	failed  bool    // the last one
	times   int64
	changes int64 // the engine's count of changes that the last one has
	loaded  LoadFigures
	rewrite func() // BGREWRITEAOF, once the one that is being written ends
}

// LoadFigures is what was loaded of a snapshot.
type LoadFigures struct{ Keys, Expired, Empty int64 }

// beginSave claims the file.
func (k *Core) beginSave(background bool) (*saving, error) {
	if k.Snapshots == nil || k.Config.Get("dbfilename") == "" {
		return nil, errNoSnapshot
	}
	if k.loading.active.Load() {
		return nil, ErrLoading // it would replace the file that is being read by a part
	}
	stats := k.Engine.Stats()
	x := &saving{
		background: background, startMs: k.Engine.NowMs(), ended: make(chan struct{}),
		changes: stats.DirtySet.Load(), emptied: stats.Emptied.Load(),
	}
	k.saves.mu.Lock()
	defer k.saves.mu.Unlock()
	if k.saves.now != nil {
		return nil, errSaving
	}
	k.saves.now = x
	return x, nil
}

// saveRetryMs is how long after one that failed a save point tries again (server.h
// CONFIG_BGSAVE_RETRY_DELAY).
const saveRetryMs = 5000

// SaveIfDue begins a snapshot in the background, and says so, if the last one is more
// than so many seconds old and data was changed at least so often since: a save point
// (server.c serverCron).
func (k *Core) SaveIfDue(seconds, changes int64) bool {
	nowMs, lastMs := k.Engine.NowMs(), k.lastSaveMs()
	changed := k.Engine.Stats().DirtySet.Load()
	k.saves.mu.Lock()
	changed -= k.saves.changes
	due := k.saves.now == nil && changed >= changes && changed > 0 && nowMs-lastMs > seconds*1000 &&
		(!k.saves.failed || nowMs-k.saves.endedMs > saveRetryMs)
	k.saves.mu.Unlock()
	if !due {
		return false
	}
	x, err := k.beginSave(true)
	if err != nil {
		return false // none can be written, or a client was faster
	}
	k.Process.LogAt(logNotice, fmt.Sprintf("%d changes in %d seconds. Saving...", changes, seconds))
	go func() { _ = k.runSave(x) }()
	return true
}

// measure finds how many keys there are. Whoever begins a snapshot may hold locks
// (EXEC); whoever writes it does not.
func (k *Core) measure(x *saving) {
	total := int64(0)
	for db := range k.Engine.Databases() {
		keys, withDeadline := k.Engine.Size(db)
		x.sizes = append(x.sizes, [2]int{keys, withDeadline})
		total += int64(keys)
	}
	x.total.Store(total)
}

// runSave writes the snapshot that begins with x.
func (k *Core) runSave(x *saving) error {
	k.measure(x)
	err := k.Snapshots.Write(func(w SnapshotWriter) error { return k.writeSnapshot(x, w) })
	switch {
	case err != nil:
		k.Process.LogAt(logWarning, "the snapshot was not written: "+err.Error())
	case x.records > 0:
		k.Process.LogAt(logNotice, fmt.Sprintf("DB saved on disk; whoever has the file reads the memory records in it (%d)", x.records))
	case x.left > 0:
		k.Process.LogAt(logNotice, fmt.Sprintf("DB saved on disk; %d memory records are in the store alone", x.left))
	default:
		k.Process.LogAt(logNotice, "DB saved on disk")
	}
	k.endSave(x, err)
	return err
}

// The levels of LogAt.
const (
	logNotice  = 2
	logWarning = 3
)

// endSave notes how a snapshot ended. One that was given up counts for nothing.
func (k *Core) endSave(x *saving, err error) {
	nowMs := k.Engine.NowMs()
	k.saves.mu.Lock()
	k.saves.now, k.saves.endedMs = nil, nowMs
	if !errors.Is(err, errSaveAborted) {
		k.saves.failed = err != nil
	}
	if err == nil {
		k.saves.lastMs, k.saves.changes = nowMs, x.changes
		k.saves.times++
	}
	if x.background {
		k.saves.tookMs = nowMs - x.startMs
	}
	rewrite := k.saves.rewrite
	k.saves.rewrite = nil
	k.saves.mu.Unlock()
	close(x.ended)
	if rewrite != nil {
		rewrite()
	}
}

// saveAtEnd writes the snapshot that SHUTDOWN SAVE asks for: that of a server which
// keeps nothing else and has read all it kept. A store has everything when it is closed.
func (k *Core) saveAtEnd(p *shutdownParams) error {
	if k.Store != nil || p.save != shutdownSave || k.loading.active.Load() {
		return nil
	}
	k.EndSave()
	x, err := k.beginSave(false)
	if err == nil {
		err = k.runSave(x)
	}
	if err != nil && !p.force {
		return errShutdown
	}
	return nil
}

// EndSave gives up the snapshot that is being written, and waits for it.
func (k *Core) EndSave() {
	k.saves.mu.Lock()
	now := k.saves.now
	k.saves.mu.Unlock()
	if now != nil {
		now.given.Store(true)
		<-now.ended
	}
}

// afterSave has run called once the snapshot that is being written ends; it is false
// when none is.
func (k *Core) afterSave(run func()) bool {
	k.saves.mu.Lock()
	defer k.saves.mu.Unlock()
	if k.saves.now == nil {
		return false
	}
	k.saves.rewrite = run
	return true
}

// unwanted says whether the snapshot is to end: all that it would have is gone
// (FLUSHALL), or the server ends.
func (k *Core) unwanted(x *saving) bool {
	return x.given.Load() || k.Engine.Stats().Emptied.Load() != x.emptied
}

// DelaySaves has each key of a snapshot take so long, or, when negative, so many keys
// a microsecond (rdb-key-save-delay): tests see snapshots being written.
func (k *Core) DelaySaves(microseconds int64) { k.saves.delayMicroseconds.Store(microseconds) }

// SaveRecords has snapshots have memory records, too (mem-rdb-records).
func (k *Core) SaveRecords(on bool) { k.saves.withRecords.Store(on) }

// delayLook is how often a delay looks whether it is still wanted.
const delayLook = 10 * time.Millisecond

// delay waits as rdb-key-save-delay says, which may change meanwhile.
func (k *Core) delay(x *saving) {
	wanted := k.saves.delayMicroseconds.Load()
	if wanted < 0 && x.written.Load()%-wanted == 0 {
		time.Sleep(time.Microsecond)
	}
	for waited := time.Duration(0); ; waited += delayLook {
		left := time.Duration(k.saves.delayMicroseconds.Load())*time.Microsecond - waited
		if left <= 0 || k.unwanted(x) {
			return
		}
		time.Sleep(min(left, delayLook))
	}
}

// lastSaveMs is when the last snapshot was written; without one, when the server
// started, as in Redis.
func (k *Core) lastSaveMs() int64 {
	k.saves.mu.Lock()
	defer k.saves.mu.Unlock()
	if k.saves.lastMs == 0 {
		return k.Process.Figures().StartMs
	}
	return k.saves.lastMs
}

// resetTimes counts snapshots anew (CONFIG RESETSTAT).
func (s *saves) resetTimes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times = 0
}

// infoSnapshots tells of snapshots as Redis does.
func infoSnapshots(k *Core, out *infoWriter) {
	lastMs := k.lastSaveMs()
	k.saves.mu.Lock()
	defer k.saves.mu.Unlock()
	s := &k.saves
	written, total, percent, seconds := int64(0), int64(0), 0.0, int64(-1)
	if x := s.now; x != nil {
		written, total = x.written.Load(), x.total.Load()
		percent = 100 * float64(min(written, total)) / float64(max(total, 1))
		seconds = (k.Engine.NowMs() - x.startMs) / 1000
	}
	out.field("current_fork_perc", "%.2f", percent)
	out.number("current_save_keys_processed", written)
	out.number("current_save_keys_total", total)
	out.number("rdb_changes_since_last_save", k.Engine.Stats().DirtySet.Load()-s.changes)
	out.number("rdb_bgsave_in_progress", boolInt(s.now != nil && s.now.background))
	out.number("rdb_last_save_time", lastMs/1000)
	status := "ok"
	if s.failed {
		status = "err"
	}
	out.string("rdb_last_bgsave_status", status)
	took := s.tookMs
	if took > 0 {
		took /= 1000
	}
	out.number("rdb_last_bgsave_time_sec", took)
	if s.now == nil || !s.now.background {
		seconds = -1
	}
	out.number("rdb_current_bgsave_time_sec", seconds)
	out.number("rdb_saves", s.times)
	out.zeros("rdb_last_cow_size")
	out.number("rdb_last_load_keys_expired", s.loaded.Expired)
	out.number("rdb_last_load_keys_loaded", s.loaded.Keys)
}
