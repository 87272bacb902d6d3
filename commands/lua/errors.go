package lua

import (
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// This file owns the texts of errors that come from the language and from the
// functions of the library redis.

// Error is an error of a script that ended: what it said, and where.
type Error struct {
	// Text begins with the code of the error.
	Text string
	// Source and Line are where it was raised; Line 0: nobody knows.
	Source string
	Line   int
	// Counted says that the error was counted when a command of the script made it.
	Counted bool
}

func (e *Error) Error() string { return e.Text }

// parseError is why a text is no script.
type parseError string

func (e parseError) Error() string { return string(e) }

func syntaxError(name string, line int, text string) error {
	return parseError(fmt.Sprintf("%s:%d: %s", name, line, text))
}

// fromParser says in PUC Lua's form what the parser found.
func fromParser(name, text string, err error) error {
	var found *parse.Error
	if !errors.As(err, &found) {
		return syntaxError(name, 1, err.Error())
	}
	near := "'" + found.Token + "'"
	line := found.Pos.Line
	if line == parse.EOF || found.Token == "" {
		near = "'<eof>'"
	}
	if line == parse.EOF {
		line = 1 + strings.Count(text, "\n")
	}
	message := found.Message
	if message == "syntax error" || strings.HasPrefix(message, "parse error") {
		message = "syntax error"
	}
	return syntaxError(name, line, message+" near "+near)
}

func fromCompiler(name string, err error) error {
	var found *lua.CompileError
	if errors.As(err, &found) {
		return syntaxError(name, found.Line, found.Message)
	}
	return syntaxError(name, 1, err.Error())
}

// The errors of the sandbox and of the library redis, as Redis 7.0.15 has them
// (script_lua.c).
const (
	errReadonly     = "Attempt to modify a readonly table"
	errNoArguments  = "Please specify at least one argument for this redis lib call"
	errArguments    = "Lua redis lib command arguments must be strings or integers"
	errSha1hex      = "wrong number of arguments"
	errOneString    = "wrong number or type of arguments"
	errLogArguments = "redis.log() requires two arguments or more."
	errLogLevel     = "Invalid debug level."
	errRespVersion  = "RESP version must be 2 or 3."
	errRespCount    = "redis.setresp() requires one argument."
	errReplCount    = "redis.set_repl() requires two arguments."
	errReplFlags    = "Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE."
	errACLCommand   = "Invalid command passed to redis.acl_check_cmd()"
	errOutside      = "redis.call/pcall can only be called inside a script invocation"
	errStackLimit   = "ERR reached lua stack limit"
)

// errorLine is an error's text with a code in front: ERR, unless it begins with a
// minus sign and its own (script_lua.c luaPushErrorBuff).
func errorLine(text string) string {
	text = strings.TrimRight(text, "\r\n")
	if rest, minus := strings.CutPrefix(text, "-"); minus {
		if strings.Contains(rest, " ") {
			return rest
		}
		return "ERR " + rest
	}
	return "ERR " + text
}
