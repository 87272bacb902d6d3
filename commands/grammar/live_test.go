package grammar_test

// This file compares decisions with a running Redis: what is wrong with a line, and
// where its keys are. Lines come from the grammars themselves.

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/commands/reply/redistest"
)

// judged are the samples whose lines do no harm to a server and whose errors do not
// depend on the data; the commands' own checks are outside of a grammar.
var judged = []string{"GETEX", "MSET", "LCS", "HSET", "ZUNIONSTORE", "ZUNION", "LMPOP", "DEL", "EXPIRE", "COPY", "SCAN", "SORT", "HRANDFIELD"}

func TestErrorsAgreeWithRedis(t *testing.T) {
	redis := redistest.Start(t)
	const seed = 20260104
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, name := range judged {
		s := sampleNamed(t, name)
		for range 400 {
			line := s.Generate(r, r.IntN(4) > 0)
			redis.Do("FLUSHALL")
			have := verdict(s, line)
			want := verdictOfRedis(redis.Do(words(name, line)...))
			if have != want {
				t.Errorf("%s %q: %q, Redis %q", name, line, have, want)
			}
		}
	}
}

func words(name string, line [][]byte) []string {
	out := strings.Fields(name)
	for _, arg := range line {
		out = append(out, string(arg))
	}
	return out
}

// verdict is one of the errors that grammars decide, or "other".
func verdict(s sample, line [][]byte) string {
	if !arityFits(s, line) {
		return "arity"
	}
	err := s.Parse(line, new(sampleParams))
	if err == nil || err.Text != "" {
		return "other"
	}
	switch err.Kind {
	case grammar.Syntax, grammar.Arity, grammar.NotInteger, grammar.NotFloat:
		return err.Kind.String()
	}
	return "other"
}

func arityFits(s sample, line [][]byte) bool {
	arity, count := s.Arity(s.names), len(line)+s.names
	return count == arity || arity < 0 && count >= -arity
}

func verdictOfRedis(data []byte) string {
	for text, verdict := range map[string]string{
		"-ERR syntax error\r\n":                            "syntax",
		"-ERR wrong number of arguments":                   "arity",
		"-ERR value is not an integer or out of range\r\n": "not an integer",
		"-ERR value is not a valid float\r\n":              "not a float",
	} {
		if bytes.HasPrefix(data, []byte(text)) {
			return verdict
		}
	}
	return "other"
}

func TestKeysAgreeWithRedis(t *testing.T) {
	redis := redistest.Start(t)
	const seed = 20260105
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, s := range samples() {
		for range 100 {
			line := s.Generate(r, r.IntN(2) == 0)
			// Without an argument it is GETKEYS itself that has too few.
			if len(line) == 0 || relaxed(s, line) {
				continue
			}
			var w reply.Writer
			refs, _ := s.Keys(nil, line)
			switch {
			case !arityFits(s, line):
				w.Error("ERR", "Invalid number of arguments specified for command")
			case !s.HasKeys():
				w.Error("ERR", "The command has no key arguments")
			case len(refs) == 0 && s.name != "EVAL": // which has no mandatory keys
				w.Error("ERR", "Invalid arguments specified for command")
			default:
				w.Array(len(refs))
				for _, ref := range refs {
					w.Bulk(line[ref.Index])
				}
			}
			want := redis.Do(append([]string{"COMMAND", "GETKEYS"}, words(s.name, line)...)...)
			if !bytes.Equal(w.Bytes(), want) {
				t.Errorf("%s %q: %q, Redis %q", s.name, line, w.Bytes(), want)
			}
		}
	}
}

// The same keys with what the command does to them. Redis knows no flags where its
// specs fail, so only lines without mistakes are compared.
func TestKeyFlagsAgreeWithRedis(t *testing.T) {
	redis := redistest.Start(t)
	const seed = 20260106
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, row := range allShapes() {
		if !row.shape.HasKeys() || row.name == "BITFIELD" { // whose sample has no WithKeys
			continue
		}
		for range 50 {
			line := row.shape.Generate(r, false)
			refs, ok := row.shape.Keys(nil, line)
			if !ok || len(refs) == 0 {
				continue
			}
			var w reply.Writer
			w.Array(len(refs))
			for _, ref := range refs {
				w.Array(2)
				w.Bulk(line[ref.Index])
				flags := w.DeferArray(1)
				count := 0
				ref.Flags.Names(func(name string) {
					w.Status(name)
					count++
				})
				w.Close(flags, count)
			}
			want := redis.Do(append([]string{"COMMAND", "GETKEYSANDFLAGS"}, words(row.name, line)...)...)
			if !bytes.Equal(w.Bytes(), want) {
				t.Errorf("%s %q: %q, Redis %q", row.name, line, w.Bytes(), want)
			}
		}
	}
}

// relaxed reports whether the line has a count of keys that is no integer. Redis
// then falls back on atoi, which reads " 1" and "1.5" as 1, though the command
// itself refuses them.
func relaxed(s sample, line [][]byte) bool {
	for _, spec := range s.KeySpecs(1) {
		if spec.Find == grammar.FindKeyNum && spec.Index <= len(line) {
			if _, ok := grammar.ParseInt(line[spec.Index-1]); !ok {
				return true
			}
		}
	}
	return false
}

// The first key, last key and step, as COMMAND INFO says them.
func TestKeyRangesAgreeWithRedis(t *testing.T) {
	redis := redistest.Start(t)
	for _, row := range allShapes() {
		if row.names != 1 {
			continue
		}
		info := redis.Do("COMMAND", "INFO", row.name)
		first, last, step, movable := row.shape.KeyRange(1)
		var w reply.Writer
		w.Int(int64(first))
		w.Int(int64(last))
		w.Int(int64(step))
		if !bytes.Contains(info, w.Bytes()) || movable != bytes.Contains(info, []byte("movablekeys")) {
			t.Errorf("%s: %q, movable %v, Redis %q", row.name, w.Bytes(), movable, info)
		}
	}
}
