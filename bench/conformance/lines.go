package main

// This file owns the sequence of command lines that a seed stands for. It must
// not know the servers.

import (
	"bytes"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// sessions is the number of connections that a case's lines are spread over: the
// second is what WATCH is for.
const sessions = 2

// line is one command line of one session.
type line struct {
	session int
	args    [][]byte
}

// name is the command's name in upper case.
func (l line) name() string {
	if len(l.args) == 0 {
		return ""
	}
	return strings.ToUpper(string(l.args[0]))
}

// String is the line as redis-cli takes it, behind the number of its session.
func (l line) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d>", l.session)
	for _, arg := range l.args {
		text.WriteByte(' ')
		if len(arg) > 0 && !bytes.ContainsFunc(arg, func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\'' || c == '\\' }) {
			text.Write(arg)
			continue
		}
		text.WriteString(strconv.Quote(string(arg)))
	}
	return text.String()
}

// source yields the same lines for the same seed, without end.
type source func(seed uint64) iter.Seq[line]

// group is a number of templates that lines are drawn from alike.
type group struct {
	weight    int // in relation to the other groups'
	templates [][]node
}

// compiled returns the families' templates as groups.
func compiled(from []family) ([]group, error) {
	values := templateValues()
	var groups []group
	for _, f := range from {
		g := group{weight: f.weight}
		for _, text := range f.templates {
			nodes, err := compileTemplate(text, values)
			if err != nil {
				return nil, fmt.Errorf("family %s: %w", f.name, err)
			}
			g.templates = append(g.templates, nodes)
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// generated makes lines from groups of templates; there must be one at least.
func generated(from []group) source {
	total := 0
	for _, g := range from {
		total += g.weight
	}
	next := func(r *rand.Rand) [][]byte {
		at := r.IntN(total)
		i := slices.IndexFunc(from, func(g group) bool { at -= g.weight; return at < 0 })
		args := expand(r, nil, from[i].templates[r.IntN(len(from[i].templates))])
		if r.IntN(8) == 0 {
			args = damage(r, args)
		}
		return oneScore(popsAll(longLived(args)))
	}
	return func(seed uint64) iter.Seq[line] {
		return func(yield func(line) bool) {
			r := rand.New(rand.NewPCG(seed, 0))
			var open [sessions]bool // a transaction that was begun and not ended
			session := 0
			for {
				if r.IntN(10) == 0 {
					session = r.IntN(sessions)
				}
				l := line{session: session, args: next(r)}
				if open[session] && r.IntN(6) == 0 {
					l.args = [][]byte{[]byte("EXEC")}
				}
				switch l.name() {
				case "MULTI":
					open[session] = true
				case "EXEC", "DISCARD", "RESET", "QUIT":
					open[session] = false
				}
				if !yield(l) {
					return
				}
			}
		}
	}
}

// damage makes one or two mistakes in a line; the command's name stays.
func damage(r *rand.Rand, args [][]byte) [][]byte {
	for range 1 + r.IntN(2) {
		if len(args) < 2 {
			return append(args, []byte(strays[r.IntN(len(strays))]))
		}
		i := 1 + r.IntN(len(args)-1)
		switch r.IntN(6) {
		case 0: // an argument is missing
			args = slices.Delete(args, i, i+1)
		case 1: // one is given twice
			args = slices.Insert(args, i, args[i])
		case 2: // two have changed places
			j := 1 + r.IntN(len(args)-1)
			args[i], args[j] = args[j], args[i]
		case 3: // one is of another kind
			args[i] = []byte(strays[r.IntN(len(strays))])
		case 4: // one too many
			args = append(args, []byte(strays[r.IntN(len(strays))]))
		case 5: // the line breaks off
			args = args[:i]
		}
	}
	return args
}

// longLived replaces deadlines that pass while a case runs: the two servers do
// not see the same instant. For SET that holds of past ones too: Redis counts
// such a key in DBSIZE until it happens to come across it.
func longLived(args [][]byte) [][]byte {
	from := len(args)
	name := line{args: args}.name()
	switch name {
	case "EXPIRE", "PEXPIRE", "SETEX", "PSETEX", "RESTORE":
		from = 2
	case "SET", "GETEX":
		from = 3
	case "XREAD", "XREADGROUP":
		from = 1
	}
	for i := from; i < len(args); i++ {
		n, err := strconv.ParseInt(string(args[i]), 10, 64)
		if err != nil {
			continue
		}
		if n >= 0 && i > 0 && strings.EqualFold(string(args[i-1]), "BLOCK") {
			args[i] = []byte("1") // nobody would wake it
			continue
		}
		absolute := i > 0 && strings.HasSuffix(strings.ToUpper(string(args[i-1])), "XAT")
		switch {
		case name == "SET" && absolute && n > 0 && n < 4_000_000_000_000:
			args[i] = []byte("4000000000000")
		case !absolute && name[0] != 'X' && n > 0 && n < 100_000:
			args[i] = []byte("100000")
		}
	}
	return args
}

// popsAll has SPOP take a whole set: of which members fewer are is each server's own
// choice, and the sets would differ from then on.
func popsAll(args [][]byte) [][]byte {
	if (line{args: args}).name() != "SPOP" || len(args) < 2 || len(args) > 3 {
		return args
	}
	if len(args) == 2 {
		return append(args, []byte("1000"))
	}
	if n, err := strconv.ParseInt(string(args[2]), 10, 64); err == nil && n > 0 {
		args[2] = []byte("100000")
	}
	return args
}
