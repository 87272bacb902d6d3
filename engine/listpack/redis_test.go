// This file owns the comparison with a real redis-server: the bytes of a hash
// in a DUMP payload must be ours.

package listpack

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// redisServer is a connection to a redis-server of our own.
type redisServer struct {
	t      *testing.T
	conn   net.Conn
	reader *bufio.Reader
}

// startRedis skips the test where there is no redis-server.
func startRedis(t *testing.T) *redisServer {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("redis-server is not installed: nothing to compare with")
	}
	socket := filepath.Join(t.TempDir(), "redis.sock")
	command := exec.Command(path, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no",
		"--rdbcompression", "no", "--hash-max-listpack-entries", "100000", "--hash-max-listpack-value", "10000000")
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	lines := bufio.NewScanner(output)
	for ready := false; !ready; {
		if !lines.Scan() {
			t.Fatal("redis-server ended before it was ready")
		}
		ready = strings.Contains(lines.Text(), "ready to accept connections")
	}
	go func() { _, _ = io.Copy(io.Discard, output) }()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &redisServer{t: t, conn: conn, reader: bufio.NewReader(conn)}
}

// do sends a command and returns the reply's text.
func (r *redisServer) do(args ...[]byte) []byte {
	r.t.Helper()
	buf := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, arg := range args {
		buf = append(fmt.Appendf(buf, "$%d\r\n", len(arg)), arg...)
		buf = append(buf, "\r\n"...)
	}
	if _, err := r.conn.Write(buf); err != nil {
		r.t.Fatal(err)
	}
	line, err := r.reader.ReadString('\n')
	if err != nil {
		r.t.Fatal(err)
	}
	if line[0] == '-' {
		r.t.Fatalf("%.60q: %s", args, line)
	}
	length := 0
	if _, err := fmt.Sscanf(line, "$%d", &length); err != nil || length < 0 {
		return []byte(strings.TrimSpace(line))
	}
	body := make([]byte, length+2)
	if _, err := io.ReadFull(r.reader, body); err != nil {
		r.t.Fatal(err)
	}
	return body[:length]
}

// dumped returns the listpack in a hash's DUMP payload: a type byte, the
// string with its length, two bytes of version, eight of checksum.
func (r *redisServer) dumped(key string) []byte {
	r.t.Helper()
	payload := r.do([]byte("DUMP"), []byte(key))
	const typeHashListpack = 16
	if len(payload) < 12 || payload[0] != typeHashListpack {
		r.t.Fatalf("%s is dumped as %.20q", key, payload)
	}
	body := payload[1 : len(payload)-10]
	switch first := body[0]; {
	case first < 1<<6:
		return body[1:]
	case first < 2<<6:
		return body[2:]
	case first == 2<<6:
		return body[5:]
	}
	r.t.Fatalf("%s is dumped as %.20q", key, payload)
	return nil
}

// ourHash is a hash as the server keeps it: fields and values in turn.
type ourHash []byte

func (h ourHash) set(field, value []byte) ourHash {
	pos := Find(h, First(h), field, 1)
	if pos == None {
		return Append(Append(h, field), value)
	}
	return Replace(h, Next(h, pos), value)
}

func (h ourHash) delete(field []byte) ourHash {
	if pos := Find(h, First(h), field, 1); pos != None {
		return DeleteRange(h, pos, 2)
	}
	return h
}

func (r *redisServer) same(key string, ours ourHash) {
	r.t.Helper()
	theirs := r.dumped(key)
	if !bytes.Equal(theirs, ours) {
		r.t.Fatalf("%s: Redis has %d bytes % .60x, we have %d bytes % .60x", key, len(theirs), theirs, len(ours), []byte(ours))
	}
	if err := Validate(theirs); err != nil {
		r.t.Fatal(err)
	}
}

func TestSameBytesAsRedis(t *testing.T) {
	redis := startRedis(t)
	values := []string{"", "0", "-0", "00", "-", "+1", " 1", "1 ", "1.0", "1e3", "abc", "-1", "127", "128", "-4096", "-4097",
		"4095", "4096", "32767", "32768", "-32768", "-32769", "8388607", "8388608", "-8388608", "-8388609",
		"2147483647", "2147483648", "-2147483648", "-2147483649", "9223372036854775807", "9223372036854775808",
		"-9223372036854775808", "-9223372036854775809", "99999999999999999999", "\x00", "\xff"}
	for _, n := range []int{63, 64, 125, 126, 127, 4093, 4094, 4095, 4096, 16377, 16378, 16379, 2097145, 2097146, 2097147} {
		values = append(values, strings.Repeat("v", n))
	}
	all := ourHash(New(0))
	for i, value := range values {
		key := fmt.Sprintf("one:%d", i)
		field := []byte("field")
		redis.do([]byte("HSET"), []byte(key), field, []byte(value))
		redis.same(key, ourHash(New(0)).set(field, []byte(value)))
		redis.do([]byte("HSET"), []byte("all"), []byte(value), field)
		all = all.set([]byte(value), field)
	}
	redis.same("all", all)
}

func TestSameBytesAsRedisAfterChanges(t *testing.T) {
	redis := startRedis(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	ours := ourHash(New(0)).set([]byte("kept"), nil)
	redis.do([]byte("HSET"), []byte("h"), []byte("kept"), nil)
	for op := range 1500 {
		field, value := randomText(random), randomText(random)
		if string(field) == "kept" {
			continue
		}
		if random.IntN(3) == 0 {
			redis.do([]byte("HDEL"), []byte("h"), field)
			ours = ours.delete(field)
		} else {
			redis.do([]byte("HSET"), []byte("h"), field, value)
			ours = ours.set(field, value)
		}
		if op%50 == 0 {
			redis.same("h", ours)
		}
	}
	redis.same("h", ours)
}
