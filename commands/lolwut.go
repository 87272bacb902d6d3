package commands

import (
	"math/rand/v2"
	"strings"

	"reminis/commands/grammar"
	"reminis/commands/reply"
)

// This file owns LOLWUT.

type lolwutParams struct{ version int64 }

func lolwutCommand() *Command {
	return onSession(Declaration{
		Name: "lolwut", Family: Server, Since: "5.0.0", Summary: "Display some computer art and the Redis version",
		Flags: ReadOnly | Fast, Reply: reply.Verbatim(),
	}, grammar.Compile[lolwutParams](
		grammar.Custom("", parseLolwut, grammar.Opt(grammar.Int("version", func(*lolwutParams) *int64 { return new(int64) }).After("VERSION"))),
	), runLolwut)
}

// parseLolwut takes whatever follows: it is for the artist.
func parseLolwut(p *lolwutParams, args [][]byte) (int, *grammar.Error) {
	if len(args) > 1 && equalFold(args[0], "version") {
		version, ok := grammar.ParseInt(args[1])
		if !ok {
			return 1, grammar.Fail(grammar.NotInteger, "")
		}
		p.version = version
	}
	return len(args), nil
}

const (
	artRows    = 24
	artColumns = 66
)

// artRules are elementary cellular automata (Wolfram) that are never dull.
var artRules = [...]uint8{22, 30, 54, 60, 73, 90, 105, 110, 126, 150}

// runLolwut draws the history of a row of cells, each of which remembers only what
// it and its neighbours were.
func runLolwut(_ *Session, _ *lolwutParams, w *reply.Writer) error {
	rule := artRules[rand.IntN(len(artRules))]
	cells := make([]uint8, artColumns)
	cells[artColumns/2] = 1
	for range rand.IntN(6) {
		cells[rand.IntN(artColumns)] = 1
	}
	var out strings.Builder
	for range artRows {
		next := make([]uint8, artColumns)
		for i, cell := range cells {
			out.WriteString([...]string{" ", "█"}[cell])
			left, right := cells[(i+artColumns-1)%artColumns], cells[(i+1)%artColumns]
			next[i] = rule >> (left<<2 | cell<<1 | right) & 1
		}
		out.WriteByte('\n')
		cells = next
	}
	out.WriteString("\nWhat is remembered of one moment, by rule. Redis ver. " + RedisVersion + "\n")
	w.Verbatim("txt", out.String())
	return nil
}
