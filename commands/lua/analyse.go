package lua

import (
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// This file owns what can be known of a script before it runs: which commands it
// calls, and whether it ends by itself. It must not know commands.
//
// All is known of the calls of a script when redis.call and redis.pcall are only
// ever called, directly or through local variables that are assigned once, and
// nothing leads to them by another way: the table redis as a value, _G, or text
// that is compiled at run time. The elements of KEYS are the keys of the command
// line when the table is only read.

// Facts are what is known of a script.
type Facts struct {
	// Calls are all calls of commands in the script, if Known.
	Calls []Call
	Known bool
	// Bounded says that the script has no function, no search for a pattern, and no loop
	// but such as count from number to number, for few turns: it ends soon, whatever it
	// is given.
	Bounded bool
}

// Call is a call of a command as the script has it: the command and its arguments.
// There may be more arguments than these, of unknown count, when Open.
type Call struct {
	Args []Arg
	Open bool
}

// Arg is an argument of a call.
type Arg struct {
	Kind ArgKind
	Text string // of ArgText
}

// ArgKind says what is known of an argument.
type ArgKind uint8

const (
	ArgUnknown ArgKind = iota
	ArgText            // always the same text
	ArgKey             // one of the keys that the script was given
)

const (
	redisName = "redis"
	keysName  = "KEYS"
	argvName  = "ARGV"
)

// local is a local variable.
type local struct {
	means    meaning
	assigned bool // somewhere behind its declaration
}

// meaning is what an expression always is.
type meaning struct {
	kind meaningKind
	text string
	from *local // the variable it was read from, nil for none
}

type meaningKind uint8

const (
	meansUnknown meaningKind = iota
	meansCall                // redis.call
	meansPCall               // redis.pcall
	meansKey                 // an element of KEYS
	meansText
)

// command is the name of what calls commands, "" if m does not.
func (m meaning) command() string {
	switch m.kind {
	case meansCall:
		return memberName(redisName, "call")
	case meansPCall:
		return memberName(redisName, "pcall")
	}
	return ""
}

// meaning finds what an expression always is, if its variables are not assigned.
func (r *rewriter) meaning(e ast.Expr) meaning {
	switch x := e.(type) {
	case *ast.StringExpr:
		return meaning{kind: meansText, text: x.Value}
	case *ast.IdentExpr:
		if l := r.find(x.Value); l != nil && l.means.kind != meansUnknown {
			m := l.means
			r.facts.trusted = append(r.facts.trusted, l)
			m.from = l
			return m
		}
	case *ast.AttrGetExpr:
		if r.isKeys(x.Object) {
			return meaning{kind: meansKey}
		}
		if hidden := r.member(x); hidden != nil {
			switch hidden.Value {
			case memberName(redisName, "call"):
				return meaning{kind: meansCall}
			case memberName(redisName, "pcall"):
				return meaning{kind: meansPCall}
			}
		}
	}
	return meaning{}
}

func (r *rewriter) isKeys(e ast.Expr) bool {
	ident, ok := e.(*ast.IdentExpr)
	return ok && ident.Value == keysName && r.find(keysName) == nil
}

// overKeys says whether a generic for is over ipairs(KEYS) or pairs(KEYS), whose
// second value is then a key, and which hands the table to nobody else.
func (r *rewriter) overKeys(exprs []ast.Expr) bool {
	if len(exprs) != 1 {
		return false
	}
	call, ok := exprs[0].(*ast.FuncCallExpr)
	if !ok || call.Receiver != nil || len(call.Args) != 1 || !r.isKeys(call.Args[0]) {
		return false
	}
	ident, ok := call.Func.(*ast.IdentExpr)
	return ok && r.find(ident.Value) == nil && (ident.Value == "ipairs" || ident.Value == "pairs")
}

// readsTables says whether a function reads a table and keeps nothing of it but
// its elements.
func (r *rewriter) readsTables(e ast.Expr) bool {
	ident, ok := e.(*ast.IdentExpr)
	return ok && r.find(ident.Value) == nil && (ident.Value == "unpack" || ident.Value == memberName("table", "concat"))
}

// collector collects facts.
type collector struct {
	calls   []Call
	trusted []*local // variables whose meaning was relied upon
	hidden  bool     // commands may be called that are not in calls
	loops   bool
	turns   int // how often what is looked at now runs
}

// turnsMax is how often a statement of a script that is Bounded may run.
const turnsMax = 100

// numberFor is a loop that counts; what is looked at next is inside.
func (c *collector) numberFor(st *ast.NumberForStmt) {
	first, ok1 := constant(st.Init)
	limit, ok2 := constant(st.Limit)
	step, ok3 := 1, true
	if st.Step != nil {
		step, ok3 = constant(st.Step)
	}
	if !ok1 || !ok2 || !ok3 || step == 0 || (limit-first)/step >= turnsMax {
		c.loop()
		return
	}
	if c.turns *= max((limit-first)/step+1, 1); c.turns > turnsMax {
		c.loop()
	}
}

// constant is the whole number that an expression is, if it is written as one.
func constant(e ast.Expr) (n int, ok bool) {
	if minus, is := e.(*ast.UnaryMinusOpExpr); is {
		n, ok = constant(minus.Expr)
		return -n, ok
	}
	number, is := e.(*ast.NumberExpr)
	if !is {
		return 0, false
	}
	n64, err := strconv.ParseInt(number.Value, 10, 32)
	return int(n64), err == nil
}

func (c *collector) loop()   { c.loops = true }
func (c *collector) opaque() { c.hidden = true }

// value is a variable that is read as a value.
func (c *collector) value(r *rewriter, x *ast.IdentExpr) {
	if l := r.find(x.Value); l != nil {
		if name := l.means.command(); name != "" {
			c.opaque() // the function goes on under another name
		}
		return
	}
	switch x.Value {
	case redisName, keysName, "_G", "load", "loadstring":
		c.opaque()
	}
}

// member is a library's member that is read as a value, by its hidden name.
func (c *collector) member(name string) {
	switch name {
	case memberName(redisName, "call"), memberName(redisName, "pcall"):
		c.opaque()
	case memberName("string", "find"), memberName("string", "match"), memberName("string", "gmatch"),
		memberName("string", "gfind"), memberName("string", "gsub"), memberName("table", "sort"),
		memberName("coroutine", "wrap"), memberName("coroutine", "create"):
		c.loop()
	}
}

// called is a call of a command with these arguments.
func (c *collector) called(r *rewriter, args []ast.Expr) {
	call := Call{Args: make([]Arg, len(args))}
	for i, arg := range args {
		switch m := r.meaning(arg); m.kind {
		case meansText:
			call.Args[i] = Arg{Kind: ArgText, Text: m.text}
		case meansKey:
			call.Args[i] = Arg{Kind: ArgKey}
		}
		switch arg := arg.(type) {
		case *ast.FuncCallExpr:
			call.Open = call.Open || i == len(args)-1 && !arg.AdjustRet
		case *ast.Comma3Expr:
			call.Open = call.Open || i == len(args)-1 && !arg.AdjustRet
		}
	}
	if call.Open {
		call.Args = call.Args[:len(args)-1]
	}
	c.calls = append(c.calls, call)
}

// sum is what was found out, once the whole script was seen.
func (c *collector) sum() Facts {
	facts := Facts{Calls: c.calls, Known: !c.hidden, Bounded: !c.loops}
	for _, l := range c.trusted {
		if l.assigned {
			facts.Known = false
		}
	}
	if !facts.Known {
		facts.Calls = nil
	}
	return facts
}
