package rdb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"reminis/engine/dump"
)

// This file tests that what is written is read again, and what is damaged is not.

// list is a target that lists what it gets.
type list struct {
	lines  []string
	refuse error
}

func (l *list) Function(code []byte) error {
	l.lines = append(l.lines, fmt.Sprintf("function %s", code))
	return l.refuse
}

func (l *list) Note(note []byte) error {
	l.lines = append(l.lines, fmt.Sprintf("note %s", note))
	return l.refuse
}

func (l *list) Key(db int, key []byte, value *dump.Value, deadlineMs, idleSeconds, frequency int64) error {
	shown := "nothing"
	if value != nil {
		shown = fmt.Sprintf("%d %q %q %q %q", value.Type, value.Text, value.Pairs, value.Members, value.Elements)
	}
	l.lines = append(l.lines, fmt.Sprintf("%d %s %d %d %d: %s", db, key, deadlineMs, idleSeconds, frequency, shown))
	return l.refuse
}

// whole is a file with some of everything, and what it has.
func whole(t testing.TB, options Options) (data []byte, lines []string) {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, options)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	form := dump.Form{Plain: options.Plain}
	long := bytes.Repeat([]byte("compress me "), 20)
	must(w.Aux("redis-ver", "7.0.15"))
	must(w.Function([]byte("#!lua name=lib\nredis.register_function('f', function() return 1 end)")))
	must(w.Database(0, 3, 1))
	must(w.Note([]byte("of 12")))
	must(w.Key([]byte("12"), form.AppendStringValue(nil, long), 0, -1, -1))
	must(w.Key([]byte("late"), form.AppendStringValue(nil, []byte("-7")), 1_900_000_000_123, 77, -1))
	must(w.Key([]byte("often"), form.AppendSet(nil, 2, func(yield func([]byte) bool) {
		_ = yield([]byte("a")) && yield([]byte("b"))
	}), 0, -1, 200))
	must(w.Database(70_000, 1, 0))
	must(w.Key([]byte("h"), form.AppendHash(nil, 1, func(yield func(a, b []byte) bool) { yield([]byte("f"), []byte("v")) }), -1, 0, -1))
	must(w.Close())
	return out.Bytes(), []string{
		"function #!lua name=lib\nredis.register_function('f', function() return 1 end)",
		"note of 12",
		fmt.Sprintf(`0 12 0 -1 -1: 0 %q [] [] []`, long),
		`0 late 1900000000123 77 -1: 0 "-7" [] [] []`,
		`0 often 0 -1 200: 2 "" [] ["a" "b"] []`,
		`70000 h -1 0 -1: 4 "" ["f" "v"] [] []`,
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	for _, options := range []Options{{}, {Plain: true}, {Unsummed: true}} {
		data, want := whole(t, options)
		var have list
		if err := Read(data, &have, nil); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(have.lines, want) {
			t.Errorf("%+v:\nwant %q\nhave %q", options, want, have.lines)
		}
		if zero := binary.LittleEndian.Uint64(data[len(data)-8:]) == 0; zero != options.Unsummed {
			t.Errorf("%+v: the checksum is %x", options, data[len(data)-8:])
		}
		if plain := bytes.Contains(data, bytes.Repeat([]byte("compress me "), 20)); plain != options.Plain {
			t.Errorf("%+v: the long string is plain: %v", options, plain)
		}
	}
}

// Every damage is noticed: of a file with a checksum any changed byte, of any file
// an end that comes too early.
func TestDamageIsNoticed(t *testing.T) {
	data, _ := whole(t, Options{})
	for at := range data {
		changed := bytes.Clone(data)
		changed[at] ^= 0x20
		if err := Read(changed, &list{}, nil); err == nil {
			t.Errorf("byte %d was changed: no error", at)
		}
		if err := Read(data[:at], &list{}, nil); err == nil {
			t.Errorf("cut off at byte %d: no error", at)
		}
	}
	changed := bytes.Clone(data)
	changed[len(changed)-1]++
	if err := Read(changed, &list{}, nil); !errors.Is(err, ErrChecksum) {
		t.Errorf("another checksum: %v", err)
	}
	if err := Read(append(data, "what follows is not the file's"...), &list{}, nil); err != nil {
		t.Errorf("bytes behind the end: %v", err)
	}
}

func TestWhatCannotBeLoadedIsNamed(t *testing.T) {
	head := func(version string, parts ...byte) []byte { return append([]byte("REDIS"+version), parts...) }
	for _, test := range []struct {
		name string
		data []byte
		want error
	}{
		{"nothing", nil, ErrNotRDB},
		{"text", []byte("*2\r\n$6\r\nSELECT\r\n"), ErrNotRDB},
		{"no number", head("00x1"), ErrNotRDB},
		{"version 0", head("0000"), ErrVersion},
		{"a later version", head("0013"), ErrVersion},
		{"a module's data", head("0010", partModule, 1, 2, 3), ErrContent},
		{"a module's value", head("0010", typeModule2, 1, 'k', 1), ErrContent},
		{"functions of a candidate", head("0010", partFunctionRC, 1, 'k'), ErrContent},
		{"a hash with deadlines", head("0012", 24, 1, 'k', 1), ErrContent},
		{"an unknown part", head("0012", 243), ErrContent},
	} {
		if err := Read(test.data, &list{}, nil); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// Old files: without a checksum, with deadlines in seconds, with collections that
// have no elements.
func TestOldFilesAreRead(t *testing.T) {
	data := []byte("REDIS0003\xfe\x02\xfd\x10\x00\x00\x00\x00\x01k\x01v\x02\x01e\x00\xff")
	var have list
	if err := Read(data, &have, nil); err != nil {
		t.Fatal(err)
	}
	if want := []string{`2 k 16000 -1 -1: 0 "v" [] [] []`, `2 e 0 -1 -1: nothing`}; !reflect.DeepEqual(have.lines, want) {
		t.Errorf("want %q\nhave %q", want, have.lines)
	}
	// Of Redis 8: how many keys a slot has.
	if err := Read([]byte("REDIS0012\xf4\x01\x02\x03\xff\x00\x00\x00\x00\x00\x00\x00\x00"), &list{}, nil); err != nil {
		t.Error(err)
	}
}

func TestATargetsErrorEndsIt(t *testing.T) {
	data, _ := whole(t, Options{})
	stop := errors.New("stop")
	l := list{refuse: stop}
	if err := Read(data, &l, nil); !errors.Is(err, stop) || len(l.lines) != 1 {
		t.Errorf("%v after %d lines", err, len(l.lines))
	}
}

// A full disk is noticed by whoever writes, at the latest at the end.
func TestAFailureToWriteIsKept(t *testing.T) {
	full := errors.New("no space")
	w := NewWriter(failing{full}, Options{})
	value := dump.Form{}.AppendStringValue(nil, []byte("v"))
	for range flushBytes / 4 {
		_ = w.Key([]byte("key"), value, 0, -1, -1)
	}
	if err := w.Key([]byte("key"), value, 0, -1, -1); !errors.Is(err, full) {
		t.Errorf("a key: %v", err)
	}
	if err := w.Close(); !errors.Is(err, full) {
		t.Errorf("the end: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestRedisChecksTheFile(t *testing.T) {
	if _, err := exec.LookPath("redis-check-rdb"); err != nil {
		t.Skip("redis-check-rdb is not installed")
	}
	data, _ := whole(t, Options{})
	path := filepath.Join(t.TempDir(), "dump.rdb")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("redis-check-rdb", path).CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("RDB looks OK")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// FuzzRead: whatever the bytes, there is an answer, and no more memory than they
// account for.
func FuzzRead(f *testing.F) {
	for _, options := range []Options{{}, {Plain: true, Unsummed: true}} {
		data, _ := whole(f, options)
		f.Add(data)
	}
	f.Add([]byte("REDIS0003\xfe\x02\xfd\x10\x00\x00\x00\x00\x01k\x01v\x02\x01e\x00\xff"))
	f.Add([]byte("REDIS0012\xf4\x01\x02\x03\xf5\x03abc\xff\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = Read(data, &list{}, nil)
	})
}
