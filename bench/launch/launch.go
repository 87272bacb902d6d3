package launch

// This file owns the life of a server process. It must not know what is sent to
// the server beyond PING.

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"reminis/bench/resp"
)

const (
	// readyLimit bounds loading a data set of ten million keys on a slow disk.
	readyLimit = 5 * time.Minute
	// stopLimit bounds the clean stop, which may write such a data set.
	stopLimit = 2 * time.Minute
	// logTailBytes is how much of a server's log an error quotes.
	logTailBytes = 2000
)

// ErrNotInstalled is returned by Find for a program that is not on the path.
var ErrNotInstalled = errors.New("not installed")

// Find looks a program up on the path.
func Find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, ErrNotInstalled)
	}
	return path, nil
}

// Build compiles a package of this module into dir and returns the binary's path.
// The working directory must be inside the module.
func Build(dir, pkg string) (string, error) {
	binary := filepath.Join(dir, filepath.Base(pkg))
	out, err := exec.Command("go", "build", "-o", binary, pkg).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return binary, nil
}

// Server is a running server process.
type Server struct {
	Addr string
	PID  int
	// ReadyAfter is the time from the start of the process to its first PONG.
	ReadyAfter time.Duration

	cmd     *exec.Cmd
	logPath string
	exited  chan struct{}
	exitErr error // of Wait; to be read after exited is closed
}

// startAttempts is how often a port is looked for: between the look and the server's
// own bind another process may take it.
const startAttempts = 5

// Start runs the program on a free port of the loopback interface with its data
// in dir, and returns once it answers PING. The flags are redis.conf directives
// (--appendonly, yes, …). The error quotes the server's log.
func Start(path, dir string, flags ...string) (*Server, error) {
	for attempt := 1; ; attempt++ {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		s, err := startOn(port, path, dir, flags)
		if !errors.Is(err, errEnded) || isFree(port) || attempt == startAttempts {
			return s, err
		}
	}
}

func startOn(port int, path, dir string, flags []string) (*Server, error) {
	logFile, err := os.CreateTemp(dir, "log-*.txt")
	if err != nil {
		return nil, fmt.Errorf("creating the server's log: %w", err)
	}
	defer logFile.Close() // the process has its own descriptor of it
	args := append([]string{"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir}, flags...)
	s := &Server{
		Addr:    net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		cmd:     exec.Command(path, args...),
		logPath: logFile.Name(),
		exited:  make(chan struct{}),
	}
	s.cmd.Dir = dir
	s.cmd.Stdout, s.cmd.Stderr = logFile, logFile
	started := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", path, err)
	}
	s.PID = s.cmd.Process.Pid
	go func() {
		s.exitErr = s.cmd.Wait()
		close(s.exited)
	}()
	if err := s.awaitReady(started.Add(readyLimit)); err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", path, strings.Join(args, " "), err, s.logTail())
		return nil, errors.Join(err, s.Kill())
	}
	s.ReadyAfter = time.Since(started)
	return s, nil
}

// awaitReady polls, because a server cannot be asked for a signal that both
// programs know. The interval is what ReadyAfter is exact to.
func (s *Server) awaitReady(deadline time.Time) error {
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	lastErr := errors.New("never asked")
	for time.Now().Before(deadline) {
		select {
		case <-s.exited:
			return fmt.Errorf("%w: %w", errEnded, s.exitErr)
		case <-poll.C:
		}
		if lastErr = s.ping(); lastErr == nil || errors.Is(lastErr, errAnswer) {
			return lastErr
		}
	}
	return fmt.Errorf("not ready in time: %w", lastErr)
}

var (
	// errAnswer is an answer to PING that waiting does not change.
	errAnswer = errors.New("PING was answered wrongly")
	// errEnded is what a process that ends by itself leaves.
	errEnded = errors.New("ended before it was ready")
)

// ping returns nil if the server answers, be it that it wants a password first. Another
// process may have taken its port, and then it has not much longer to live.
func (s *Server) ping() error {
	c, err := resp.Dial(s.Addr, 10*time.Second)
	if err != nil {
		return err
	}
	reply, err := c.Do("PING")
	if err != nil {
		return errors.Join(err, c.Close())
	}
	switch answer := reply.Text(); {
	case answer == "PONG":
		err = s.claim(c)
	case strings.HasPrefix(answer, "NOAUTH "):
	case strings.HasPrefix(answer, "LOADING "):
		err = errors.New(answer)
	default:
		err = fmt.Errorf("%w: %q", errAnswer, reply.Raw)
	}
	return errors.Join(err, c.Close())
}

// claim returns an error when who answers says that it is another process.
func (s *Server) claim(c *resp.Client) error {
	reply, err := c.Do("INFO", "server")
	if err != nil {
		return err
	}
	for line := range strings.Lines(reply.Text()) {
		if pid, ok := strings.CutPrefix(line, "process_id:"); ok && strings.TrimSpace(pid) != strconv.Itoa(s.PID) {
			return fmt.Errorf("process %s answers at %s, not %d", strings.TrimSpace(pid), s.Addr, s.PID)
		}
	}
	return nil
}

// Stop asks the server to stop and waits until it has. The error says when it
// did not end by itself or ended with a failure.
func (s *Server) Stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping process %d: %w", s.PID, err)
	}
	limit := time.NewTimer(stopLimit)
	defer limit.Stop()
	select {
	case <-s.exited:
		if s.exitErr != nil {
			return fmt.Errorf("%s ended with: %w\n%s", s.cmd.Path, s.exitErr, s.logTail())
		}
		return nil
	case <-limit.C:
		return errors.Join(fmt.Errorf("%s has not stopped within %v\n%s", s.cmd.Path, stopLimit, s.logTail()), s.Kill())
	}
}

// Kill ends the process at once, as a crash would, and waits for its end.
func (s *Server) Kill() error {
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing process %d: %w", s.PID, err)
	}
	<-s.exited
	return nil
}

func (s *Server) logTail() string {
	log, err := os.ReadFile(s.logPath)
	if err != nil {
		return "(its log cannot be read: " + err.Error() + ")"
	}
	return string(log[max(0, len(log)-logTailBytes):])
}

// isFree says whether nobody listens on a port right now.
func isFree(port int) bool {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	return err == nil && listener.Close() == nil
}

// freePort asks the system for a port that nobody listens on right now.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("looking for a free port: %w", err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		return 0, fmt.Errorf("releasing port %d: %w", port, err)
	}
	return port, nil
}
