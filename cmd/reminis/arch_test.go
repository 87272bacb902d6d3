package main

import (
	"os/exec"
	"strings"
	"testing"
)

// rules says which packages of the project a package may import, and why no
// other. A package that is not listed may import nothing of the project.
var rules = []struct {
	pkg     string
	allowed []string
	why     string
}{
	{"reminis/cmd/reminis", []string{"reminis/server", "reminis/server/embed", "reminis/commands", "reminis/engine", "reminis/engine/memory", "reminis/engine/table", "reminis/persistence", "reminis/persistence/rdb", "reminis/commands/reply"}, "the binary wires everything and does nothing itself"},
	{"reminis/server", []string{"reminis/commands", "reminis/commands/acl", "reminis/commands/quoting", "reminis/engine/memory"}, "connections know sessions, not data; the one glob matcher is engine/memory's"},
	{"reminis/server/embed", []string{"reminis/engine/vector"}, "it turns texts into vectors, whoever wants them"},
	{"reminis/commands", []string{"reminis/commands/acl", "reminis/commands/geohash", "reminis/commands/grammar", "reminis/commands/lua", "reminis/commands/quoting", "reminis/commands/reply", "reminis/engine", "reminis/engine/memory", "reminis/engine/recall", "reminis/engine/schema", "reminis/engine/vector", "reminis/engine/dump", "reminis/engine/hyperloglog", "reminis/engine/effect", "reminis/engine/stream"}, "commands reach data through the engine and never see sockets or files"},
	{"reminis/commands/geohash", nil, "a leaf: points and numbers"},
	{"reminis/commands/grammar", nil, "a leaf: it describes arguments, whatever they are for"},
	{"reminis/commands/acl", []string{"reminis/commands/quoting", "reminis/engine/memory"}, "a leaf over what a user may do; the one glob matcher and the meaning of a scope are engine/memory's"},
	{"reminis/commands/lua", []string{"reminis/commands/reply"}, "a leaf over replies: it runs scripts, whoever runs their commands"},
	{"reminis/commands/quoting", nil, "a leaf: it splits, quotes and compares words"},
	{"reminis/commands/reply", nil, "a leaf: it writes bytes"},
	{"reminis/commands/reply/redistest", []string{"reminis/commands/reply"}, "it starts a redis-server for tests and reads its replies"},
	{"reminis/engine", []string{"reminis/engine/column", "reminis/engine/effect", "reminis/engine/intset", "reminis/engine/table", "reminis/engine/listpack", "reminis/engine/memory", "reminis/engine/recall", "reminis/engine/schema", "reminis/engine/sequence", "reminis/engine/stream", "reminis/engine/vector"}, "the engine knows its leaves; who keeps its batches satisfies its Journal"},
	{"reminis/persistence/canary", nil, "it looks for words in files, for tests of erasing"},
	{"reminis/engine/effect", nil, "a leaf: the vocabulary of change"},
	{"reminis/engine/table", nil, "a leaf: bytes under keys"},
	{"reminis/engine/listpack", nil, "a leaf: one format"},
	{"reminis/engine/hyperloglog", nil, "a leaf: one format"},
	{"reminis/engine/intset", nil, "a leaf: one format"},
	{"reminis/engine/sequence", []string{"reminis/engine/table"}, "a leaf over blocks in a table: the order of packed elements"},
	{"reminis/engine/stream", []string{"reminis/engine/listpack"}, "a leaf over the packed format: what the entries of a stream lie in"},
	{"reminis/engine/dump", []string{"reminis/engine/intset", "reminis/engine/listpack", "reminis/engine/stream"}, "a leaf over the packed formats"},
	{"reminis/engine/memory", []string{"reminis/engine/effect"}, "a leaf: what a record is; the outer form of an event, which the store cuts, is effect's"},
	{"reminis/engine/schema", []string{"reminis/engine/memory"}, "a leaf over values and patches: what a value must be"},
	{"reminis/engine/bitset", nil, "a leaf: sets of numbers"},
	{"reminis/engine/column", nil, "a leaf: which documents have which key"},
	{"reminis/engine/recall", []string{"reminis/engine/bitset"}, "text in, ranks out"},
	{"reminis/engine/vector", []string{"reminis/engine/bitset"}, "vectors in, ranks out"},
	{"reminis/persistence", []string{"reminis/engine/effect", "reminis/persistence/rdb"}, "the store keeps effects and knows no commands"},
	{"reminis/persistence/rdb", []string{"reminis/engine/dump"}, "a leaf over serialised values: one format"},
}

// only says which packages may import a library, and why no other.
var only = map[string]struct {
	packages []string
	why      string
}{
	"github.com/tidwall/redcon":     {[]string{"reminis/server", "reminis/commands/reply", "reminis/bench"}, "redcon listens and encodes; its reader must not face a network"},
	"github.com/cockroachdb/pebble": {[]string{"reminis/persistence"}, "one package knows how data is stored"},
	"github.com/yuin/gopher-lua":    {[]string{"reminis/commands/lua"}, "one package knows Lua, and repairs what is not Redis's"},
	"github.com/santhosh-tekuri":    {[]string{"reminis/engine/schema"}, "one package knows JSON Schema, and its limits stand before the library"},
	"unsafe":                        {[]string{"reminis/engine/table", "reminis/server"}, "one package may be wrong about memory; server passes buffers to raw system calls"},
}

// assembly says which packages may have assembly, and what for.
var assembly = map[string]string{
	"reminis/engine/table":  "prefetching",
	"reminis/engine/vector": "inner products",
}

// TestAssembly holds the project to the packages that may have assembly.
func TestAssembly(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .SFiles " "}}`, "reminis/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		if words := strings.Fields(line); len(words) > 1 && assembly[words[0]] == "" {
			t.Errorf("%s has %s: what is not portable is hard to check, so two packages have all of it", words[0], words[1])
		}
	}
}

// TestImports holds the project's packages to the rules.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "reminis/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		pkg, imports := words[0], words[1:]
		checkLibraries(t, pkg, imports)
		if strings.HasPrefix(pkg, "reminis/bench") {
			for _, imported := range imports {
				if strings.HasPrefix(imported, "reminis/") && !strings.HasPrefix(imported, "reminis/bench") {
					t.Errorf("%s imports %s: measurements go through the socket only", pkg, imported)
				}
			}
			continue
		}
		checkRules(t, pkg, imports)
	}
}

func checkRules(t *testing.T, pkg string, imports []string) {
	t.Helper()
	for _, rule := range rules {
		if rule.pkg != pkg {
			continue
		}
	next:
		for _, imported := range imports {
			if !strings.HasPrefix(imported, "reminis/") {
				continue
			}
			for _, allowed := range rule.allowed {
				if imported == allowed {
					continue next
				}
			}
			t.Errorf("%s must not import %s: %s", pkg, imported, rule.why)
		}
		return
	}
	t.Errorf("%s has no rule: say here what it may import, and why", pkg)
}

func checkLibraries(t *testing.T, pkg string, imports []string) {
	t.Helper()
	for _, imported := range imports {
		for library, rule := range only {
			if imported != library && !strings.HasPrefix(imported, library+"/") {
				continue
			}
			ok := false
			for _, allowed := range rule.packages {
				ok = ok || strings.HasPrefix(pkg, allowed)
			}
			if !ok {
				t.Errorf("%s must not import %s: %s", pkg, imported, rule.why)
			}
		}
	}
}
