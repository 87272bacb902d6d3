package grammar_test

// This file owns the test of what the compiler cannot check: that all accessors of a
// grammar take its params.

import (
	"strings"
	"testing"

	"reminis/commands/grammar"
)

type part struct {
	word []byte
	set  bool
}

type whole struct {
	part part
	word []byte
}

func TestAccessorsOfOtherParamsAreRefused(t *testing.T) {
	partWord := func(p *part) *[]byte { return &p.word }
	partSet := func(p *part) *bool { return &p.set }
	wholeWord := func(p *whole) *[]byte { return &p.word }
	for name, declare := range map[string]func(){
		"first node":      func() { grammar.Compile[whole](grammar.Bytes("word", partWord)) },
		"later node":      func() { grammar.Compile[whole](grammar.Bytes("word", wholeWord), grammar.Token("SET", partSet)) },
		"node in a block": func() { grammar.Compile[whole](grammar.Block("b", grammar.Bytes("word", partWord)).After("B")) },
		"clause":          func() { grammar.Compile[whole](grammar.Options(grammar.Token("SET", partSet))) },
		"nodes of one block": func() {
			grammar.Compile[part](grammar.Block("b", grammar.Token("SET", partSet), grammar.Bytes("word", wholeWord)))
		},
		"no accessor": func() { grammar.Compile[whole](grammar.Token[*part]("SET", nil)) },
		"present":     func() { grammar.Bytes("word", wholeWord).Present(grammar.BoolOf(partSet)) },
		"present on a block": func() {
			grammar.Compile[whole](grammar.Block("b", grammar.Bytes("word", wholeWord)).Present(grammar.BoolOf(partSet)))
		},
		"lifted": func() { grammar.Lift(func(p *whole) *part { return &p.part }, grammar.Bytes("word", wholeWord)) },
		"not lifted": func() {
			grammar.Compile[whole](grammar.Lift(func(p *whole) *part { return &p.part }, grammar.Bytes("word", partWord)), grammar.Bytes("word", partWord))
		},
		"element": func() {
			grammar.Each("words", func(p *struct{ parts []part }) *[]part { return &p.parts }, grammar.Bytes("word", wholeWord))
		},
	} {
		if text := panicOf(declare); !strings.Contains(text, "must not take params of two types") {
			t.Errorf("%s: panics with %q", name, text)
		}
	}
	g := grammar.Compile[whole](grammar.Lift(func(p *whole) *part { return &p.part }, grammar.Bytes("word", partWord)))
	if _, ok := g.NewParams().(*whole); !ok {
		t.Error("NewParams makes others")
	}
	if panicOf(func() { _ = g.Parse(argv("a"), new(part)) }) == "" {
		t.Error("Parse takes others")
	}
	if panicOf(func() { grammar.Compile[whole](grammar.Token[whole]("SET", nil)) }) == "" {
		t.Error("Compile takes accessors of params that are not behind a pointer")
	}
}

// panicOf returns what f panics with, "" when it does not.
func panicOf(f func()) (text string) {
	defer func() {
		switch cause := recover().(type) {
		case string:
			text = cause
		case error:
			text = cause.Error()
		}
	}()
	f()
	return ""
}
