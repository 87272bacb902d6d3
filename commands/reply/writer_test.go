package reply_test

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/redcon"

	"reminis/commands/reply"
)

func parseDouble(text string) (float64, bool) {
	value, err := strconv.ParseFloat(text, 64)
	return value, err == nil
}

// rows is the specification of the Writer: one call, its bytes in either protocol,
// and the shape that declares it.
var rows = []struct {
	name  string
	write func(w *reply.Writer)
	resp2 string
	resp3 string
	shape reply.Shape
}{
	{"ok", func(w *reply.Writer) { w.OK() }, "+OK\r\n", "+OK\r\n", reply.OK()},
	{"status", func(w *reply.Writer) { w.Status("PONG") }, "+PONG\r\n", "+PONG\r\n", reply.Status("PONG", "OK")},
	{"status with a line break", func(w *reply.Writer) { w.Status("a\r\nb") }, "+a  b\r\n", "+a  b\r\n", reply.Status()},
	{"error", func(w *reply.Writer) { w.Error("ERR", "no\nsuch\rkey\r\n") }, "-ERR no such key\r\n", "-ERR no such key\r\n", reply.Int()},
	{"error line", func(w *reply.Writer) { w.ErrorLine("EXECABORT x") }, "-EXECABORT x\r\n", "-EXECABORT x\r\n", reply.Bulk()},
	{"int", func(w *reply.Writer) { w.Int(-12) }, ":-12\r\n", ":-12\r\n", reply.Int()},
	{"bulk", func(w *reply.Writer) { w.Bulk([]byte("a\r\nb")) }, "$4\r\na\r\nb\r\n", "$4\r\na\r\nb\r\n", reply.Bulk()},
	{"empty bulk", func(w *reply.Writer) { w.BulkString("") }, "$0\r\n\r\n", "$0\r\n\r\n", reply.Bulk()},
	{"bulk of an integer", func(w *reply.Writer) { w.BulkInt(math.MinInt64) }, "$20\r\n-9223372036854775808\r\n", "$20\r\n-9223372036854775808\r\n", reply.Bulk()},
	{"null", func(w *reply.Writer) { w.Null() }, "$-1\r\n", "_\r\n", reply.Nullable(reply.Bulk())},
	{"null array", func(w *reply.Writer) { w.NullArray() }, "*-1\r\n", "_\r\n", reply.OneOf(reply.NullArray(), reply.ArrayOf(reply.Int()))},
	{"array", func(w *reply.Writer) { w.Array(2); w.Int(1); w.Null() }, "*2\r\n:1\r\n$-1\r\n", "*2\r\n:1\r\n_\r\n", reply.Tuple(reply.Int(), reply.Null())},
	{"empty array", func(w *reply.Writer) { w.Array(0) }, "*0\r\n", "*0\r\n", reply.ArrayOf(reply.Bulk())},
	{"map", func(w *reply.Writer) { w.Map(1); w.BulkString("k"); w.Int(1) }, "*2\r\n$1\r\nk\r\n:1\r\n", "%1\r\n$1\r\nk\r\n:1\r\n", reply.MapOf(reply.Bulk(), reply.Int())},
	{"record", func(w *reply.Writer) { w.Map(1); w.BulkString("id"); w.Int(1) }, "*2\r\n$2\r\nid\r\n:1\r\n", "%1\r\n$2\r\nid\r\n:1\r\n",
		reply.Record(reply.Field{Key: "name", Value: reply.Bulk()}, reply.Field{Key: "id", Value: reply.Int()})},
	{"set", func(w *reply.Writer) { w.Set(1); w.BulkString("m") }, "*1\r\n$1\r\nm\r\n", "~1\r\n$1\r\nm\r\n", reply.SetOf(reply.Bulk())},
	{"push", func(w *reply.Writer) { w.Push(1); w.BulkString("m") }, "*1\r\n$1\r\nm\r\n", ">1\r\n$1\r\nm\r\n", reply.PushOf(reply.Bulk())},
	{"double", func(w *reply.Writer) { w.Double(0.1) }, "$19\r\n0.10000000000000001\r\n", ",0.10000000000000001\r\n", reply.Double()},
	{"whole double", func(w *reply.Writer) { w.Double(3) }, "$1\r\n3\r\n", ",3\r\n", reply.Double()},
	{"negative zero", func(w *reply.Writer) { w.Double(math.Copysign(0, -1)) }, "$2\r\n-0\r\n", ",-0\r\n", reply.Double()},
	{"infinity", func(w *reply.Writer) { w.Double(math.Inf(-1)) }, "$4\r\n-inf\r\n", ",-inf\r\n", reply.Double()},
	{"large double", func(w *reply.Writer) { w.Double(1e17) }, "$5\r\n1e+17\r\n", ",1e+17\r\n", reply.Double()},
	{"sixteen digits", func(w *reply.Writer) { w.Double(1234567890123456) }, "$16\r\n1234567890123456\r\n", ",1234567890123456\r\n", reply.Double()},
	{"long double", func(w *reply.Writer) { w.LongDouble(reply.LongDoubleOf(12)) }, "$2\r\n12\r\n", ",12\r\n", reply.Double()},
	{"big number", func(w *reply.Writer) { w.BigNumber("123") }, "$3\r\n123\r\n", "(123\r\n", reply.BigNumber()},
	{"true", func(w *reply.Writer) { w.Bool(true) }, ":1\r\n", "#t\r\n", reply.Bool()},
	{"false", func(w *reply.Writer) { w.Bool(false) }, ":0\r\n", "#f\r\n", reply.Bool()},
	{"verbatim", func(w *reply.Writer) { w.Verbatim("txt", "hi") }, "$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n", reply.Verbatim()},
	{"short format", func(w *reply.Writer) { w.Verbatim("md", "hi") }, "$2\r\nhi\r\n", "=6\r\nmd :hi\r\n", reply.Verbatim()},
	{"raw", func(w *reply.Writer) { w.Raw([]byte(":1\r\n")) }, ":1\r\n", ":1\r\n", reply.Any()},
	{"nested per protocol", func(w *reply.Writer) {
		if w.Proto() == 3 {
			w.Array(1)
		}
		w.Array(2)
		w.BulkString("m")
		w.Double(1.5)
	}, "*2\r\n$1\r\nm\r\n$3\r\n1.5\r\n", "*1\r\n*2\r\n$1\r\nm\r\n,1.5\r\n",
		reply.PerProto(reply.ArrayOf(reply.Bulk()), reply.ArrayOf(reply.Tuple(reply.Bulk(), reply.Double())))},
}

func TestWriterBytesAndShapes(t *testing.T) {
	for _, row := range rows {
		for proto, want := range map[int]string{2: row.resp2, 3: row.resp3} {
			var w reply.Writer
			w.SetProto(proto)
			row.write(&w)
			if string(w.Bytes()) != want {
				t.Errorf("%s in RESP%d: have %q, want %q", row.name, proto, w.Bytes(), want)
			}
			if err := row.shape.Check(w.Bytes(), proto); err != nil {
				t.Errorf("%s in RESP%d: %v", row.name, proto, err)
			}
		}
		// redcon's reader is an independent judge of RESP2.
		if n, _ := redcon.ReadNextRESP([]byte(row.resp2)); n != len(row.resp2) {
			t.Errorf("%s: redcon reads %d of %d bytes", row.name, n, len(row.resp2))
		}
	}
}

func TestCheckRefusesWhatIsNotDeclared(t *testing.T) {
	for _, row := range []struct {
		name  string
		data  string
		proto int
		shape reply.Shape
	}{
		{"another kind", ":1\r\n", 2, reply.Bulk()},
		{"null array for null", "*-1\r\n", 2, reply.Nullable(reply.Bulk())},
		{"null for null array", "$-1\r\n", 2, reply.NullArray()},
		{"RESP2 null in RESP3", "$-1\r\n", 3, reply.Null()},
		{"RESP3 null in RESP2", "_\r\n", 2, reply.Null()},
		{"array for map in RESP3", "*2\r\n:1\r\n:2\r\n", 3, reply.MapOf(reply.Int(), reply.Int())},
		{"odd map in RESP2", "*1\r\n:1\r\n", 2, reply.MapOf(reply.Int(), reply.Int())},
		{"double as a word", "$3\r\nabc\r\n", 2, reply.Double()},
		{"unknown status", "+NO\r\n", 2, reply.OK()},
		{"a wrong member", "*2\r\n:1\r\n$1\r\na\r\n", 2, reply.ArrayOf(reply.Int())},
		{"a member too many", "*2\r\n:1\r\n:1\r\n", 2, reply.Tuple(reply.Int())},
		{"a key that is not in the record", "%1\r\n$1\r\nx\r\n:1\r\n", 3, reply.Record(reply.Field{Key: "id", Value: reply.Int()})},
		{"a key twice", "%2\r\n$2\r\nid\r\n:1\r\n$2\r\nid\r\n:1\r\n", 3, reply.Record(reply.Field{Key: "id", Value: reply.Int()})},
		{"two replies", ":1\r\n:2\r\n", 2, reply.Int()},
		{"a reply behind an error", "-ERR x\r\n:2\r\n", 2, reply.Int()},
		{"an error as a member", "*1\r\n-ERR x\r\n", 2, reply.ArrayOf(reply.Int())},
		{"too few members", "*2\r\n:1\r\n", 2, reply.ArrayOf(reply.Int())},
		{"nothing", "", 2, reply.Any()},
	} {
		if err := row.shape.Check([]byte(row.data), row.proto); err == nil {
			t.Errorf("%s: %q fits %s", row.name, row.data, row.shape)
		}
	}
}

func TestAttributesStandAside(t *testing.T) {
	var w reply.Writer
	w.SetProto(3)
	w.Attribute(1)
	w.BulkString("ttl")
	w.Int(3600)
	w.Int(1)
	if err := reply.Int().Check(w.Bytes(), 3); err != nil {
		t.Error(err)
	}
	if rest, err := reply.Skip(w.Bytes()); err != nil || len(rest) != 0 {
		t.Errorf("Skip leaves %q, %v", rest, err)
	}
}

// A deferred aggregate has the same bytes as one whose length was known, whatever
// was guessed and however they are nested.
func TestDeferredLengths(t *testing.T) {
	for _, guess := range []int{0, 9, 10, 12345} {
		for _, n := range []int{0, 1, 9, 10, 11, 100, 1000} {
			for _, proto := range []int{2, 3} {
				var plain, late reply.Writer
				plain.SetProto(proto)
				late.SetProto(proto)
				plain.Int(7)
				late.Int(7)
				plain.Array(n + 1)
				outer := late.DeferArray(guess)
				plain.Map(n)
				inner := late.DeferMap(guess)
				for i := range n {
					plain.Int(int64(i))
					plain.BulkString("value")
					late.Int(int64(i))
					late.BulkString("value")
				}
				late.Close(inner, n)
				for i := range n {
					plain.Int(int64(i))
					late.Int(int64(i))
				}
				late.Close(outer, n+1)
				if !bytes.Equal(plain.Bytes(), late.Bytes()) {
					t.Fatalf("guess %d, length %d, RESP%d: %.60q, want %.60q", guess, n, proto, late.Bytes(), plain.Bytes())
				}
			}
		}
	}
}

func TestTruncateTakesBack(t *testing.T) {
	var w reply.Writer
	w.Reset([]byte("+BEFORE\r\n"))
	mark := w.Mark()
	w.Array(3)
	w.Int(1)
	w.Truncate(mark)
	w.Error("ERR", "no")
	if want := "+BEFORE\r\n-ERR no\r\n"; string(w.Bytes()) != want {
		t.Errorf("have %q, want %q", w.Bytes(), want)
	}
}

func TestWritingDoesNotAllocate(t *testing.T) {
	buf := make([]byte, 0, 64<<10)
	data := []byte(strings.Repeat("x", 100))
	var w reply.Writer
	for _, proto := range []int{2, 3} {
		w.SetProto(proto)
		allocations := testing.AllocsPerRun(100, func() {
			w.Reset(buf[:0])
			outer := w.DeferArray(0)
			w.Map(1)
			w.Bulk(data)
			w.BulkInt(123456)
			w.Int(-1234567)
			w.Null()
			w.Double(0.1)
			w.Bool(true)
			w.Verbatim("txt", "text")
			w.Error("ERR", "no such key")
			w.Status("QUEUED")
			w.Close(outer, 12)
		})
		if allocations != 0 {
			t.Errorf("RESP%d: %v allocations", proto, allocations)
		}
	}
}

func FuzzSkipAndCheck(f *testing.F) {
	for _, row := range rows {
		f.Add([]byte(row.resp2))
		f.Add([]byte(row.resp3))
	}
	f.Add([]byte("*1000000000\r\n"))
	f.Add([]byte("|1\r\n:1\r\n:2\r\n:3\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rest, err := reply.Skip(data)
		if err == nil && len(rest) >= len(data) {
			t.Fatalf("Skip consumed nothing of %q", data)
		}
		for _, row := range rows {
			_ = row.shape.Check(data, 2)
			_ = row.shape.Check(data, 3)
		}
		if n, _ := redcon.ReadNextRESP(data); n > 0 && err == nil && !bytes.ContainsAny(data, "_,#(=%~>|!") && n != len(data)-len(rest) {
			t.Fatalf("redcon reads %d bytes of %q, Skip %d", n, data, len(data)-len(rest))
		}
	})
}

func BenchmarkBulk(b *testing.B) {
	buf := make([]byte, 0, 4096)
	data := []byte("value of thirty-two bytes length")
	var w reply.Writer
	b.ReportAllocs()
	for b.Loop() {
		w.Reset(buf[:0])
		w.Bulk(data)
	}
}

// Integers are written as strconv has them, on both sides of every number of digits.
func TestInt(t *testing.T) {
	var w reply.Writer
	check := func(n int64) {
		t.Helper()
		w.Reset(nil)
		w.Int(n)
		if got, want := string(w.Bytes()), ":"+strconv.FormatInt(n, 10)+"\r\n"; got != want {
			t.Errorf("%d is written as %q", n, got)
		}
	}
	check(math.MinInt64)
	check(math.MaxInt64)
	for n := int64(1); n <= 1e18; n *= 10 {
		for _, at := range []int64{n - 1, n, n + 1, 5 * n} {
			check(at)
			check(-at)
		}
	}
}
