package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// This file tests what clients see while the data is being read.

const refusedLoading = "-LOADING Redis is loading the dataset in memory\r\n"

// heldUp is a server over dir whose data is being read: reading has begun when held
// is closed, and goes on when goOn is.
type heldUp struct {
	*rig
	goOn  chan struct{}
	ended chan error
}

func newHeldUp(t *testing.T, dir string, directives ...string) *heldUp {
	t.Helper()
	held, once := make(chan struct{}), sync.Once{}
	h := &heldUp{goOn: make(chan struct{}), ended: make(chan error, 1)}
	hold := func() {
		once.Do(func() { close(held) })
		<-h.goOn
	}
	h.rig = newLoadingRig(t, hold, append([]string{"--dir", dir}, directives...)...)
	go func() {
		stopped, err := h.process.load()
		if stopped {
			err = errStopped
		}
		h.ended <- err
	}()
	<-held
	return h
}

// fields are INFO's persistence section.
func (h *heldUp) fields(c *wire) map[string]string {
	h.Helper()
	fields := map[string]string{}
	for _, line := range strings.Split(c.do("INFO", "persistence"), "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

func fill(t *testing.T, dir string, directives ...string) {
	t.Run("fill", func(t *testing.T) {
		c := newRig(t, append([]string{"--dir", dir}, directives...)...).dial()
		for n := range 100 {
			c.do("SET", fmt.Sprint("key", n), strings.Repeat("value", 100))
			c.do("HSET", fmt.Sprint("hash", n), "field", "value")
		}
		c.do("FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('f', function() return 7 end)")
		c.do("MEM.SET", recordName, `{"n":1}`)
		c.do("SAVE")
	})
}

// sources are where the data is, by the directive that makes it and the one that has
// it read.
var sources = map[string][2]string{"a store": {"yes", "yes"}, "a snapshot": {"no", "no"}, "an import": {"no", "yes"}}

// seeLoading holds a server that is reading to what its clients must see.
func seeLoading(t *testing.T, h *heldUp) {
	t.Helper()
	c := h.dial()
	for _, line := range []string{"PING", "GET key1", "SET key1 other", "FLUSHALL", "DBSIZE", "DEBUG RELOAD", "DEBUG DIGEST", "FCALL f 0", "MEM.GET " + recordName} {
		if got := c.do(strings.Fields(line)...); got != refusedLoading && !strings.HasPrefix(got, "-ERR DEBUG command not allowed") {
			t.Errorf("%s: %q", line, got)
		}
	}
	fields := h.fields(c)
	loaded, _ := strconv.Atoi(fields["loading_loaded_bytes"])
	total, _ := strconv.Atoi(fields["loading_total_bytes"])
	if fields["loading"] != "1" || fields["loading_start_time"] == "" || total <= 0 || loaded < 0 || loaded >= total {
		t.Errorf("%d of %d bytes: %v", loaded, total, fields)
	}
	for _, line := range []string{"INFO everything", "CLIENT LIST", "CONFIG SET maxmemory 1", "CONFIG SET maxmemory-policy allkeys-lru", "HELLO 2", "CLIENT TRACKING on REDIRECT 1 BCAST", "SLOWLOG GET"} {
		if got := c.do(strings.Fields(line)...); strings.HasPrefix(got, "-LOADING") {
			t.Errorf("%s: %q", line, got)
		}
	}
	c.do("CONFIG", "SET", "maxmemory", "0")
}

func TestLoading(t *testing.T) {
	for name, log := range sources {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir, "--appendonly", log[0])
			t.Run("read", func(t *testing.T) {
				h := newHeldUp(t, dir, "--appendonly", log[1])
				seeLoading(t, h)
				close(h.goOn)
				if err := <-h.ended; err != nil {
					t.Fatal(err)
				}
				c := h.dial()
				if got := c.do("GET", "key1"); got != refusedLoading {
					t.Errorf("before the end: %q", got)
				}
				if fields := h.fields(c); fields["loading_loaded_bytes"] != fields["loading_total_bytes"] {
					t.Errorf("%v", fields)
				}
				h.process.core.EndLoading()
				if got, fields := c.do("DBSIZE"), h.fields(c); !strings.HasPrefix(got, ":20") || fields["loading"] != "0" || fields["loading_total_bytes"] != "" {
					t.Errorf("%q, %v", got, fields)
				}
				if got := c.do("FCALL", "f", "0"); got != ":7\r\n" {
					t.Errorf("FCALL: %q", got)
				}
			})
		})
	}
}

// A process that is told to end while it reads ends, and the next has everything.
func TestShutdownWhileLoading(t *testing.T) {
	for name, log := range sources {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir, "--appendonly", log[0])
			t.Run("end", func(t *testing.T) {
				h := newHeldUp(t, dir, "--appendonly", log[1])
				c := h.dial()
				if got, err := c.last("SHUTDOWN", "SAVE"); err != io.EOF {
					t.Errorf("SHUTDOWN: %q, %v", got, err)
				}
				close(h.goOn)
				if err := <-h.ended; !errors.Is(err, errStopped) {
					t.Errorf("the reading ended with %v", err)
				}
			})
			t.Run("again", func(t *testing.T) {
				if got := newRig(t, "--dir", dir, "--appendonly", log[1]).dial().do("DBSIZE"); !strings.HasPrefix(got, ":20") {
					t.Errorf("%q", got)
				}
			})
		})
	}
}

// A process whose data cannot be read ends, with the words that say so.
func TestLoadingFails(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "dump.rdb"), []byte("REDIS0009\xfe\x00\x00\x01k"), 0o644); err != nil {
		t.Fatal(err)
	}
	h := newLoadingRig(t, nil, "--dir", dir)
	if _, err := h.process.load(); err == nil || !strings.HasPrefix(err.Error(), "Fatal error loading the DB: ") {
		t.Error(err)
	}
	if got := h.dial().do("PING"); got != refusedLoading {
		t.Errorf("%q", got)
	}
	if err := h.process.halt(); err != nil {
		t.Error(err)
	}
}
