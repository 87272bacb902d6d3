package lua

import "github.com/yuin/gopher-lua/ast"

// This file owns lifting: what a script declares in the same way each time it runs is
// declared once for each state, so that a script of many functions does not make them all
// anew. A script that gains by it becomes a chunk of those declarations, which returns
// the rest of the script as a function.
//
// What is lifted is never assigned again and depends on nothing of a run: functions whose
// free variables are lifted themselves or global, names for a library's members, and
// literals. As functions have no identity that outlives a run, no script can tell.

// liftsMax bounds what is lifted: each becomes an upvalue of the rest of the script.
const liftsMax = 60

// lifter collects what lifting needs while a script's tree is walked.
type lifter struct {
	chunk *scope // of the script
	// used has the variables of the chunk that the statement that is walked uses.
	used map[*local]bool
	// globals are the names that are read or assigned where no variable has them.
	globals map[string]bool
	// varargs says that the chunk uses its arguments.
	varargs bool
	uses    []map[*local]bool // by statement of the chunk
}

// found notes that a name was looked up, in which scope: nil if it is a global one's.
func (f *lifter) found(name string, in *scope, l *local) {
	switch {
	case f.chunk == nil:
	case in == nil:
		f.globals[name] = true
	case in == f.chunk:
		f.used[l] = true
	}
}

// statement begins a statement of the chunk.
func (f *lifter) statement() {
	f.used = map[*local]bool{}
	f.uses = append(f.uses, f.used)
}

// lift splits the statements of a chunk that was walked; lifted is nil where no function
// can be declared once.
func (f *lifter) lift(stmts []ast.Stmt) (lifted, rest []ast.Stmt) {
	if f.varargs {
		return nil, nil
	}
	declared := map[string]int{}
	for _, stmt := range stmts {
		if st, ok := stmt.(*ast.LocalAssignStmt); ok {
			for _, name := range st.Names {
				declared[name]++
			}
		}
	}
	isLifted, functions := map[*local]bool{}, false
	for i, stmt := range stmts {
		st, ok := stmt.(*ast.LocalAssignStmt)
		if !ok || len(lifted) == liftsMax || !f.constant(st) || declared[st.Names[0]] > 1 || f.globals[st.Names[0]] {
			rest = append(rest, stmt)
			continue
		}
		own := f.chunk.names[st.Names[0]]
		free := !own.assigned
		for l := range f.uses[i] {
			free = free && (l == own || isLifted[l])
		}
		if !free {
			rest = append(rest, stmt)
			continue
		}
		isLifted[own] = true
		lifted = append(lifted, stmt)
		_, isFunction := st.Exprs[0].(*ast.FunctionExpr)
		functions = functions || isFunction
	}
	if !functions {
		return nil, nil
	}
	return lifted, rest
}

// constant says whether a declaration is of one variable, whose value may be the same each
// time.
func (f *lifter) constant(st *ast.LocalAssignStmt) bool {
	if len(st.Names) != 1 || len(st.Exprs) != 1 {
		return false
	}
	switch e := st.Exprs[0].(type) {
	case *ast.FunctionExpr, *ast.StringExpr, *ast.NumberExpr, *ast.TrueExpr, *ast.FalseExpr:
		return true
	case *ast.IdentExpr:
		return isMemberName(e.Value)
	}
	return false
}

// split makes a chunk that declares what is lifted and returns the rest as a function.
func split(lifted, rest []ast.Stmt) []ast.Stmt {
	body := &ast.FunctionExpr{ParList: &ast.ParList{}, Stmts: rest}
	first, last := lifted[0], lifted[len(lifted)-1]
	if len(rest) > 0 {
		last = rest[len(rest)-1]
	}
	body.SetLine(first.Line())
	body.SetLastLine(last.LastLine())
	result := &ast.ReturnStmt{Exprs: []ast.Expr{body}}
	place(result, body)
	return append(lifted, result)
}
