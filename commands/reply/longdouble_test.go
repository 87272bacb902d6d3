package reply_test

// The yardstick of LongDouble is Redis itself: INCRBYFLOAT of the same pairs.

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"reminis/commands/reply"
	"reminis/commands/reply/redistest"
)

// add is INCRBYFLOAT without a server: the sum's text, or what is wrong.
func add(left, right string) string {
	a, ok := reply.ParseLongDouble([]byte(left))
	if !ok {
		return "not a float"
	}
	b, ok := reply.ParseLongDouble([]byte(right))
	if !ok {
		return "not a float"
	}
	sum, ok := a.Add(&b)
	if !ok {
		return "not finite"
	}
	return string(sum.Append(nil))
}

func TestLongDoubleSums(t *testing.T) {
	for _, row := range []struct{ left, right, want string }{
		{"3", "1.2", "4.2"},
		{"0", "0.1", "0.1"},
		{"0.1", "0.2", "0.3"},
		{"10.5", "0.1", "10.6"},
		{"5.0e3", "2.0e2", "5200"},
		{"5.0e3", "0", "5000"},
		{"-1", "1", "0"},
		{"0", "-0", "0"},
		{"17179869184", "1.5", "17179869185.5"},
		{"1e18", "1", "1000000000000000001"},
		{"1", "1e-18", "1"},
		{"0", "1e-18", "0"},
		{"-1e-18", "0", "0"},
		{"0", "-1.1", "-1.1"},
		{"0x10", "0x.8", "16.5"},
		{"0x1p4", "0", "16"},
		{" 1", "1", "not a float"},
		{"1 ", "1", "not a float"},
		{"1e", "1", "not a float"},
		{"", "1", "not a float"},
		{".", "1", "not a float"},
		{"nan", "1", "not a float"},
		{"1_0", "1", "not a float"},
		{"1e5000", "1", "not a float"},
		{"1e-5000", "1", "not a float"},
		{"0e99999999999", "1", "1"},
		{"inf", "1", "not finite"},
		{"1", "-infinity", "not finite"},
		{"1e4932", "1e4932", "not finite"},
	} {
		if have := add(row.left, row.right); have != row.want {
			t.Errorf("%s + %s = %s, want %s", row.left, row.right, have, row.want)
		}
	}
}

func TestLongDoubleOfIntegersIsExact(t *testing.T) {
	for _, value := range []int64{0, 1, -1, 1<<63 - 1, -1 << 63} {
		number := reply.LongDoubleOf(value)
		if have := string(number.Append(nil)); have != fmt.Sprint(value) {
			t.Errorf("%d prints %s", value, have)
		}
	}
}

func TestLongDoubleInfinities(t *testing.T) {
	for text, infinite := range map[string]bool{"inf": true, "-Infinity": true, "1e4932": false, "0": false} {
		number, ok := reply.ParseLongDouble([]byte(text))
		if !ok || number.IsInf() != infinite {
			t.Errorf("%s: %v, %v", text, number.IsInf(), ok)
		}
	}
	var zero reply.LongDouble
	if have := string(zero.Append(nil)); have != "0" || zero.IsInf() {
		t.Errorf("the zero value prints %s", have)
	}
}

// numbers are texts of all the kinds that clients send, and some that they should not.
func number(r *rand.Rand) string {
	switch r.IntN(10) {
	case 0:
		return fmt.Sprint(r.IntN(2000) - 1000)
	case 1:
		return fmt.Sprint(r.Int64() - r.Int64())
	case 2:
		return fmt.Sprintf("%.2f", (r.Float64()-0.5)*1000)
	case 3:
		return fmt.Sprintf("%.17g", r.NormFloat64())
	case 4:
		return fmt.Sprintf("%de%d", r.IntN(1000), r.IntN(40)-20)
	case 5:
		return fmt.Sprintf("%.*f", r.IntN(25), (r.Float64()-0.5)*1e6)
	case 6:
		return fmt.Sprintf("%.5fe%d", r.Float64(), r.IntN(9900)-4950)
	case 7:
		return fmt.Sprintf("0x%xp%d", r.Uint64(), r.IntN(200)-100)
	case 8:
		return strings.Repeat("9", 1+r.IntN(60)) + "." + strings.Repeat("5", r.IntN(60))
	}
	odd := []string{"inf", "-inf", "nan", "+1.5", "-0", "0", "1e", "1.", ".5", "0x", "1e+3", "--1", "1e5000", "-1e-5000", "3.6e-4951", "1.82e-4951", "1.83e-4951", "1.18973149535723176502e4932", "1.18973149535723176503e4932", "INFINITY", "1 ", "0x1.8", "0x1.fffffffffffffffffp16383"}
	return odd[r.IntN(len(odd))]
}

func TestLongDoubleAgreesWithRedis(t *testing.T) {
	redis := redistest.Start(t)
	const seed = 20260101
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 4000 {
		left, right := number(r), number(r)
		redis.Do("SET", "n", left)
		want := redis.Do("INCRBYFLOAT", "n", right)
		var w reply.Writer
		switch sum := add(left, right); sum {
		case "not a float":
			w.Error("ERR", "value is not a valid float")
		case "not finite":
			w.Error("ERR", "increment would produce NaN or Infinity")
		default:
			w.BulkString(sum)
		}
		if !bytes.Equal(w.Bytes(), want) {
			t.Errorf("%s + %s: have %q, Redis %q", left, right, w.Bytes(), want)
		}
	}
}

// Doubles are compared through sorted sets, whose scores Redis replies as doubles.
func TestDoubleAgreesWithRedis(t *testing.T) {
	redis := redistest.Start(t)
	const seed = 20260102
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, proto := range []string{"2", "3"} {
		redis.Do("HELLO", proto)
		for range 1500 {
			text := number(r)
			if bytes.HasPrefix(redis.Do("ZADD", "z", text, "m"), []byte("-")) {
				continue
			}
			value, ok := parseDouble(text)
			// A packed sorted set keeps whole scores as integers, which have no -0.
			if !ok || value == 0 {
				continue
			}
			var w reply.Writer
			w.SetProto(int(proto[0] - '0'))
			w.Double(value)
			if want := redis.Do("ZSCORE", "z", "m"); !bytes.Equal(w.Bytes(), want) {
				t.Errorf("%s in RESP%s: have %q, Redis %q", text, proto, w.Bytes(), want)
			}
		}
	}
}

func FuzzParseLongDouble(f *testing.F) {
	for _, seed := range []string{"3.0", "1e400", "-inf", "0x1p-3", "9e99999999", "..", "1e-9999"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		number, ok := reply.ParseLongDouble(text)
		if !ok {
			return
		}
		printed := number.Append(nil)
		if _, ok := reply.ParseLongDouble(printed); !ok {
			t.Fatalf("%q prints as %q, which does not parse", text, printed)
		}
	})
}
