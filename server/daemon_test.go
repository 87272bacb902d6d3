// This file owns the spec of the process around the server.

package server

import (
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func TestMemoryLimit(t *testing.T) {
	for _, test := range []struct {
		name   string
		files  map[string]string
		bytes  uint64
		source string
	}{
		{"none", map[string]string{}, 0, ""},
		{"version 2", map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n",
			"sys/fs/cgroup/a/memory.max": "1000\n", "sys/fs/cgroup/memory.max": "2000\n",
		}, 1000, "/sys/fs/cgroup/a/memory.max"},
		{"version 2 in a container", map[string]string{
			"proc/self/cgroup": "0::/../../not/visible\n", "sys/fs/cgroup/memory.max": "512\n",
		}, 512, "/sys/fs/cgroup/memory.max"},
		{"version 1", map[string]string{
			"proc/self/cgroup": "3:cpu,cpuacct:/x\n4:memory:/docker/y\n",
			"sys/fs/cgroup/memory/docker/y/memory.limit_in_bytes": "4096\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":          "9223372036854771712\n",
		}, 4096, "/sys/fs/cgroup/memory/docker/y/memory.limit_in_bytes"},
		{"version 1 without a limit", map[string]string{
			"proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 0, ""},
	} {
		files := fstest.MapFS{}
		for name, content := range test.files {
			files[name] = &fstest.MapFile{Data: []byte(content)}
		}
		if bytes, source := memoryLimit(files); bytes != test.bytes || source != test.source {
			t.Errorf("%s: %d from %q, want %d from %q", test.name, bytes, source, test.bytes, test.source)
		}
	}
}

func TestFindLimits(t *testing.T) {
	c := load(t, "--maxclients", "50")
	limits, err := FindLimits(c)
	if err != nil {
		t.Fatal(err)
	}
	if limits.MaxClients != 50 || limits.Descriptors != 0 && limits.Descriptors < 82 {
		t.Errorf("50 clients: %+v", limits)
	}
	if limits.Descriptors == 0 {
		t.Skip("no descriptor limit is known here")
	}
	// More than any system allows.
	c = load(t, "--maxclients", strconv.Itoa(math.MaxUint32))
	limits, err = FindLimits(c)
	if err != nil {
		t.Fatal(err)
	}
	if limits.MaxClients >= limits.WantedClients || limits.MaxClients != int(limits.Descriptors)-reservedDescriptors {
		t.Errorf("all clients: %+v", limits)
	}
	if c.Settings().MaxClients != limits.MaxClients {
		t.Errorf("maxclients is %d, want %d", c.Settings().MaxClients, limits.MaxClients)
	}
	want := fmt.Sprintf("CONFIG SET failed (possibly related to argument 'maxclients') - The operating system is not able "+
		"to handle the specified number of clients, try with %d", limits.MaxClients)
	if got := errorText(c.Set([]string{"maxclients", strconv.Itoa(math.MaxUint32)}, true)); got != want {
		t.Errorf("CONFIG SET: %q, want %q", got, want)
	}
	if err := c.Set([]string{"maxclients", "10"}, true); err != nil {
		t.Error(err)
	}
}

func TestLogAndPidFile(t *testing.T) {
	dir := t.TempDir()
	c := load(t, "--dir", dir, "--logfile", "r.log", "--pidfile", "r.pid", "--loglevel", "warning")
	log, err := OpenLog(c)
	if err != nil {
		t.Fatal(err)
	}
	log.Info("too quiet")
	log.Warn("loud")
	if err := c.Set([]string{"loglevel", "verbose"}, true); err != nil {
		t.Fatal(err)
	}
	log.Log(t.Context(), LevelVerbose, "now heard")
	log.Debug("not heard")
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(dir, "r.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"loud", "now heard"} {
		if !strings.Contains(string(content), text) {
			t.Errorf("the log lacks %q: %s", text, content)
		}
	}
	for _, text := range []string{"too quiet", "not heard"} {
		if strings.Contains(string(content), text) {
			t.Errorf("the log has %q: %s", text, content)
		}
	}
	pid, err := WritePidFile(c.Settings())
	if err != nil {
		t.Fatal(err)
	}
	content, err = os.ReadFile(filepath.Join(dir, "r.pid"))
	if err != nil || string(content) != fmt.Sprintln(os.Getpid()) {
		t.Errorf("the pid file holds %q, %v", content, err)
	}
	if err := pid.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "r.pid")); !os.IsNotExist(err) {
		t.Errorf("the pid file is still there: %v", err)
	}
	if pid, err := WritePidFile(DefaultConfig().Settings()); err != nil || pid.path != "" {
		t.Errorf("without a directive: %q, %v", pid.path, err)
	}
	if _, err := OpenLog(load(t, "--logfile", "/nowhere/x.log")); errorText(err) != "Can't open the log file: no such file or directory" {
		t.Errorf("a log file that cannot be opened: %v", err)
	}
}

func TestNotifySupervisor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	ln, err := net.ListenPacket("unixgram", path)
	if err != nil {
		t.Skip("no datagram sockets here")
	}
	defer ln.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("UPSTART_JOB", "")
	for _, mode := range []string{"no", "upstart", "auto", "systemd"} {
		if err := NotifySupervisor(load(t, "--supervised", mode).Settings(), "READY=1\nMODE="+mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"READY=1\nMODE=auto\n", "READY=1\nMODE=systemd\n"} {
		buf := make([]byte, 100)
		if err := ln.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		n, _, err := ln.ReadFrom(buf)
		if err != nil || string(buf[:n]) != want {
			t.Errorf("systemd got %q (%v), want %q", buf[:n], err, want)
		}
	}
	t.Setenv("NOTIFY_SOCKET", path+"-not-there")
	if err := NotifySupervisor(load(t, "--supervised", "systemd").Settings(), "READY=1"); err == nil {
		t.Error("a supervisor that is not there is no error")
	}
}

// The test runs itself as the program that daemonizes.
func TestDaemonize(t *testing.T) {
	const place = "REMINIS_TEST_DAEMON"
	if path := os.Getenv(place); path != "" {
		c, err := Load([]string{"--daemonize", "yes", "-"}, os.Stdin)
		if err != nil {
			t.Fatal(err)
		}
		exit, err := Daemonize(c)
		if err != nil {
			t.Fatal(err)
		}
		if exit {
			return
		}
		port, _ := c.Text("port")
		content := fmt.Sprintf("%d %s %q", os.Getpid(), port, os.Getenv(daemonMark))
		if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		return
	}
	path := filepath.Join(t.TempDir(), "daemon")
	command := exec.Command(os.Args[0], "-test.run=^TestDaemonize$")
	command.Env = append(os.Environ(), place+"="+path)
	command.Stdin = strings.NewReader("port 1234\n")
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	r := &rig{T: t}
	r.eventually("the daemon writes", func() bool { _, err := os.Stat(path); return err == nil })
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(content))
	if len(fields) != 3 || fields[0] == strconv.Itoa(command.Process.Pid) || fields[1] != "1234" || fields[2] != `""` {
		t.Errorf("the daemon says %q, started by process %d", content, command.Process.Pid)
	}
	// Who is supervised does not leave its supervisor.
	t.Setenv("NOTIFY_SOCKET", "/x")
	if exit, err := Daemonize(load(t, "--daemonize", "yes", "--supervised", "auto")); exit || err != nil {
		t.Errorf("supervised: %v, %v", exit, err)
	}
}
