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

// cutOwner takes out what lines say of an owner, and leaves their numbers.
func cutOwner(owner string) AuditCut {
	return func(dst, line []byte) ([]byte, bool) {
		before, found := strings.CutSuffix(string(line), " "+owner)
		return append(dst, before...), found
	}
}

// TestAuditFileErases what is in the file and what still waits, once; the rest
// stays, byte by byte, and lines go on behind it.
func TestAuditFileErases(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	if err := os.WriteFile(path, []byte("torn\n\n8 gone\n9 kept"), 0o640); err != nil {
		t.Fatal(err)
	}
	a := newAuditTest(t, path)
	a.Erase(cutOwner("nobody"))
	a.want(path, "torn\n\n8 gone\n9 kept")
	if err := os.WriteFile(path, []byte("torn\n\n8 gone\n9 kept\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	for _, owner := range []string{"gone", "kept"} {
		a.add(owner)
	}
	a.sent++
	a.Add(AuditEntry{Owner: "gone", Seq: uint64(a.sent)}) // nobody waits until it is rendered
	a.Erase(cutOwner("gone"))
	<-a.rendered
	a.want(path, "torn\n\n8\n9 kept\n1\n2 kept\n3\n")
	a.add("gone")
	a.Close()
	a.want(path, "torn\n\n8\n9 kept\n1\n2 kept\n3\n4 gone\n")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if left, err := filepath.Glob(path + ".*"); err != nil || len(left) > 0 {
		t.Errorf("%q, %v", left, err)
	}
	a.Erase(cutOwner("kept")) // after the end nobody is waited for
	if a.Dropped() != 0 || a.Errors() != 0 {
		t.Error(a.Dropped(), a.Errors())
	}
}

// TestAuditFileOwesErasures that fail, and pays with the next.
func TestAuditFileOwesErasures(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	a := newAuditTest(t, path)
	a.Erase(cutOwner("one"))
	a.Erase(cutOwner("two"))
	if a.Unerased() != 2 || a.Errors() != 2 {
		t.Errorf("%d owed, %d errors", a.Unerased(), a.Errors())
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for _, owner := range []string{"one", "two", "three", "four"} {
		a.add(owner)
	}
	a.Erase(cutOwner("three"))
	a.Close()
	a.want(path, "1\n2\n3\n4 four\n")
	if a.Unerased() != 0 || a.Errors() != 2 {
		t.Errorf("%d owed, %d errors", a.Unerased(), a.Errors())
	}
}
