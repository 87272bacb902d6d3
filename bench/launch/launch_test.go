package launch

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestUsageOfThisProcess burns a known amount of work and looks for it.
func TestUsageOfThisProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc here")
	}
	before, err := CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	after := before
	sum := 0
	for rounds := 0; after < before+2*tick; rounds++ {
		if rounds > 10_000 {
			t.Fatal("ten billion additions took less than 20 ms")
		}
		for i := range 1_000_000 {
			sum += i
		}
		if after, err = CPU(os.Getpid()); err != nil {
			t.Fatal(err)
		}
	}
	runtime.KeepAlive(sum)
	resident, err := ResidentBytes(os.Getpid())
	if err != nil || resident < 1<<20 || resident > 1<<40 {
		t.Errorf("resident memory = %d bytes, %v", resident, err)
	}
	if _, err := WrittenBytes(os.Getpid()); err != nil {
		t.Error(err)
	}
	if _, err := CPU(1 << 30); err == nil {
		t.Error("a process that cannot exist has processor time")
	}
}

func TestServerLives(t *testing.T) {
	path, err := Find("redis-server")
	if errors.Is(err, ErrNotInstalled) {
		t.Skip("redis-server is not installed")
	}
	s, err := Start(path, t.TempDir(), "--save", "", "--appendonly", "no")
	if err != nil {
		t.Fatal(err)
	}
	if s.ReadyAfter <= 0 || s.ReadyAfter > time.Minute {
		t.Errorf("ready after %v", s.ReadyAfter)
	}
	if err := s.ping(); err != nil {
		t.Error(err)
	}
	port := s.cmd.Args[2]
	taken, err := strconv.Atoi(port)
	if err != nil {
		t.Fatalf("%q is no port", port)
	}
	if _, err := startOn(taken, path, t.TempDir(), nil); err == nil {
		t.Error("two servers have one port")
	}
	if isFree(taken) {
		t.Errorf("port %s is free, and a server listens on it", port)
	}
	if err := (&Server{Addr: s.Addr, PID: os.Getpid()}).ping(); err == nil {
		t.Error("a process takes the answers of another for its own")
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if err := s.ping(); err == nil {
		t.Error("a stopped server answers")
	}
	if err := s.Kill(); err != nil {
		t.Errorf("killing what has stopped: %v", err)
	}
}

func TestStartQuotesTheLog(t *testing.T) {
	path, err := Find("redis-server")
	if errors.Is(err, ErrNotInstalled) {
		t.Skip("redis-server is not installed")
	}
	_, err = Start(path, t.TempDir(), "--appendfsync", "sometimes")
	if err == nil || !strings.Contains(err.Error(), "appendfsync") {
		t.Errorf("the error says nothing of the directive: %v", err)
	}
}

func TestFindSaysWhatIsMissing(t *testing.T) {
	if _, err := Find("no-such-program-anywhere"); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("got %v", err)
	}
}

func TestMakers(t *testing.T) {
	made := Makers("SIGQUIT: quit\n\ngoroutine 1 [select]:\nmain.main()\n\tmain.go:1\n\n" +
		"goroutine 7 [chan receive]:\na.b()\n\ta.go:1\ncreated by a.Start in goroutine 1\n\ta.go:2\n\n" +
		"goroutine 8 [chan receive]:\na.b()\n\ta.go:1\ncreated by a.Start in goroutine 7\n\ta.go:2\n\nrax 0x0\n")
	if len(made) != 2 || made["a.Start"] != 2 || made["the start of the program"] != 1 {
		t.Errorf("%v", made)
	}
}

func TestUsageIsCounted(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc here")
	}
	before, err := Descriptors(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	after, err := Descriptors(os.Getpid())
	if err != nil || after <= before {
		t.Errorf("%d descriptors, and %d with a file opened, %v", before, after, err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := Threads(os.Getpid()); err != nil || n < 1 {
		t.Errorf("%d threads, %v", n, err)
	}
}
