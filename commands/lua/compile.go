package lua

import (
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// This file owns the way from a script's text to what a State runs.

// Script is a compiled script. It is never changed.
type Script struct {
	proto *lua.FunctionProto
	sites []site
	// split says that the code returns what is to be run (lift.go).
	split bool
	Facts
}

// Compile compiles the text of a script; name is what errors call it. The error's
// text is what Lua says: name:line: message.
func (in *Interpreter) Compile(text, name string) (*Script, error) {
	return compile(text, name, in.env)
}

// compile compiles a text for an environment.
func compile(text, name string, env *environment) (script *Script, err error) {
	defer func() {
		// The rewriter panics where a tree is too deep, the compiler where a function
		// needs more registers or constants than its instructions can name.
		switch failure := recover().(type) {
		case nil:
		case tooDeep:
			script, err = nil, syntaxError(name, int(failure), "chunk has too many syntax levels")
		default:
			script, err = nil, syntaxError(name, 0, fmt.Sprint(failure))
		}
	}()
	chunk, err := parse.Parse(strings.NewReader(text), name)
	if err != nil {
		return nil, fromParser(name, text, err)
	}
	r := rewriter{env: env, facts: &collector{turns: 1}}
	r.chunk(chunk)
	isSplit := false
	if lifted, rest := r.lifter.lift(chunk); lifted != nil && !env.loads {
		chunk, isSplit = split(lifted, rest), true
	}
	proto, err := lua.Compile(chunk, name)
	if err != nil {
		return nil, fromCompiler(name, err)
	}
	// A chunk would get its arguments as a table arg, which PUC Lua gives to functions
	// only; it takes longer to make than a short script runs.
	proto.IsVarArg &^= lua.VarArgNeedsArg
	return &Script{proto: proto, sites: r.sites, split: isSplit, Facts: r.facts.sum()}, nil
}
