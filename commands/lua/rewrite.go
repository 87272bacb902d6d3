package lua

import (
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// This file owns the repairs of a script's tree, before it is compiled: what
// gopher-lua does otherwise than PUC Lua and only the tree can tell. It must not
// know how the hidden functions that it calls do their work.

// The hidden functions of the environment: no script can spell their names.
const (
	hiddenConcat = "(concat)" // operands' names, operands…
	hiddenLimit  = "(limit)"  // a limit of a numeric for, which limit it is
	hiddenModulo = "(modulo)" // two operands
	hiddenWrite  = "(write)"  // the environment, for who tries to write to it
	discardMark  = ";"        // behind a name: the same function, whose result nobody reads
)

// tooDeep is the line at which a tree is too deep to walk.
type tooDeep int

// depthMax bounds the recursion over a tree, here and in the compiler.
const depthMax = 10000

// rewriter walks a tree once: it repairs it and collects what it does.
type rewriter struct {
	env     *environment
	scope   *scope
	facts   *collector
	patches []patch
	sites   []site
	depth   int
	lifter  lifter
}

// scope is a block's local variables.
type scope struct {
	outer *scope
	names map[string]*local
	// function says that the block is the body of one.
	function bool
}

func (r *rewriter) push(function bool) { r.scope = &scope{outer: r.scope, function: function} }
func (r *rewriter) pop()               { r.scope = r.scope.outer }

func (r *rewriter) declare(name string, l *local) {
	if r.scope.names == nil {
		r.scope.names = map[string]*local{}
	}
	r.scope.names[name] = l
}

// find is the local variable that a name means, nil for a global one.
func (r *rewriter) find(name string) *local {
	for s := r.scope; s != nil; s = s.outer {
		if l := s.names[name]; l != nil {
			r.lifter.found(name, s, l)
			return l
		}
	}
	r.lifter.found(name, nil, nil)
	return nil
}

func (r *rewriter) enter(at ast.PositionHolder) {
	if r.depth++; r.depth > depthMax {
		panic(tooDeep(at.Line()))
	}
}

func (r *rewriter) leave() { r.depth-- }

// chunk repairs a whole text. Its statements may be split then (lift.go).
func (r *rewriter) chunk(stmts []ast.Stmt) {
	r.push(true)
	r.lifter.chunk, r.lifter.globals = r.scope, map[string]bool{}
	for i := range stmts {
		r.lifter.statement()
		r.stmts(stmts[i : i+1])
	}
	r.pop()
	r.applyPatches()
}

func (r *rewriter) block(stmts []ast.Stmt) {
	r.push(false)
	r.stmts(stmts)
	r.pop()
}

func (r *rewriter) stmts(stmts []ast.Stmt) {
	for i := range stmts {
		r.enter(stmts[i])
		stmts[i] = r.stmt(stmts[i])
		r.leave()
	}
}

func (r *rewriter) stmt(stmt ast.Stmt) ast.Stmt {
	switch st := stmt.(type) {
	case *ast.AssignStmt:
		r.exprs(st.Rhs)
		for i := range st.Lhs {
			st.Lhs[i] = r.target(st.Lhs[i])
		}
	case *ast.LocalAssignStmt:
		r.localAssign(st)
	case *ast.FuncCallStmt:
		st.Expr = r.callStmt(st.Expr)
	case *ast.DoBlockStmt:
		r.block(st.Stmts)
	case *ast.WhileStmt:
		r.facts.loop()
		st.Condition = r.expr(st.Condition)
		r.block(st.Stmts)
	case *ast.RepeatStmt:
		r.facts.loop()
		r.push(false)
		r.stmts(st.Stmts)
		st.Condition = r.expr(st.Condition) // it sees the block's variables
		r.pop()
	case *ast.IfStmt:
		st.Condition = r.expr(st.Condition)
		r.block(st.Then)
		r.block(st.Else)
	case *ast.NumberForStmt:
		r.numberFor(st)
	case *ast.GenericForStmt:
		r.facts.loop()
		overKeys := r.overKeys(st.Exprs)
		if !overKeys {
			r.exprs(st.Exprs)
		}
		r.push(false)
		for i, name := range st.Names {
			l := &local{}
			if i == 1 && overKeys {
				l.means = meaning{kind: meansKey}
			}
			r.declare(name, l)
		}
		r.stmts(st.Stmts)
		r.pop()
	case *ast.FuncDefStmt:
		return r.funcDef(st)
	case *ast.ReturnStmt:
		r.exprs(st.Exprs)
	case *ast.GotoStmt:
		r.facts.loop()
	}
	return stmt
}

func (r *rewriter) localAssign(st *ast.LocalAssignStmt) {
	if fn, recursive := localFunction(st); recursive {
		r.declare(st.Names[0], &local{})
		st.Exprs[0] = r.expr(fn)
		return
	}
	meanings := make([]*local, len(st.Names))
	for i := range st.Names {
		meanings[i] = &local{}
		if i < len(st.Exprs) {
			meanings[i].means = r.meaning(st.Exprs[i])
		}
	}
	for i, e := range st.Exprs {
		// A name for redis.call is not a way to it that would be overlooked.
		if i < len(meanings) && meanings[i].means.from == nil && meanings[i].means.command() != "" {
			st.Exprs[i] = identAt(e, meanings[i].means.command())
			continue
		}
		st.Exprs[i] = r.expr(e)
	}
	for i, name := range st.Names {
		r.declare(name, meanings[i])
	}
}

// localFunction says whether a statement is `local function f`, whose body sees f.
// The parser makes the same node of `local f = function`, whose body does not; but
// there the function begins behind the statement's own line or column only by
// position, which nodes do not have. Both are treated as the former, which differs
// only where the body means a variable f outside.
func localFunction(st *ast.LocalAssignStmt) (*ast.FunctionExpr, bool) {
	if len(st.Names) != 1 || len(st.Exprs) != 1 {
		return nil, false
	}
	fn, ok := st.Exprs[0].(*ast.FunctionExpr)
	return fn, ok
}

func (r *rewriter) numberFor(st *ast.NumberForStmt) {
	defer func(turns int) { r.facts.turns = turns }(r.facts.turns)
	r.facts.numberFor(st)
	st.Init = r.limit(r.expr(st.Init), "initial")
	st.Limit = r.limit(r.expr(st.Limit), "limit")
	if st.Step != nil {
		st.Step = r.limit(r.expr(st.Step), "step")
	}
	r.push(false)
	r.declare(st.Name, &local{})
	r.stmts(st.Stmts)
	r.pop()
}

// limit makes a number of a limit that may be a string.
func (r *rewriter) limit(e ast.Expr, which string) ast.Expr {
	switch e.(type) {
	case *ast.NumberExpr, *ast.UnaryLenOpExpr, *ast.ArithmeticOpExpr, *ast.UnaryMinusOpExpr:
		return e
	}
	return hiddenCall(e, hiddenLimit, single(e), stringAt(e, which))
}

// funcDef is `function name() … end`.
func (r *rewriter) funcDef(st *ast.FuncDefStmt) ast.Stmt {
	if st.Name.Receiver != nil {
		st.Name.Receiver = r.expr(st.Name.Receiver)
		r.expr(st.Func)
		return st
	}
	r.expr(st.Func)
	st.Name.Func = r.target(st.Name.Func)
	return st
}

// target is what is assigned to. Globals cannot be: their table refuses it.
func (r *rewriter) target(e ast.Expr) ast.Expr {
	switch t := e.(type) {
	case *ast.IdentExpr:
		if l := r.find(t.Value); l != nil {
			l.assigned = true
			return t
		}
		r.facts.opaque()
		return attributeAt(t, identAt(t, hiddenWrite), t.Value)
	case *ast.AttrGetExpr:
		r.note(t, siteIndex, r.describe(t.Object), "", constantKey(t.Key))
		t.Object = r.expr(t.Object)
		t.Key = r.expr(t.Key)
	}
	return e
}

func (r *rewriter) exprs(es []ast.Expr) {
	for i := range es {
		es[i] = r.expr(es[i])
	}
}

func (r *rewriter) expr(e ast.Expr) ast.Expr {
	r.enter(e)
	defer r.leave()
	switch x := e.(type) {
	case *ast.NumberExpr:
		x.Value = literal(x.Value)
	case *ast.IdentExpr:
		r.facts.value(r, x)
	case *ast.AttrGetExpr:
		if hidden := r.member(x); hidden != nil {
			r.facts.member(hidden.Value)
			return hidden
		}
		r.note(x, siteIndex, r.describe(x.Object), "", constantKey(x.Key))
		x.Key = r.expr(x.Key)
		if !r.isParameterTable(x.Object) {
			x.Object = r.expr(x.Object)
		}
	case *ast.TableExpr:
		for _, f := range x.Fields {
			if f.Key != nil {
				f.Key = r.expr(f.Key)
			}
			f.Value = r.expr(f.Value)
		}
	case *ast.FuncCallExpr:
		return r.call(x, false)
	case *ast.LogicalOpExpr:
		x.Lhs, x.Rhs = r.expr(x.Lhs), r.expr(x.Rhs)
	case *ast.RelationalOpExpr:
		x.Lhs, x.Rhs = r.expr(x.Lhs), r.expr(x.Rhs)
	case *ast.StringConcatOpExpr:
		return r.concat(x)
	case *ast.ArithmeticOpExpr:
		r.note(x, siteArithmetic, r.describe(x.Lhs), r.describe(x.Rhs), "")
		x.Lhs, x.Rhs = r.expr(x.Lhs), r.expr(x.Rhs)
		if x.Operator == "%" {
			// gopher-lua gives -0 for -4 % 2, and other remainders of large numbers.
			return hiddenCall(x, hiddenModulo, single(x.Lhs), single(x.Rhs))
		}
	case *ast.UnaryMinusOpExpr:
		if _, constant := x.Expr.(*ast.NumberExpr); !constant {
			r.note(x, siteArithmetic, r.describe(x.Expr), "", "")
		}
		x.Expr = r.expr(x.Expr)
	case *ast.UnaryNotOpExpr:
		x.Expr = r.expr(x.Expr)
	case *ast.UnaryLenOpExpr:
		r.note(x, siteLength, r.describe(x.Expr), "", "")
		if !r.isParameterTable(x.Expr) {
			x.Expr = r.expr(x.Expr)
		}
	case *ast.FunctionExpr:
		r.function(x)
	case *ast.Comma3Expr:
		r.lifter.varargs = r.lifter.varargs || !r.inFunction()
	}
	return e
}

// inFunction says whether what is walked belongs to a function of the script.
func (r *rewriter) inFunction() bool {
	s := r.scope
	for !s.function {
		s = s.outer
	}
	return s != r.lifter.chunk
}

// isParameterTable says whether an expression is the global KEYS or ARGV, which
// may be measured and indexed without being known to anybody else.
func (r *rewriter) isParameterTable(e ast.Expr) bool {
	ident, ok := e.(*ast.IdentExpr)
	return ok && (ident.Value == keysName || ident.Value == argvName) && r.find(ident.Value) == nil
}

func (r *rewriter) function(x *ast.FunctionExpr) {
	r.facts.loop() // it may call itself
	r.push(true)
	for _, name := range x.ParList.Names {
		r.declare(name, &local{})
	}
	r.stmts(x.Stmts)
	r.pop()
}

// member is the hidden name of a library's member, nil where x is something else.
func (r *rewriter) member(x *ast.AttrGetExpr) *ast.IdentExpr {
	library, ok := x.Object.(*ast.IdentExpr)
	if !ok || r.find(library.Value) != nil {
		return nil
	}
	key, ok := x.Key.(*ast.StringExpr)
	if !ok || !r.env.hasMember(library.Value, key.Value) {
		return nil
	}
	return identAt(x, memberName(library.Value, key.Value))
}

// callStmt is a call whose results nobody reads.
func (r *rewriter) callStmt(e ast.Expr) ast.Expr {
	call, ok := e.(*ast.FuncCallExpr)
	if !ok {
		return r.expr(e)
	}
	r.enter(e)
	defer r.leave()
	return r.call(call, true)
}

func (r *rewriter) call(x *ast.FuncCallExpr, discarded bool) ast.Expr {
	if x.Receiver != nil {
		r.note(x, siteCall, "method '"+x.Method+"'", "", "")
		r.note(x, siteIndex, r.describe(x.Receiver), "", x.Method)
		r.facts.loop() // a method of strings may be a search for a pattern
		x.Receiver = r.expr(x.Receiver)
		r.exprs(x.Args)
		return x
	}
	r.note(x, siteCall, r.describe(x.Func), "", "")
	callee := r.meaning(x.Func)
	if name := callee.command(); name != "" {
		r.facts.called(r, x.Args)
		if discarded {
			name += discardMark
		}
		r.patches = append(r.patches, patch{x, callee.from, identAt(x.Func, name)})
	} else {
		x.Func = r.expr(x.Func)
	}
	reads := r.readsTables(x.Func)
	for i := range x.Args {
		if !reads || !r.isParameterTable(x.Args[i]) {
			x.Args[i] = r.expr(x.Args[i])
		}
	}
	return x
}

// patch is a call of a command through a name, to be made direct once it is known
// that the name is never assigned again.
type patch struct {
	call   *ast.FuncCallExpr
	from   *local
	direct *ast.IdentExpr
}

func (r *rewriter) applyPatches() {
	for _, p := range r.patches {
		if p.from == nil || !p.from.assigned {
			p.call.Func = p.direct
		}
	}
}

// concat makes a chain of .. one call. PUC Lua's operator is right-associative, and
// evaluates all operands of a chain from the left before it joins them.
func (r *rewriter) concat(x *ast.StringConcatOpExpr) ast.Expr {
	var names strings.Builder
	args := []ast.Expr{nil}
	for e := ast.Expr(x); e != nil; {
		operand := e
		e = nil
		if chain, ok := operand.(*ast.StringConcatOpExpr); ok {
			operand, e = chain.Lhs, chain.Rhs
		}
		names.WriteString(r.describe(operand))
		names.WriteByte(0)
		args = append(args, single(r.expr(operand)))
	}
	args[0] = stringAt(x, names.String())
	return hiddenCall(x, hiddenConcat, args...)
}

// describe is what PUC Lua's errors call an operand: local 'x', global 'x',
// field 'x' or upvalue 'x'; "" where it is none of them (ldebug.c getobjname).
func (r *rewriter) describe(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.IdentExpr:
		crossed := false
		for s := r.scope; s != nil; s = s.outer {
			if s.names[x.Value] != nil {
				if crossed {
					return "upvalue '" + x.Value + "'"
				}
				return "local '" + x.Value + "'"
			}
			crossed = crossed || s.function
		}
		return "global '" + x.Value + "'"
	case *ast.AttrGetExpr:
		if key, ok := x.Key.(*ast.StringExpr); ok {
			return "field '" + key.Value + "'"
		}
	}
	return ""
}

// note remembers an operation that may fail, for the errors.
func (r *rewriter) note(at ast.PositionHolder, kind siteKind, first, second, key string) {
	r.sites = append(r.sites, site{line: at.Line(), kind: kind, names: [2]string{first, second}, key: key})
}

func constantKey(e ast.Expr) string {
	if key, ok := e.(*ast.StringExpr); ok {
		return key.Value
	}
	return ""
}

// literal writes a number so that gopher-lua reads what PUC Lua would: 010 is ten.
func literal(text string) string {
	n, ok := parseNumber(text)
	if !ok {
		return text // the compiler refuses it
	}
	return strconv.FormatFloat(float64(n), 'g', -1, 64)
}

// single is an expression that gives one value.
func single(e ast.Expr) ast.Expr {
	switch x := e.(type) {
	case *ast.FuncCallExpr:
		x.AdjustRet = true
	case *ast.Comma3Expr:
		x.AdjustRet = true
	}
	return e
}

func identAt(at ast.PositionHolder, name string) *ast.IdentExpr {
	e := &ast.IdentExpr{Value: name}
	place(e, at)
	return e
}

func stringAt(at ast.PositionHolder, text string) *ast.StringExpr {
	e := &ast.StringExpr{Value: text}
	place(e, at)
	return e
}

func attributeAt(at ast.PositionHolder, object ast.Expr, key string) *ast.AttrGetExpr {
	e := &ast.AttrGetExpr{Object: object, Key: stringAt(at, key)}
	place(e, at)
	return e
}

func hiddenCall(at ast.PositionHolder, name string, args ...ast.Expr) *ast.FuncCallExpr {
	e := &ast.FuncCallExpr{Func: identAt(at, name), Args: args, AdjustRet: true}
	place(e, at)
	return e
}

func place(e, at ast.PositionHolder) {
	e.SetLine(at.Line())
	e.SetLastLine(at.LastLine())
}
