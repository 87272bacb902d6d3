// This file owns the process around the server: daemon, supervisor, pid
// file, and the limits that the system sets. It must not know connections.

package server

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path"
	"strconv"
	"strings"
)

const (
	// daemonMark in the environment tells a process that it is the daemon.
	daemonMark = "REMINIS_DAEMON"
	// defaultPidFile is where a daemon without a pidfile directive writes, as
	// in Redis.
	defaultPidFile = "/var/run/redis.pid"
	// reservedDescriptors are those that are not clients' (CONFIG_MIN_RESERVED_FDS),
	// storeDescriptors what the store would like to keep open beside them.
	reservedDescriptors = 32
	storeDescriptors    = 1024
)

// Daemonize starts the daemon, when the configuration asks for one, as another
// process of the same program with the same arguments, and reports true in the
// process that should now exit. In the daemon, and without one, it reports
// false.
//
// A process of several threads cannot fork and go on, so it starts anew; what
// it read from standard input is handed on.
func Daemonize(c *Config) (exit bool, err error) {
	if os.Getenv(daemonMark) != "" {
		return false, os.Unsetenv(daemonMark)
	}
	settings := c.Settings()
	if !settings.Daemonize || supervisor(settings.Supervised) != noSupervisor {
		return false, nil
	}
	program, err := os.Executable()
	if err != nil {
		return false, fmt.Errorf("finding the program to daemonize: %w", err)
	}
	input, err := daemonInput(c.input)
	if err != nil {
		return false, fmt.Errorf("opening the daemon's input: %w", err)
	}
	defer input.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return false, fmt.Errorf("opening the daemon's output: %w", err)
	}
	defer null.Close()
	process, err := os.StartProcess(program, os.Args, &os.ProcAttr{
		Env:   append(os.Environ(), daemonMark+"=1"),
		Files: []*os.File{input, null, null},
		Sys:   newSession(),
	})
	if err != nil {
		return false, fmt.Errorf("starting the daemon: %w", err)
	}
	return true, process.Release()
}

// daemonInput is the daemon's standard input: a nameless file with the
// configuration that came from ours, or nothing.
func daemonInput(content []byte) (*os.File, error) {
	if content == nil {
		return os.Open(os.DevNull)
	}
	file, err := os.CreateTemp("", "reminis-config-*")
	if err != nil {
		return nil, err
	}
	_, err = file.Write(content)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err = errors.Join(err, os.Remove(file.Name())); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// A PidFile holds the process's id while it runs.
type PidFile struct{ path string }

// WritePidFile writes the pid file that the settings ask for: the directive's,
// or the default of a daemon; none otherwise. The error of a directory that
// cannot be written to is for the log: as in Redis it does not stop the start.
func WritePidFile(settings *Settings) (PidFile, error) {
	path := settings.PidFile
	if path == "" && settings.Daemonize {
		path = defaultPidFile
	}
	if path == "" {
		return PidFile{}, nil
	}
	if err := os.WriteFile(path, fmt.Appendln(nil, os.Getpid()), 0o644); err != nil {
		return PidFile{}, fmt.Errorf("writing the pid file: %w", err)
	}
	return PidFile{path}, nil
}

// Remove deletes the file at the end of the process.
func (p PidFile) Remove() error {
	if p.path == "" {
		return nil
	}
	return os.Remove(p.path)
}

// supervisorKind is who supervises the process.
type supervisorKind uint8

const (
	noSupervisor supervisorKind = iota
	systemd
	upstart
)

// String is the supervisor as INFO names it.
func (k supervisorKind) String() string { return [...]string{"no", "systemd", "upstart"}[k] }

// supervisor finds out who supervises, for a mode of the directive.
func supervisor(mode string) supervisorKind {
	switch {
	case mode != "no" && mode != "upstart" && os.Getenv("NOTIFY_SOCKET") != "":
		return systemd
	case mode != "no" && mode != "systemd" && os.Getenv("UPSTART_JOB") != "":
		return upstart
	}
	return noSupervisor
}

// NotifySupervisor tells the supervisor, if the settings name one and it is
// there, that the process serves (state "READY=1") or ends ("STOPPING=1"), in
// systemd's notation. Upstart is told of the first only, by a stop signal.
func NotifySupervisor(settings *Settings, state string) error {
	switch supervisor(settings.Supervised) {
	case systemd:
		// A leading '@' is a name in the abstract space; net knows that notation.
		conn, err := net.Dial("unixgram", os.Getenv("NOTIFY_SOCKET"))
		if err != nil {
			return fmt.Errorf("notifying systemd: %w", err)
		}
		_, err = conn.Write([]byte(state + "\n"))
		if err = errors.Join(err, conn.Close()); err != nil {
			return fmt.Errorf("notifying systemd: %w", err)
		}
	case upstart:
		if strings.HasPrefix(state, "READY=1") {
			return stopSelf()
		}
	}
	return nil
}

// Limits are what the system gives the process.
type Limits struct {
	// Descriptors is how many files and sockets may be open, 0 when unknown.
	Descriptors uint64
	// MaxClients is the directive, lowered when the descriptors do not suffice;
	// WantedClients is what it was.
	MaxClients, WantedClients int
	// MemoryBytes is the container's memory limit, 0 for none; MemorySource is
	// the file that says so.
	MemoryBytes  uint64
	MemorySource string
}

// FindLimits raises the limit of open descriptors to what maxclients needs, or
// lowers maxclients to what there is; from then on CONFIG SET maxclients is held
// to it. It also finds the container's memory limit. An error says that not even
// one client could be served.
func FindLimits(c *Config) (Limits, error) {
	settings := c.Settings()
	limits := Limits{WantedClients: settings.MaxClients, MaxClients: settings.MaxClients}
	limits.Descriptors = raiseDescriptors(uint64(settings.MaxClients))
	if most := clientsFor(limits.Descriptors); most < settings.MaxClients {
		if most < 1 {
			return limits, fmt.Errorf("the limit of %d open files leaves none for clients; raise it with ulimit -n", limits.Descriptors)
		}
		limits.MaxClients = most
		c.lowerMaxClients(most)
	}
	limits.MemoryBytes, limits.MemorySource = memoryLimit(os.DirFS("/"))
	c.OnChange(func(next *Settings) error {
		most := clientsFor(raiseDescriptors(uint64(next.MaxClients)))
		if most < next.MaxClients {
			return configText(fmt.Sprintf("The operating system is not able to handle the specified number of clients, try with %d", most))
		}
		return nil
	}, "maxclients")
	return limits, nil
}

// clientsFor is how many clients fit a number of descriptors; 0 is unknown and
// thought to be enough.
func clientsFor(descriptors uint64) int {
	if descriptors == 0 || descriptors > 1<<31 {
		return 1<<31 - 1
	}
	return int(descriptors) - reservedDescriptors
}

// lowerMaxClients replaces the directive without asking its hooks.
func (c *Config) lowerMaxClients(most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.values["maxclients"] = value{text: strconv.Itoa(most), number: int64(most)}
	c.publish()
}

// memoryLimit finds the container's limit: the smallest memory.max on the way
// from the process's control group to the root (version 2), or
// memory.limit_in_bytes (version 1). Inside a container the group's path may
// not be visible; then the visible root is the container's.
func memoryLimit(root fs.FS) (bytes uint64, source string) {
	content, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, ""
	}
	consider := func(file string) {
		text, err := fs.ReadFile(root, file)
		if err != nil {
			return
		}
		limit, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
		// Version 1 says "none" by a number near 2^63, version 2 by "max".
		if err == nil && limit > 0 && limit < 1<<60 && (bytes == 0 || limit < bytes) {
			bytes, source = limit, "/"+file
		}
	}
	for line := range strings.Lines(string(content)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		base, file := "sys/fs/cgroup", "memory.max"
		if fields[0] != "0" || fields[1] != "" {
			if !strings.Contains(","+fields[1]+",", ",memory,") {
				continue
			}
			base, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		for group := path.Clean("/" + fields[2]); ; group = path.Dir(group) {
			consider(path.Join(base, group, file))
			if group == "/" {
				break
			}
		}
	}
	return bytes, source
}
