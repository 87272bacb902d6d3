package main

// This file owns the template language that command lines are written in. It
// must not know any command or value.
//
//	WORD        itself, sometimes in lower case
//	name        arguments drawn from the values of that name (values.go)
//	(a|b c)     one of the alternatives
//	[a|b c]     one of the alternatives, or nothing
//	x...        one to three times

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// node is a part of a template.
type node struct {
	word     string   // a literal
	values   drawer   // or values
	choices  [][]node // or alternatives
	optional bool     // of the alternatives, none is one too
	repeated bool
}

// drawer yields the arguments that a name stands for.
type drawer func(r *rand.Rand) [][]byte

// compileTemplate parses a template. The error names what is wrong with it.
func compileTemplate(text string, values map[string]drawer) ([]node, error) {
	for _, bracket := range []string{"(", ")", "[", "]", "|", "..."} {
		text = strings.ReplaceAll(text, bracket, " "+bracket+" ")
	}
	p := templateParser{tokens: strings.Fields(text), values: values}
	nodes, err := p.sequence()
	if err == nil && len(p.tokens) > 0 {
		err = fmt.Errorf("unexpected %q", p.tokens[0])
	}
	if err != nil {
		return nil, fmt.Errorf("template %q: %w", text, err)
	}
	return nodes, nil
}

type templateParser struct {
	tokens []string // not yet parsed
	values map[string]drawer
}

// sequence parses up to the end, a bar or a closing bracket.
func (p *templateParser) sequence() ([]node, error) {
	var nodes []node
	for len(p.tokens) > 0 {
		token := p.tokens[0]
		if token == "|" || token == ")" || token == "]" {
			break
		}
		p.tokens = p.tokens[1:]
		if token == "..." {
			if len(nodes) == 0 {
				return nil, fmt.Errorf("nothing to repeat")
			}
			nodes[len(nodes)-1].repeated = true
			continue
		}
		n, err := p.node(token)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

func (p *templateParser) node(token string) (node, error) {
	switch {
	case token == "(":
		choices, err := p.choices(")")
		return node{choices: choices}, err
	case token == "[":
		choices, err := p.choices("]")
		return node{choices: choices, optional: true}, err
	case token == strings.ToUpper(token):
		return node{word: token}, nil
	}
	values, ok := p.values[token]
	if !ok {
		return node{}, fmt.Errorf("no values are called %q", token)
	}
	return node{values: values}, nil
}

func (p *templateParser) choices(closing string) ([][]node, error) {
	var choices [][]node
	for {
		nodes, err := p.sequence()
		if err != nil {
			return nil, err
		}
		choices = append(choices, nodes)
		if len(p.tokens) == 0 {
			return nil, fmt.Errorf("%q is missing", closing)
		}
		token := p.tokens[0]
		p.tokens = p.tokens[1:]
		if token == closing {
			return choices, nil
		}
		if token != "|" {
			return nil, fmt.Errorf("%q in place of %q", token, closing)
		}
	}
}

// expand appends the arguments of one random line. Optional parts that follow
// each other come in any order, as options do.
func expand(r *rand.Rand, args [][]byte, nodes []node) [][]byte {
	for i := 0; i < len(nodes); {
		run := i
		for run < len(nodes) && nodes[run].optional {
			run++
		}
		if run-i > 1 && r.IntN(2) == 0 {
			options := slices.Clone(nodes[i:run])
			r.Shuffle(len(options), func(a, b int) { options[a], options[b] = options[b], options[a] })
			for _, n := range options {
				args = expandNode(r, args, n)
			}
			i = run
			continue
		}
		args = expandNode(r, args, nodes[i])
		i++
	}
	return args
}

func expandNode(r *rand.Rand, args [][]byte, n node) [][]byte {
	times := 1
	if n.repeated {
		times = 1 + r.IntN(3)
	}
	if n.optional && r.IntN(2) == 0 {
		return args
	}
	for range times {
		switch {
		case n.word != "" && r.IntN(8) == 0:
			args = append(args, []byte(strings.ToLower(n.word)))
		case n.word != "":
			args = append(args, []byte(n.word))
		case n.values != nil:
			args = append(args, n.values(r)...)
		default:
			args = expand(r, args, n.choices[r.IntN(len(n.choices))])
		}
	}
	return args
}
