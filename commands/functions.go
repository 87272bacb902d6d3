package commands

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"reminis/commands/lua"
	"reminis/commands/quoting"
	"reminis/engine"
)

// This file owns the libraries of functions that the server has: how they come from
// their code, and how they are kept. A library is a facet of the server, its code,
// so that it is journaled, recovered and backed up as rules are. It must not know
// how functions run.

// facetLibrary is in front of a library's name in the name of its facet.
const facetLibrary = "function/"

// function is a function that clients can call.
type function struct {
	lua.Function
	library *library
	flags   scriptFlags
}

// library is a library of functions. It is never changed.
type library struct {
	*lua.Library
	name, code string
	functions  []*function
}

// functionSet is all libraries at one moment. It is never changed.
type functionSet struct {
	libraries map[string]*library
	functions map[string]*function // by name in lower case
}

func newFunctionSet() *functionSet {
	return &functionSet{libraries: map[string]*library{}, functions: map[string]*function{}}
}

// names are those of the libraries, in order.
func (f *functionSet) names() []string {
	var names []string
	for name := range f.libraries {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// sizeBytes is the size of the code of all libraries.
func (f *functionSet) sizeBytes() (sizeBytes int64) {
	for _, lib := range f.libraries {
		sizeBytes += int64(len(lib.code))
	}
	return sizeBytes
}

// without is the set without a library.
func (f *functionSet) without(name string) *functionSet {
	out := newFunctionSet()
	for _, lib := range f.libraries {
		if lib.name != name {
			out.link(lib)
		}
	}
	return out
}

// link adds a library to a set that nobody else has yet.
func (f *functionSet) link(lib *library) {
	f.libraries[lib.name] = lib
	for _, each := range lib.functions {
		f.functions[strings.ToLower(each.Name)] = each
	}
}

// with is the set with other libraries, too. With replace, they take the place of
// those of the same names; a function's name can be only one library's.
func (f *functionSet) with(replace bool, others ...*library) (*functionSet, error) {
	out := f
	for _, lib := range others {
		if f.libraries[lib.name] != nil {
			if !replace {
				return nil, errLibraryExists(lib.name)
			}
			out = out.without(lib.name)
		}
	}
	if out == f {
		out = f.without("")
	}
	for _, lib := range others {
		for _, each := range lib.functions {
			if out.functions[strings.ToLower(each.Name)] != nil {
				return nil, errFunctionExists(each.Name)
			}
		}
		out.link(lib)
	}
	return out, nil
}

// functions are the functions of a server. Who changes them holds all locks.
type functions struct {
	once sync.Once
	set  atomic.Pointer[functionSet]
}

// functionSet is all libraries now. The first call finds those that were kept.
func (k *Core) functionSet() *functionSet {
	k.functions.once.Do(func() {
		set := newFunctionSet()
		k.Engine.ServerFacets(facetLibrary, func(_ string, code []byte) {
			lib, err := k.newLibrary(string(code), false, set)
			if err != nil {
				// It was loaded once, so this version of the server reads it otherwise.
				k.Process.Log("a library of functions cannot be loaded: " + err.Error())
				return
			}
			set.link(lib)
		})
		k.functions.set.Store(set)
	})
	return k.functions.set.Load()
}

// changeFunctions makes the server's libraries those of set, in a transaction that
// holds all locks.
func (k *Core) changeFunctions(tx *engine.Tx, set *functionSet) {
	for name, old := range k.functionSet().libraries {
		if now := set.libraries[name]; now == nil || now.code != old.code {
			tx.SetFacet(nil, []byte(facetLibrary+name), nil, nil)
		}
	}
	for _, name := range set.names() {
		lib := set.libraries[name]
		if old := k.functionSet().libraries[name]; old == nil || old.code != lib.code {
			tx.SetFacet(nil, []byte(facetLibrary+name), []byte(lib.code), nil)
		}
	}
	k.functions.set.Store(set)
}

// newLibrary compiles and runs the code of a library. Its name may be that of one
// that there is only if it is to take its place.
func (k *Core) newLibrary(code string, replace bool, among *functionSet) (*library, error) {
	name, body, err := readLibraryLine(code)
	if err != nil {
		return nil, err
	}
	if !replace && among.libraries[name] != nil {
		return nil, errLibraryExists(name)
	}
	compiled, err := k.scripts.interpreter.CompileLibrary(body, func(word string) bool {
		_, ok := scriptFlagOf(word)
		return ok
	})
	if err != nil {
		return nil, Error("ERR " + err.Error())
	}
	if len(compiled.Functions) == 0 {
		return nil, errNoFunctions
	}
	lib := &library{Library: compiled, name: name, code: code}
	for _, each := range compiled.Functions {
		f := &function{Function: each, library: lib}
		for _, word := range each.Flags {
			flag, _ := scriptFlagOf(word)
			f.flags |= flag
		}
		lib.functions = append(lib.functions, f)
	}
	return lib, nil
}

// readLibraryLine reads the first line of a library, which names its engine and
// itself (functions.c functionExtractLibMetaData). The body keeps the line's end.
func readLibraryLine(code string) (name, body string, err error) {
	if !strings.HasPrefix(code, "#!") {
		return "", "", errLibraryLine
	}
	line, _, ok := strings.Cut(code, "\n")
	words, split := quoting.Split([]byte(line))
	if !ok || !split || len(words) == 0 {
		return "", "", errLibraryLineInvalid
	}
	named := false
	for _, word := range words[1:] {
		const key = "name="
		if len(word) < len(key) || !equalFold(word[:len(key)], key) {
			return "", "", errLibraryValue(word)
		}
		if named {
			return "", "", errLibraryNameTwice
		}
		name, named = string(word[len(key):]), true
	}
	switch {
	case !named:
		return "", "", errLibraryUnnamed
	case !lua.IsName(name):
		return "", "", Error("ERR " + lua.ErrName)
	case !equalFold(words[0][2:], "lua"):
		return "", "", errEngineNotFound(words[0][2:])
	}
	return name, code[len(line):], nil
}
