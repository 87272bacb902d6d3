package launch

// This file owns reading /proc: what a process has used and has open. It must not
// know which program a process runs.

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of the times in /proc/PID/stat: USER_HZ is 100 on every
// architecture that Go runs on.
const tick = 10 * time.Millisecond

// CPU returns the processor time, user and system, that the process has used, in
// steps of 10 ms. Not on Linux, or without such a process, it returns an error.
func CPU(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("reading the processor time: %w", err)
	}
	// The name in parentheses may hold anything; fields are counted behind it.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("user time of process %d: %w", pid, err)
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("system time of process %d: %w", pid, err)
	}
	return time.Duration(user+system) * tick, nil
}

// ResidentBytes returns the resident memory of the process, mapped files
// included.
func ResidentBytes(pid int) (int64, error) {
	kilobytes, err := field(pid, "status", "VmRSS:")
	return kilobytes << 10, err
}

// WrittenBytes returns the bytes that the process, and the children it has
// waited for, have caused to be written to disk.
func WrittenBytes(pid int) (int64, error) {
	return field(pid, "io", "write_bytes:")
}

// field finds the number behind a name in a file of lines "name number …".
func field(pid int, file, name string) (int64, error) {
	path := fmt.Sprintf("/proc/%d/%s", pid, file)
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("reading the usage: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) >= 2 && words[0] == name {
			return strconv.ParseInt(words[1], 10, 64)
		}
	}
	return 0, fmt.Errorf("%s has no line %q", path, name)
}

// Descriptors returns how many files and sockets the process has open.
func Descriptors(pid int) (int, error) { return entries(pid, "fd") }

// Threads returns how many threads the process has.
func Threads(pid int) (int, error) { return entries(pid, "task") }

func entries(pid int, folder string) (int, error) {
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/%s", pid, folder))
	if err != nil {
		return 0, fmt.Errorf("reading the usage: %w", err)
	}
	return len(all), nil
}
