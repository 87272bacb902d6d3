package schema

// This file owns documents: what is accepted as a schema, and its compiled form.

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"reminis/engine/memory"
)

// Schema is one version of a schema, compiled. It never changes and may be used
// by everybody at once.
type Schema struct {
	Name     string
	Version  int64
	Document []byte // as it was given
	Migrate  []byte // from the version before; nil: values stay as they are

	root *jsonschema.Schema
}

// Label is how a version is named: name@version.
func Label(name string, version int64) string { return name + "@" + strconv.FormatInt(version, 10) }

// Label is the schema's own.
func (s *Schema) Label() string { return Label(s.Name, s.Version) }

// SplitLabel takes a label apart; ok is false when the text is none.
func SplitLabel(label []byte) (name string, version int64, ok bool) {
	at := bytes.LastIndexByte(label, '@')
	if at < 1 {
		return "", 0, false
	}
	version, err := strconv.ParseInt(string(label[at+1:]), 10, 64)
	return string(label[:at]), version, err == nil && version > 0
}

// documentURL is what a document is called unless it has an `$id`. Nothing else
// is found beside it.
const (
	documentBase = "schema://self/"
	documentURL  = documentBase + "document"
)

// Compile reads a schema. migrate is nil, a JSON Patch or an object to merge.
// Neither is kept by reference to the caller's memory.
//
// Errors name the schema: no JSON, no JSON Schema, a reference out of the
// document, larger or deeper than the limits.
func Compile(name string, version int64, document, migrate []byte) (*Schema, error) {
	s := &Schema{Name: name, Version: version, Document: bytes.Clone(document), Migrate: bytes.Clone(migrate)}
	if err := s.checkSizes(); err != nil {
		return nil, err
	}
	plain, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return nil, memory.ErrSchemaDocument(s.Label(), "it is not JSON")
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource(documentURL, plain); err != nil {
		return nil, memory.ErrSchemaDocument(s.Label(), documentProblem(err))
	}
	if s.root, err = compile(compiler); err != nil {
		return nil, memory.ErrSchemaDocument(s.Label(), documentProblem(err))
	}
	return s, nil
}

func (s *Schema) checkSizes() error {
	limit := memory.LimitSchema()
	for _, part := range []struct {
		what string
		text []byte
	}{{"schema", s.Document}, {"migration", s.Migrate}} {
		if len(part.text) > limit.Default {
			return memory.ErrTooLarge(part.what, len(part.text), limit)
		}
		if part.text == nil {
			continue
		}
		if err := memory.CheckJSONDepth(part.what, part.text, memory.LimitSchemaDepth()); err != nil {
			return err
		}
		if err := checkNumbers(part.what, part.text); err != nil {
			return err
		}
	}
	if s.Migrate != nil && !isContainer(s.Migrate) {
		return memory.ErrSchemaDocument(s.Label(), "MIGRATE takes a JSON Patch (an array) or an object to merge")
	}
	return nil
}

func isContainer(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return text[0] == '{' || text[0] == '['
}

// compile asks the library, for which a document may still be a surprise: that
// must cost its sender an error, not everybody the server.
func compile(compiler *jsonschema.Compiler) (root *jsonschema.Schema, err error) {
	defer func() {
		if recover() != nil {
			err = errSurprise
		}
	}()
	return compiler.Compile(documentURL)
}

var errSurprise = errors.New("it cannot be compiled")

// noLoader loads nothing.
type noLoader struct{}

var errElsewhere = errors.New("it refers to something outside of itself")

func (noLoader) Load(string) (any, error) { return nil, errElsewhere }

// documentProblem says what is wrong with a document, in one line.
func documentProblem(err error) string {
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		return "it refers to " + strings.TrimPrefix(load.URL, documentBase) + ", outside of itself"
	}
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		var causes *jsonschema.ValidationError
		if errors.As(invalid.Err, &causes) {
			p := firstProblem(causes)
			return strings.TrimPrefix(p.location+": "+p.text, ": ")
		}
	}
	var validation *jsonschema.ValidationError
	if errors.As(err, &validation) {
		if _, ok := validation.ErrorKind.(*kind.Schema); ok {
			p := firstProblem(validation)
			return strings.TrimPrefix(p.location+": "+p.text, ": ")
		}
	}
	text := strings.ReplaceAll(err.Error(), documentURL, "")
	text, _, _ = strings.Cut(text, "\n")
	return text
}

// checkNumbers refuses numbers that would be expensive to compute with exactly.
func checkNumbers(what string, text []byte) error {
	limit := memory.LimitSchemaNumber()
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			i++
		case c == '-' || '0' <= c && c <= '9':
			start := i
			for i < len(text) && bytes.IndexByte([]byte("+-.eE0123456789"), text[i]) >= 0 {
				i++
			}
			if size := numberSize(text[start:i]); size > limit.Default {
				return memory.ErrTooLarge("a number in the "+what, size, limit)
			}
		default:
			i++
		}
	}
	return nil
}

// numberSize is how many digits a valid number has when it is written out.
func numberSize(text []byte) int {
	at := bytes.IndexAny(text, "eE")
	if at < 0 {
		return len(text)
	}
	exponent, err := strconv.Atoi(strings.TrimPrefix(string(text[at+1:]), "+"))
	if err != nil {
		exponent = maxExponent
	}
	return at + min(max(exponent, -exponent), maxExponent)
}

// maxExponent is beyond any limit.
const maxExponent = 1 << 30

// plain gives a JSON text as the library takes values.
func plain(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v any
	err := decoder.Decode(&v)
	return v, err
}
