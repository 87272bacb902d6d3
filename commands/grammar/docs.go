package grammar

// This file owns the documented argument tree and the syntax line. It must not
// know the command's name, nor how the tree becomes a reply.

import "strings"

// Arg is one documented argument, as in COMMAND DOCS.
type Arg struct {
	Name            string
	Type            ArgType
	KeySpec         int // index of its key spec, or -1
	Token           string
	DisplayText     string
	Summary         string
	Since           string
	DeprecatedSince string
	Optional        bool
	Multiple        bool
	MultipleToken   bool
	Args            []Arg // of TypeOneOf and TypeBlock
}

// Docs returns the documented arguments.
func (g *Shape) Docs() []Arg { return g.docsOf(nil, g.nodes) }

func (g *Shape) docsOf(dst []Arg, nodes []*shape) []Arg {
	for _, s := range nodes {
		dst = g.doc(dst, s)
	}
	return dst
}

// doc appends what documents a node: nothing for a Check, its members for an
// Options, two arguments for a counted list.
func (g *Shape) doc(dst []Arg, s *shape) []Arg {
	if s.documented != nil {
		return g.docsOf(dst, s.documented)
	}
	switch s.kind {
	case kindCheck:
		return dst
	case kindOptions, kindLate:
		return g.docsOf(dst, s.kids)
	case kindCounted:
		return g.docCounted(dst, s)
	case kindCustom:
		if s.name == "" {
			return g.docsOf(dst, s.kids)
		}
	case kindEach:
		if len(s.kids) == 1 && s.token == "" {
			arg := g.docsOf(nil, s.kids)[0]
			arg.Multiple, arg.Optional = true, s.optional
			if s.name != "" {
				arg.Name = s.name
			}
			return append(dst, arg)
		}
	}
	arg := g.docBare(s)
	if arg.Type == TypeOneOf || arg.Type == TypeBlock {
		arg.Args = g.docsOf(nil, s.kids)
	}
	return append(dst, arg)
}

func (g *Shape) docBare(s *shape) Arg {
	arg := Arg{
		Name: s.name, Type: s.argType, KeySpec: -1, Token: s.token,
		DisplayText: s.displayText, Summary: s.summary,
		Since: s.since, DeprecatedSince: s.deprecatedSince,
		Optional: s.optional && !s.required, Multiple: s.multiple, MultipleToken: s.repeats,
	}
	if index, ok := g.owner[s]; ok && (s.argType == TypeKey || s.key.source) {
		arg.KeySpec = index
	}
	if s.inSpec > 0 {
		arg.KeySpec = s.inSpec - 1
	}
	return arg
}

// docCounted documents the count and the list, in a block when a word leads them.
func (g *Shape) docCounted(dst []Arg, s *shape) []Arg {
	list := g.docBare(s)
	list.Token = ""
	count := Arg{Name: s.countName, Type: TypeInteger, KeySpec: -1}
	if s.token == "" {
		list.Optional = s.min <= 0
		return append(dst, count, list)
	}
	block := Arg{Name: s.name, Type: TypeBlock, KeySpec: -1, Token: s.token, Since: s.since, Optional: list.Optional}
	list.Optional, list.Since = s.min <= 0, ""
	block.Args = []Arg{count, list}
	return append(dst, block)
}

// Syntax returns the arguments as a syntax line, such as
//
//	key value [NX | XX] [GET] [EX seconds | PX milliseconds | KEEPTTL]
func (g *Shape) Syntax() string {
	var out strings.Builder
	syntaxOf(&out, g.Docs())
	return out.String()
}

func syntaxOf(out *strings.Builder, args []Arg) {
	for i := range args {
		if i > 0 {
			out.WriteByte(' ')
		}
		args[i].syntax(out, false)
	}
}

// syntax writes one argument; within a choice its own "optional" says nothing.
func (a *Arg) syntax(out *strings.Builder, choice bool) {
	optional := a.Optional && !choice
	if optional {
		out.WriteByte('[')
	} else if a.Type == TypeOneOf && !choice {
		out.WriteByte('<')
	}
	if a.Token != "" {
		out.WriteString(a.Token)
		if a.Type != TypePureToken {
			out.WriteByte(' ')
		}
	}
	a.syntaxBare(out)
	if a.Multiple {
		out.WriteString(" [")
		if a.MultipleToken && a.Token != "" {
			out.WriteString(a.Token + " ")
		}
		a.syntaxBare(out)
		out.WriteString(" ...]")
	}
	if optional {
		out.WriteByte(']')
	} else if a.Type == TypeOneOf && !choice {
		out.WriteByte('>')
	}
}

func (a *Arg) syntaxBare(out *strings.Builder) {
	switch a.Type {
	case TypePureToken:
	case TypeBlock:
		syntaxOf(out, a.Args)
	case TypeOneOf:
		for i := range a.Args {
			if i > 0 {
				out.WriteString(" | ")
			}
			a.Args[i].syntax(out, true)
		}
	default:
		if a.DisplayText != "" {
			out.WriteString(a.DisplayText)
			return
		}
		out.WriteString(a.Name)
	}
}
