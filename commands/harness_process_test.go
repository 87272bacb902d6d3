package commands

import (
	"bytes"
	"reminis/persistence/rdb"

	"fmt"
	"slices"
	"strconv"
	"strings"
)

// This file owns the process around a test's processor: clients in a list,
// figures that stand still, a store that only counts. It must not know any
// command.

// Each implements Clients.
func (s *testServer) Each(visit func(Client) bool) {
	for _, c := range slices.Clone(s.clients) {
		if !visit(c) {
			return
		}
	}
}

// KeepReplyPeaks implements Clients: there are no buffers.
func (s *testServer) KeepReplyPeaks(int64) {}

// FitReplies implements Clients.
func (s *testServer) FitReplies(bool) {}

// testAddr is where a test's server listens.
const testAddr = "127.0.0.1:6379"

// Row implements Client.
func (c *testClient) Row() ClientRow {
	return ClientRow{ID: c.id, RemoteAddr: c.RemoteAddr(), LocalAddr: testAddr, User: c.session.User()}
}

// AppendLine implements Client with the fields that tests look at.
func (c *testClient) AppendLine(dst []byte) []byte {
	return fmt.Appendf(dst, "id=%d addr=%s name=%s db=%d cmd=%s resp=%d",
		c.id, c.RemoteAddr(), c.session.Name, c.session.DB, c.session.LastCommand.FullName(), c.session.Proto)
}

// Aside implements Peer.
func (c *testClient) Aside(run func()) { run() }

// OutputMax implements Peer: there is no limit.
func (c *testClient) OutputMax() int { return 0 }

// OverOutput implements Peer.
func (c *testClient) OverOutput() {}

// Push implements Peer: what was pushed is kept.
func (c *testClient) Push(data []byte, _ uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pushed = append(c.pushed, data...)
}

// TakePushed implements Peer.
func (c *testClient) TakePushed(out []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	out, c.taken, c.pushed = append(out, c.pushed...), c.taken+len(c.pushed), nil
	return out
}

// Kill implements Client.
func (c *testClient) Kill() {
	c.server.clients = slices.DeleteFunc(c.server.clients, func(other *testClient) bool { return other == c })
}

// fakeProcess implements Process.
type fakeProcess struct {
	log       []string
	shutdowns []ShutdownRequest
}

func (p *fakeProcess) Log(text string) { p.log = append(p.log, text) }
func (p *fakeProcess) LogAt(level int, text string) {
	p.log = append(p.log, strconv.Itoa(level)+" "+text)
}
func (p *fakeProcess) ResetFigures() {}
func (p *fakeProcess) Crash()        { p.log = append(p.log, "crashed") }

func (p *fakeProcess) Shutdown(how ShutdownRequest) error {
	p.shutdowns = append(p.shutdowns, how)
	return nil
}

func (p *fakeProcess) Figures() Figures {
	return Figures{
		ProcessID: 4711, RunID: strings.Repeat("0123456789abcdef", 3)[:40], Port: 6379, StartMs: testStartMs - 90_000_000,
		Executable: "/usr/bin/reminis", ConfigFile: "/etc/reminis.conf", Supervised: "no", System: "Linux 6.1 x86_64",
		Polling: "epoll", Loops: 1, MaxClients: 10000,
	}
}

// fakeStore implements Store.
type fakeStore struct {
	reloads int
	backups []string
}

func (s *fakeStore) Reload() error {
	s.reloads++
	return nil
}

func (s *fakeStore) Backup(dir string) error {
	s.backups = append(s.backups, dir)
	return nil
}

func (s *fakeStore) Figures() StoreFigures {
	return StoreFigures{
		Durability: "everysec", AppendedSeq: 12, DurableSeq: 11, CheckpointSeq: 10,
		Checkpoints: 2, CheckpointTimeMs: testStartMs - 60_000, CheckpointTookMs: 1500, JournalBytes: 4096, Segments: 1, Syncs: 3,
	}
}

// fakeSnapshots is a file in Redis's format in memory.
type fakeSnapshots struct {
	data    []byte
	options rdb.Options
	// visit is called before each key is written.
	visit func(key []byte) error
}

// visited is a writer that has somebody look at each key.
type visited struct {
	*rdb.Writer
	visit func(key []byte) error
}

func (v visited) Key(key, value []byte, deadlineMs, idleSeconds, frequency int64) error {
	if err := v.visit(key); err != nil {
		return err
	}
	return v.Writer.Key(key, value, deadlineMs, idleSeconds, frequency)
}

func (f *fakeSnapshots) Write(fill func(w SnapshotWriter) error) error {
	var out bytes.Buffer
	w := visited{rdb.NewWriter(&out, f.options), f.visit}
	if w.visit == nil {
		w.visit = func([]byte) error { return nil }
	}
	err := fill(w)
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		f.data = out.Bytes()
	}
	return err
}

func (f *fakeSnapshots) Read(into SnapshotTarget) error { return rdb.Read(f.data, into, nil) }

// fakeUserFile implements UserFile in memory.
type fakeUserFile struct{ name, text string }

func (f *fakeUserFile) Name() string          { return f.name }
func (f *fakeUserFile) Read() (string, error) { return f.text, nil }

func (f *fakeUserFile) Write(text string) error {
	f.text = text
	return nil
}
