// This file owns the tests of the audit file. They wait for what the writer has
// done, never for time.

package server

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// auditTest is an audit file whose writer says what it has rendered.
type auditTest struct {
	*AuditFile
	t        *testing.T
	rendered chan struct{}
	sent     int
}

func newAuditTest(t *testing.T, path string) *auditTest {
	a := &auditTest{t: t, rendered: make(chan struct{}, 8)}
	a.AuditFile = NewAuditFile(path, slog.New(slog.DiscardHandler), func(dst []byte, e *AuditEntry) []byte {
		a.rendered <- struct{}{}
		return fmt.Appendf(dst, "%d %s", e.Seq, e.Owner)
	})
	return a
}

// add sends an event and waits until it is rendered.
func (a *auditTest) add(owner string) {
	a.sent++
	a.Add(AuditEntry{Owner: owner, Seq: uint64(a.sent)})
	<-a.rendered
}

func (a *auditTest) want(path, lines string) {
	a.t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		a.t.Fatal(err)
	}
	if string(got) != lines {
		a.t.Errorf("%s has %q, not %q", path, got, lines)
	}
}

func TestAuditFileAppends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	if err := os.WriteFile(path, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := newAuditTest(t, path)
	for i := range 5 {
		a.add(fmt.Sprintf("u%d", i))
	}
	a.Close()
	a.Close()
	a.want(path, "before\n1 u0\n2 u1\n3 u2\n4 u3\n5 u4\n")
	if a.Dropped() != 0 || a.Errors() != 0 {
		t.Error(a.Dropped(), a.Errors())
	}
}

// TestAuditFileFollowsItsName: after a rotation lines go to a new file, whatever
// became of the old one.
func TestAuditFileFollowsItsName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	old := path + ".1"
	a := newAuditTest(t, path)
	a.add("a")
	a.await(path, "1 a\n")
	if err := os.Rename(path, old); err != nil {
		t.Fatal(err)
	}
	a.add("b")
	a.await(path, "2 b\n")
	a.Reopen()
	a.add("c")
	a.Close()
	a.want(old, "1 a\n")
	a.want(path, "2 b\n3 c\n")
	if a.Dropped() != 0 || a.Errors() != 0 {
		t.Error(a.Dropped(), a.Errors())
	}
}

// await waits until a file has these lines.
func (a *auditTest) await(path, lines string) {
	a.t.Helper()
	for {
		if text, err := os.ReadFile(path); err == nil && string(text) == lines {
			return
		}
		if a.Errors() > 0 {
			a.t.Fatal("the file failed")
		}
		runtime.Gosched()
	}
}

// TestAuditFileFails: a full disk and a path that is none cost lines, and are
// counted.
func TestAuditFileFails(t *testing.T) {
	paths := []string{filepath.Join(t.TempDir(), "none", "audit")}
	if runtime.GOOS == "linux" {
		paths = append(paths, "/dev/full")
	}
	for _, path := range paths {
		a := newAuditTest(t, path)
		for range 3 {
			a.add("u")
		}
		a.Close()
		if a.Dropped() != 3 || a.Errors() < 1 || a.Errors() > 3 {
			t.Errorf("%s: %d dropped, %d errors", path, a.Dropped(), a.Errors())
		}
	}
}

// TestAuditFileNeverWaits: while the writer is held up, what does not fit is
// counted at once.
func TestAuditFileNeverWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	held, began := make(chan struct{}), make(chan struct{}, 1)
	f := NewAuditFile(path, slog.New(slog.DiscardHandler), func(dst []byte, e *AuditEntry) []byte {
		if e.Seq == 0 {
			began <- struct{}{}
			<-held
		}
		return append(dst, 'x')
	})
	f.Add(AuditEntry{})
	<-began
	for i := range auditQueueMax + 100 {
		f.Add(AuditEntry{Seq: uint64(i) + 1})
	}
	if n := f.Dropped(); n != 100 {
		t.Errorf("%d events dropped", n)
	}
	close(held)
	f.Close()
	<-f.ended
	text, err := os.ReadFile(path)
	if n := strings.Count(string(text), "x\n"); err != nil || n != auditQueueMax+1 {
		t.Errorf("%d lines, %v", n, err)
	}
}
