// This file owns the proof that what is told of connections' memory is what they
// take: by the heap, before and after. The other ends are bare descriptors, so that
// the heap is the server's alone.

package server

import (
	"fmt"
	"math"
	"net"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// bareClient is a connection that takes no heap.
type bareClient struct{ fd int }

func (h *hosted) bare() bareClient {
	h.Helper()
	addr, err := net.ResolveTCPAddr("tcp4", h.addr)
	if err != nil {
		h.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Connect(fd, &unix.SockaddrInet4{Port: addr.Port, Addr: [4]byte(addr.IP.To4())})
	}
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { unix.Close(fd) })
	return bareClient{fd}
}

func (c bareClient) send(h *hosted, text string) {
	for data := []byte(text); len(data) > 0; {
		n, err := unix.Write(c.fd, data)
		if err != nil {
			h.Fatal(err)
		}
		data = data[n:]
	}
}

func heapInUse() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestHeldBytesAreTrue compares the figures of many connections with the growth of
// the heap, for all that a connection may hold.
func TestHeldBytesAreTrue(t *testing.T) {
	const count = 100
	for _, test := range []struct {
		what string
		send func(i int) string
		// wanted is what each connection certainly holds; slack how far the figures may
		// be off, as a share.
		wanted int64
		slack  float64
	}{
		{"nothing", func(int) string { return "" }, sessionBytes, 0.35},
		{"half a large argument", func(int) string { return "*2\r\n$4\r\nECHO\r\n$60000\r\n" + strings.Repeat("x", 40000) }, 60000, 0.15},
		{"half of many arguments", func(int) string { return "*4000\r\n" + strings.Repeat("$1\r\nx\r\n", 3999) }, 28000, 0.15},
		{"a queue", func(int) string {
			return "MULTI\r\n" + strings.Repeat(request("SET", "key", strings.Repeat("v", 200)), 200)
		}, 48000, 0.3},
		{"watches", func(i int) string { return named("WATCH", i, 400) }, 50000, 0.35},
		{"channels", func(i int) string { return named("SUBSCRIBE", i, 100) }, 30000, 0.35},
		{"patterns", func(i int) string { return named("PSUBSCRIBE", i, 100) }, 30000, 0.35},
		{"prefixes", func(i int) string {
			var text strings.Builder
			for n := range 400 {
				text.WriteString(request("CLIENT", "TRACKING", "on", "BCAST", "PREFIX", fmt.Sprintf("%04d:%04d:", i, n)))
			}
			return text.String()
		}, 12000, 0.5},
		{"a blocked command", func(int) string { return request("BLPOP", strings.Repeat("k", 5000), "0") }, 5000, 0.4},
	} {
		t.Run(test.what, func(t *testing.T) {
			h := newHosted(t)
			c := h.dial()
			// Small buffers, so that what the loop's pool keeps is little beside the rest.
			c.asks("+OK", "DEBUG", "REPLYBUFFER", "PEAK-RESET-TIME", "0")
			before, told := heapInUse(), h.server.Stats().MemoryBytes
			sent := int64(0)
			for i := range count {
				text := test.send(i)
				h.bare().send(h, text)
				sent += int64(len(text))
			}
			read := h.server.Stats
			h.eventually("all is received", func() bool { return read().Connected == count+1 && read().InputBytes >= sent })
			// Idle connections give back what they need not hold; that takes each its turn.
			h.server.sweep(h.server.now() + idleShrinkMs + 1)
			var grown, figured int64
			for range 50 {
				c.asks("+PONG", "PING")
				grown, figured = heapInUse()-before, read().MemoryBytes-told
				if math.Abs(float64(grown)/float64(figured)-1) <= test.slack {
					break
				}
			}
			if math.Abs(float64(grown)/float64(figured)-1) > test.slack {
				t.Errorf("the heap grew by %d each, the figures by %d", grown/count, figured/count)
			}
			t.Logf("the heap grew by %d each, the figures by %d", grown/count, figured/count)
			if figured < count*test.wanted*95/100 {
				t.Errorf("the figures grew by %d each, want at least %d", figured/count, test.wanted)
			}
		})
	}
}

// named are commands of one argument each, with names that are the connection's own.
func named(command string, of, count int) string {
	var text strings.Builder
	for i := range count {
		text.WriteString(request(command, fmt.Sprintf("name:%04d:%04d", of, i)))
	}
	return text.String()
}
