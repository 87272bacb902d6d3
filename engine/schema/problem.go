package schema

// This file owns which of many problems is shown, and in which words.

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"reminis/engine/memory"
)

var errUnchecked = errors.New("it cannot be checked")

// problem is one place of a value that does not fit.
type problem struct {
	path     []string
	location string // a JSON Pointer
	text     string
}

// firstProblem is the first by place, then by text.
func firstProblem(err *jsonschema.ValidationError) problem {
	problems := appendProblems(nil, err)
	first := problems[0]
	for _, p := range problems[1:] {
		if compareProblems(p, first) < 0 {
			first = p
		}
	}
	first.location = pointer(first.path)
	return first
}

func compareProblems(a, b problem) int {
	if c := slices.CompareFunc(a.path, b.path, compareTokens); c != 0 {
		return c
	}
	return strings.Compare(a.text, b.text)
}

// compareTokens orders indices by number and names bytewise.
func compareTokens(a, b string) int {
	if isIndex(a) && isIndex(b) && len(a) != len(b) {
		return cmp.Compare(len(a), len(b))
	}
	return strings.Compare(a, b)
}

func isIndex(token string) bool {
	return token != "" && strings.Trim(token, "0123456789") == "" && (token == "0" || token[0] != '0')
}

func pointer(path []string) string {
	var out strings.Builder
	for _, token := range path {
		out.WriteByte('/')
		out.WriteString(escapePointer(token))
	}
	return out.String()
}

func escapePointer(token string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
}

// appendProblems appends what err consists of. Alternatives are one problem.
func appendProblems(dst []problem, err *jsonschema.ValidationError) []problem {
	switch k := err.ErrorKind.(type) {
	case *kind.AnyOf:
		return append(dst, alternatives("anyOf", err))
	case *kind.OneOf:
		if len(k.Subschemas) == 0 {
			return append(dst, alternatives("oneOf", err))
		}
	}
	if len(err.Causes) == 0 {
		return append(dst, problem{path: err.InstanceLocation, text: problemText(err.ErrorKind)})
	}
	for _, cause := range err.Causes {
		dst = appendProblems(dst, cause)
	}
	return dst
}

// alternatives is the problem of a value that fits none of several subschemas:
// the types that they want, if that is all, else what is wrong with the one that
// fits best: whose first problem is deepest inside the value.
func alternatives(keyword string, err *jsonschema.ValidationError) problem {
	if text := wantedTypes(err); text != "" {
		return problem{path: err.InstanceLocation, text: text}
	}
	nearest := problem{path: err.InstanceLocation, text: "no alternative of " + keyword + " fits"}
	for i, cause := range err.Causes {
		p := firstProblem(cause)
		if i == 0 || len(p.path) > len(nearest.path) {
			nearest = p
		}
	}
	return nearest
}

// wantedTypes puts types in one sentence when every alternative failed by type.
func wantedTypes(err *jsonschema.ValidationError) string {
	var want []string
	got := ""
	for _, cause := range err.Causes {
		for len(cause.Causes) == 1 { // through references
			cause = cause.Causes[0]
		}
		k, ok := cause.ErrorKind.(*kind.Type)
		if !ok || len(cause.InstanceLocation) != len(err.InstanceLocation) {
			return ""
		}
		got, want = k.Got, append(want, k.Want...)
	}
	if got == "" {
		return ""
	}
	return problemText(&kind.Type{Got: got, Want: want})
}

// textMax bounds what a problem quotes of the schema or the value.
const textMax = 200

// problemText says what is wrong. The library's words are kept but where they
// quote the value, which may be private, or numbers with thousands separators.
func problemText(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "got " + k.Got + ", want " + strings.Join(k.Want, " or ")
	case *kind.AdditionalProperties:
		slices.Sort(k.Properties)
	case *kind.Pattern:
		return clip("does not match the pattern " + k.Want)
	case *kind.Format:
		return clip("is not a valid " + k.Want)
	case *kind.Not:
		return "fits what it must not"
	case *kind.FalseSchema:
		return "is not allowed"
	case *kind.Minimum:
		return "is " + number(k.Got) + ", the minimum is " + number(k.Want)
	case *kind.Maximum:
		return "is " + number(k.Got) + ", the maximum is " + number(k.Want)
	case *kind.ExclusiveMinimum:
		return "is " + number(k.Got) + ", must be more than " + number(k.Want)
	case *kind.ExclusiveMaximum:
		return "is " + number(k.Got) + ", must be less than " + number(k.Want)
	case *kind.MultipleOf:
		return "is " + number(k.Got) + ", must be a multiple of " + number(k.Want)
	case *kind.MinLength:
		return counted(k.Got, "at least", k.Want, "characters")
	case *kind.MaxLength:
		return counted(k.Got, "at most", k.Want, "characters")
	case *kind.MinItems:
		return counted(k.Got, "at least", k.Want, "items")
	case *kind.MaxItems:
		return counted(k.Got, "at most", k.Want, "items")
	case *kind.MinProperties:
		return counted(k.Got, "at least", k.Want, "properties")
	case *kind.MaxProperties:
		return counted(k.Got, "at most", k.Want, "properties")
	case *kind.RefCycle:
		return "the schema refers to itself without end"
	}
	return clip(k.LocalizedString(message.NewPrinter(language.English)))
}

func counted(got int, bound string, want int, what string) string {
	return fmt.Sprintf("has %d %s, needs %s %d", got, what, bound, want)
}

func clip(text string) string { return string(memory.Preview(nil, []byte(text), textMax)) }

// number writes an exact number as people do.
func number(n *big.Rat) string {
	if n.IsInt() {
		return clip(n.Num().String())
	}
	f, _ := n.Float64()
	return fmt.Sprint(f)
}
