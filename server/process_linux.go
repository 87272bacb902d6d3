// This file owns what Linux tells of the process and the machine.

package server

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// processorMicroseconds is the time that the process has run, for itself and in
// the kernel.
func processorMicroseconds() (user, system int64) {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0, 0
	}
	return usage.Utime.Nano() / 1000, usage.Stime.Nano() / 1000
}

// residentBytes is the process's memory in RAM; 0 when the system does not say.
func residentBytes() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	words := bytes.Fields(text)
	if len(words) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(words[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// systemBytes is the machine's memory; 0 when the system does not say.
func systemBytes() int64 {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}

// systemName is the system, its release and the machine, as uname prints them.
func systemName() string {
	var name syscall.Utsname
	if syscall.Uname(&name) != nil {
		return "Linux"
	}
	return textOf(name.Sysname[:]) + " " + textOf(name.Release[:]) + " " + textOf(name.Machine[:])
}

// textOf is a C string; its characters' type differs between machines.
func textOf[C ~int8 | ~uint8](chars []C) string {
	var text []byte
	for _, c := range chars {
		if c == 0 {
			break
		}
		text = append(text, byte(c))
	}
	return string(text)
}
