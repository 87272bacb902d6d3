package grammar_test

// This file compares the sample grammars with the facts that Redis ships about its
// commands. It needs Redis 7.0.15's sources: REDIS_SRC names the folder that holds
// commands/*.json.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"reminis/commands/grammar"
)

// redisCommand is what one file says, as far as a grammar knows it.
type redisCommand struct {
	Arity     int
	Container string
	KeySpecs  []redisKeySpec `json:"key_specs"`
	Arguments []redisArg
}

type redisKeySpec struct {
	Notes string
	Flags []string
	Begin struct {
		Index   *struct{ Pos int }
		Keyword *struct {
			Keyword   string
			StartFrom int
		}
	} `json:"begin_search"`
	Find struct {
		Range  *struct{ LastKey, Step, Limit int }
		KeyNum *struct{ KeyNumIdx, FirstKey, Step int }
	} `json:"find_keys"`
}

type redisArg struct {
	Name            string
	Type            string
	Token           string
	Since           string
	DeprecatedSince string `json:"deprecated_since"`
	Optional        bool
	Multiple        bool
	MultipleToken   bool `json:"multiple_token"`
	KeySpecIndex    *int `json:"key_spec_index"`
	Arguments       []redisArg
}

func loadRedisCommand(t *testing.T, file string) redisCommand {
	t.Helper()
	folder := os.Getenv("REDIS_SRC")
	if folder == "" {
		t.Skip("REDIS_SRC does not name the folder of Redis 7.0.15's sources that holds commands/*.json")
	}
	data, err := os.ReadFile(filepath.Join(folder, "commands", file+".json"))
	if err != nil {
		t.Skip("REDIS_SRC holds no command descriptions:", err)
	}
	commands := map[string]redisCommand{}
	if err := json.Unmarshal(data, &commands); err != nil {
		t.Fatal(err)
	}
	for _, command := range commands {
		return command
	}
	t.Fatalf("%s.json describes no command", file)
	return redisCommand{}
}

func allShapes() []struct {
	name, file string
	names      int
	shape      *grammar.Shape
} {
	type row = struct {
		name, file string
		names      int
		shape      *grammar.Shape
	}
	rows := []row{{"SET", "set", 1, &setGrammar().Shape}}
	for _, s := range samples() {
		rows = append(rows, row{s.name, s.file, s.names, &s.Shape})
	}
	return rows
}

func TestSamplesAgreeWithRedis(t *testing.T) {
	for _, row := range allShapes() {
		t.Run(row.name, func(t *testing.T) {
			want := loadRedisCommand(t, row.file)
			if have := row.shape.Arity(row.names); have != want.Arity {
				t.Errorf("arity %d, Redis has %d", have, want.Arity)
			}
			compareJSON(t, "key specs", keySpecsForComparison(row.shape.KeySpecs(row.names)), want.KeySpecs)
			compareJSON(t, "arguments", argsForComparison(row.shape.Docs()), want.Arguments)
		})
	}
}

func compareJSON(t *testing.T, what string, have, want any) {
	t.Helper()
	if reflect.DeepEqual(have, want) {
		return
	}
	haveText, _ := json.MarshalIndent(have, "", " ")
	wantText, _ := json.MarshalIndent(want, "", " ")
	t.Errorf("%s differ:\nhave %s\nwant %s", what, haveText, wantText)
}

// keySpecsForComparison writes key specs as Redis's files do; flags in any order are
// equal, so both sides' are sorted.
func keySpecsForComparison(specs []grammar.KeySpec) []redisKeySpec {
	var out []redisKeySpec
	for _, spec := range specs {
		row := redisKeySpec{Notes: spec.Notes}
		spec.Flags.Names(func(name string) { row.Flags = append(row.Flags, strings.ToUpper(name)) })
		switch spec.Begin {
		case grammar.BeginIndex:
			row.Begin.Index = &struct{ Pos int }{spec.Index}
		case grammar.BeginKeyword:
			row.Begin.Keyword = &struct {
				Keyword   string
				StartFrom int
			}{spec.Keyword, spec.StartFrom}
		}
		switch spec.Find {
		case grammar.FindRange:
			row.Find.Range = &struct{ LastKey, Step, Limit int }{spec.LastKey, spec.Step, spec.Limit}
		case grammar.FindKeyNum:
			row.Find.KeyNum = &struct{ KeyNumIdx, FirstKey, Step int }{spec.KeyNumAt, spec.FirstKey, spec.Step}
		}
		out = append(out, row)
	}
	return out
}

// UnmarshalJSON sorts the flags as KeyFlags.Names does.
func (s *redisKeySpec) UnmarshalJSON(data []byte) error {
	type plain redisKeySpec
	if err := json.Unmarshal(data, (*plain)(s)); err != nil {
		return err
	}
	var order []string
	grammar.KeyFlags(1<<11 - 1).Names(func(name string) { order = append(order, strings.ToUpper(name)) })
	slices.SortFunc(s.Flags, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	return nil
}

func argsForComparison(args []grammar.Arg) []redisArg {
	var out []redisArg
	for _, arg := range args {
		row := redisArg{
			Name: arg.Name, Type: arg.Type.String(), Token: arg.Token, Since: arg.Since, DeprecatedSince: arg.DeprecatedSince,
			Optional: arg.Optional, Multiple: arg.Multiple, MultipleToken: arg.MultipleToken, Arguments: argsForComparison(arg.Args),
		}
		if arg.KeySpec >= 0 {
			row.KeySpecIndex = &arg.KeySpec
		}
		out = append(out, row)
	}
	return out
}
