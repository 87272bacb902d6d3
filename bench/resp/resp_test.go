package resp

// This file is the spec of the parser: what is a reply, what is the start of
// one, and what can never become one.

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

func TestNextParsesEveryKind(t *testing.T) {
	tests := []struct {
		in    string
		kind  byte
		null  bool
		text  string
		items int
	}{
		{"+OK\r\n", '+', false, "OK", 0},
		{"-ERR no\r\n", '-', false, "ERR no", 0},
		{":-12\r\n", ':', false, "-12", 0},
		{"$5\r\na\r\nbc\r\n", '$', false, "a\r\nbc", 0},
		{"$0\r\n\r\n", '$', false, "", 0},
		{"$-1\r\n", '$', true, "", 0},
		{"*-1\r\n", '*', true, "", 0},
		{"*0\r\n", '*', false, "", 0},
		{"*3\r\n:1\r\n$-1\r\n*1\r\n+a\r\n", '*', false, "", 3},
		{"_\r\n", '_', true, "", 0},
		{"#t\r\n", '#', false, "t", 0},
		{",1.5\r\n", ',', false, "1.5", 0},
		{"(123456789012345678901\r\n", '(', false, "123456789012345678901", 0},
		{"!5\r\nERR x\r\n", '!', false, "ERR x", 0},
		{"=6\r\ntxt:ab\r\n", '=', false, "ab", 0},
		{"%2\r\n+a\r\n:1\r\n+b\r\n_\r\n", '%', false, "", 4},
		{"~1\r\n#f\r\n", '~', false, "", 1},
		{">2\r\n+invalidate\r\n*0\r\n", '>', false, "", 2},
	}
	for _, tt := range tests {
		reply, n, err := Next([]byte(tt.in + "+next\r\n"))
		if err != nil || n != len(tt.in) {
			t.Errorf("%q: n = %d, err = %v", tt.in, n, err)
			continue
		}
		if reply.Kind != tt.kind || reply.Null != tt.null || reply.Text() != tt.text || len(reply.Items) != tt.items {
			t.Errorf("%q: got %+v", tt.in, reply)
		}
		if string(reply.Raw) != tt.in {
			t.Errorf("%q: raw = %q", tt.in, reply.Raw)
		}
		for i := range tt.in {
			if _, n, err := Next([]byte(tt.in[:i])); n != 0 || err != nil {
				t.Errorf("%q cut at %d: n = %d, err = %v", tt.in, i, n, err)
			}
		}
	}
}

func TestNextRefusesWhatCannotBecomeAReply(t *testing.T) {
	for _, in := range []string{
		"OK\r\n", "\r\n", ":12a\r\n", ":\r\n", "+a\n", "$x\r\n", "$-2\r\n", "$3\r\nabcde",
		"*x\r\n", "_a\r\n", "#x\r\n", "*1\r\n?\r\n", "=x\r\n", "!4\r\nERR x\r\n",
	} {
		if reply, n, err := Next([]byte(in)); err == nil {
			t.Errorf("%q: got %+v of %d bytes", in, reply, n)
		}
	}
	deep := bytes.Repeat([]byte("*1\r\n"), depthMax+2)
	if _, _, err := Next(deep); err == nil {
		t.Error("endless nesting was accepted")
	}
}

func TestAppendCommandRoundTrips(t *testing.T) {
	line := AppendCommand(nil, "SET", "", "a\r\nb")
	reply, n, err := Next(line)
	if err != nil || n != len(line) || len(reply.Items) != 3 {
		t.Fatalf("n = %d, err = %v, reply %+v", n, err, reply)
	}
	for i, want := range []string{"SET", "", "a\r\nb"} {
		if reply.Items[i].Text() != want {
			t.Errorf("argument %d = %q, want %q", i, reply.Items[i].Text(), want)
		}
	}
}

// TestClientReceives has replies arrive in pieces and the connection end, once
// between replies and once within one.
func TestClientReceives(t *testing.T) {
	for _, tail := range []struct {
		bytes string
		want  error
	}{{"", io.EOF}, {"$3\r\nab", io.ErrUnexpectedEOF}} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c, err := Dial(listener.Addr().String(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		far, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for _, piece := range []string{"+O", "K\r\n$3\r", "\nfoo\r\n", tail.bytes} {
				if piece != "" {
					_, _ = far.Write([]byte(piece)) // the reader's end reports it
				}
			}
			_ = far.Close()
		}()
		for _, want := range []string{"OK", "foo"} {
			reply, err := c.Receive()
			if err != nil || reply.Text() != want {
				t.Fatalf("got %q, %v, want %q", reply.Text(), err, want)
			}
		}
		if _, err := c.Receive(); !errors.Is(err, tail.want) {
			t.Errorf("after %q: %v, want %v", tail.bytes, err, tail.want)
		}
		if err := errors.Join(c.Close(), listener.Close()); err != nil {
			t.Error(err)
		}
	}
}

// FuzzNext: no bytes make the parser panic, and what it accepts it accepts again
// from the raw bytes alone, with nothing behind them.
func FuzzNext(f *testing.F) {
	for _, seed := range []string{"+OK\r\n", "*2\r\n$-1\r\n%1\r\n_\r\n#t\r\n", "=6\r\ntxt:ab\r\n", "*1000000\r\n", "$-1\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		reply, n, err := Next(in)
		if err != nil || n == 0 {
			return
		}
		again, m, err := Next(bytes.Clone(reply.Raw))
		if err != nil || m != n || !bytes.Equal(again.Raw, reply.Raw) {
			t.Fatalf("%q: %d bytes, then %d, %v", in, n, m, err)
		}
	})
}
