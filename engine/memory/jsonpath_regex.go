package memory

// This file owns match() and search() of JSONPath filters: RFC 9485 regular
// expressions with a bound on their work. See doc.go for why the library's are
// not used.

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/theory/jsonpath/registry"
	"github.com/theory/jsonpath/spec"
)

// The library does not let its functions be replaced, so a path's calls are
// renamed, at the same length, so that positions in errors stay right.
const (
	matchName    = "match"
	matchAlias   = "m_tch"
	searchName   = "search"
	searchAlias  = "s_arch"
	regexMax     = 1024 // bytes of one expression
	regexCompile = 2000 // steps that compiling one costs
)

// regexes compiles each expression of one path once.
type regexes struct {
	compiled map[string]*regex // nil: not a regular expression
	steps    *work
	err      error // the first; filters cannot return one
}

// regex is a compiled expression with its number of instructions, each of which
// may cost for every character of a text.
type regex struct {
	*regexp.Regexp
	instructions int
}

func (r *regexes) registry() *registry.Registry {
	known := registry.New()
	for _, function := range []struct {
		name     string
		anchored bool
	}{{matchAlias, true}, {searchAlias, false}} {
		err := known.Register(function.name, spec.FuncLogical, checkRegexArguments,
			func(arguments []spec.PathValue) spec.PathValue {
				return spec.Logical(r.matches(arguments, function.anchored))
			})
		if err != nil {
			panic("memory: " + err.Error()) // a name registered twice: ours are constants
		}
	}
	return known
}

func checkRegexArguments(arguments []spec.FuncExprArg) error {
	if len(arguments) != 2 {
		return errors.New("takes two arguments")
	}
	for _, argument := range arguments {
		if !argument.ConvertsTo(spec.FuncValue) {
			return errors.New("takes two values")
		}
	}
	return nil
}

func (r *regexes) matches(arguments []spec.PathValue, anchored bool) bool {
	text, ok := stringArgument(arguments[0])
	if !ok {
		return false
	}
	expression, ok := stringArgument(arguments[1])
	return ok && r.match(text, expression, anchored)
}

// match says whether a text, or part of it, fits an expression; its errors are
// left in err.
func (r *regexes) match(text, expression string, anchored bool) bool {
	if r.err != nil {
		return false
	}
	if len(expression) > regexMax {
		r.err = userError("path has a regular expression of more than %d bytes", regexMax)
		return false
	}
	key := expression
	if anchored {
		key = "^" + expression
	} else {
		key = " " + expression
	}
	compiled, known := r.compiled[key]
	if !known {
		if r.err = r.steps.spend(regexCompile); r.err != nil {
			return false
		}
		compiled = compileRegex(expression, anchored)
		r.compiled[key] = compiled
	}
	if compiled == nil {
		return false
	}
	if r.err = r.steps.spend(1 + len(text)*compiled.instructions/16); r.err != nil {
		return false
	}
	return compiled.MatchString(text)
}

func stringArgument(argument spec.PathValue) (string, bool) {
	value, ok := argument.(*spec.ValueType)
	if !ok || value == nil {
		return "", false
	}
	text, ok := value.Value().(string)
	return text, ok
}

// compileRegex gives nil for what is no regular expression, which by RFC 9535
// matches nothing. A dot is any character but CR and LF.
func compileRegex(expression string, anchored bool) *regex {
	tree, err := syntax.Parse(expression, syntax.Perl|syntax.DotNL)
	if err != nil {
		return nil
	}
	narrowDots(tree)
	text := tree.String()
	if anchored {
		text = `\A(?:` + text + `)\z`
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil
	}
	return &regex{compiled, len(program.Inst)}
}

func narrowDots(tree *syntax.Regexp) {
	if tree.Op == syntax.OpAnyChar {
		tree.Op = syntax.OpCharClass
		tree.Rune = []rune{0, '\n' - 1, '\n' + 1, '\r' - 1, '\r' + 1, 0x10FFFF}
		return
	}
	for _, sub := range tree.Sub {
		narrowDots(sub)
	}
}

// aliasRegexCalls renames calls of match() and search() outside of quotes.
func aliasRegexCalls(path string) string {
	if !strings.Contains(path, matchName) && !strings.Contains(path, searchName) {
		return path
	}
	out := []byte(path)
	quote := byte(0)
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case isCall(path, i, matchName):
			copy(out[i:], matchAlias)
		case isCall(path, i, searchName):
			copy(out[i:], searchAlias)
		}
	}
	return string(out)
}

func isCall(path string, at int, name string) bool {
	if !strings.HasPrefix(path[at:], name+"(") {
		return false
	}
	if at == 0 {
		return true
	}
	before := path[at-1]
	return before != '_' && !isDigit(before) && (lower(before) < 'a' || lower(before) > 'z')
}
