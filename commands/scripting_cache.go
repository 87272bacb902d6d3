package commands

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"reminis/commands/lua"
	"reminis/commands/quoting"
)

// This file owns the scripts that the server knows, by text and by digest. It must
// not know how they run.

// script is a script that clients can run.
type script struct {
	*lua.Script
	digest string // SHA-1, hexadecimal
	flags  scriptFlags
	// plain says that the script has no first line that says its flags. What such a
	// script may do is found out when it does it (EVAL_COMPAT_MODE).
	plain       bool
	locks       scriptLocks
	interpreter *lua.Interpreter
}

// scriptFlags are what a script says of itself.
type scriptFlags uint8

const (
	scriptNoWrites scriptFlags = 1 << iota
	scriptAllowOOM
	scriptAllowStale
	scriptNoCluster
	scriptAllowCrossSlot
)

// scriptFlagWords are the words of the flags, in order.
func scriptFlagWords() []string {
	return []string{"no-writes", "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys"}
}

// scriptFlagOf is the flag of a word.
func scriptFlagOf(word string) (flag scriptFlags, ok bool) {
	at := slices.Index(scriptFlagWords(), word)
	return 1 << max(at, 0), at >= 0
}

// scriptDeclaration is what a script or function says of itself.
type scriptDeclaration struct {
	flags scriptFlags
	// none says that it says nothing, or is not there.
	none bool
}

// flagsOf are the flags of a line: those of its command, but of a script or function
// that says what it may do, what it says (script.c scriptFlagsToCmdFlags).
func (k *Core) flagsOf(c *Command, argv [][]byte) Flags {
	if c.declared == nil {
		return c.Flags
	}
	said := c.declared(k, argv[c.words()])
	if said.none {
		return c.Flags
	}
	flags := c.Flags &^ (Stale | DenyOOM | Write | MayReplicate)
	if said.flags&(scriptAllowOOM|scriptNoWrites) == 0 {
		flags |= DenyOOM
	}
	if said.flags&scriptNoWrites == 0 {
		flags |= Write
	}
	if said.flags&scriptAllowStale != 0 {
		flags |= Stale
	}
	return flags
}

// declaredByText is what the script of EVAL says of itself.
func declaredByText(k *Core, text []byte) scriptDeclaration {
	if found := k.scripts.known(text); found != nil {
		return scriptDeclaration{found.flags, found.plain}
	}
	flags, plain, _, err := readShebang(string(text))
	return scriptDeclaration{flags, plain || err != nil}
}

// declaredByDigest is what the script of EVALSHA says of itself.
func declaredByDigest(k *Core, digest []byte) scriptDeclaration {
	found := k.scripts.ofDigest(digest)
	if found == nil {
		return scriptDeclaration{none: true}
	}
	return scriptDeclaration{found.flags, found.plain}
}

// words are the words of the flags that are set.
func (f scriptFlags) words() (words []string) {
	for i, word := range scriptFlagWords() {
		if f&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return words
}

// scripts is the cache of scripts. Redis 7.0 keeps all for ever; here those that
// only ever came with EVAL go, oldest first, when they are too many: a client that
// writes its arguments into its scripts must not fill the memory.
type scripts struct {
	interpreter *lua.Interpreter
	table       *Table
	// unbarred lets scripts call what they may not (DEBUG SET-DISABLE-DENY-SCRIPTS).
	unbarred atomic.Bool

	mu       sync.RWMutex
	byText   map[string]*script
	byDigest map[string]*script
	passing  []string // texts that came with EVAL, oldest first
	bytes    int64    // of texts
}

// passingMax is how many scripts are kept that were not loaded.
const passingMax = 10000

func (x *scripts) open(t *Table) {
	x.interpreter = lua.NewInterpreter(lua.Version{Text: RedisVersion, Number: redisVersionNumber})
	x.table = t
	x.byText, x.byDigest = map[string]*script{}, map[string]*script{}
}

// ofDigest is the script that has a digest, nil when there is none.
func (x *scripts) ofDigest(digest []byte) *script {
	x.mu.RLock()
	found := x.byDigest[string(digest)]
	x.mu.RUnlock()
	if found == nil && len(digest) == 2*sha1.Size {
		x.mu.RLock()
		found = x.byDigest[string(bytes.ToLower(digest))]
		x.mu.RUnlock()
	}
	return found
}

// ofText is the script that EVAL came with.
func (x *scripts) ofText(text []byte) (*script, error) {
	if found := x.known(text); found != nil {
		return found, nil
	}
	return x.compile(string(text), false)
}

// known is the script of a text that was compiled, or nil.
func (x *scripts) known(text []byte) *script {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.byText[string(text)]
}

// load is the script of a text, to be kept.
func (x *scripts) load(text []byte) (*script, error) { return x.compile(string(text), true) }

// compile makes a script of a text and remembers it.
func (x *scripts) compile(text string, loaded bool) (*script, error) {
	made, err := x.make(text)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if known := x.byText[text]; known != nil {
		if loaded {
			x.keep(text)
		}
		return known, nil
	}
	x.byText[text], x.byDigest[made.digest] = made, made
	x.bytes += int64(len(text))
	if !loaded {
		x.passing = append(x.passing, text)
	}
	if len(x.passing) > passingMax {
		x.forget(x.passing[0])
		x.passing = x.passing[1:]
	}
	return made, nil
}

// keep takes a text from those that pass.
func (x *scripts) keep(text string) {
	for i, each := range x.passing {
		if each == text {
			x.passing = append(x.passing[:i], x.passing[i+1:]...)
			return
		}
	}
}

func (x *scripts) forget(text string) {
	if known := x.byText[text]; known != nil {
		delete(x.byText, text)
		delete(x.byDigest, known.digest)
		x.bytes -= int64(len(text))
	}
}

// make compiles a text. A first line with flags is left out, but for its end, so
// that lines count as the user sees them.
func (x *scripts) make(text string) (*script, error) {
	flags, plain, body, err := readShebang(text)
	if err != nil {
		return nil, err
	}
	compiled, err := x.interpreter.Compile(body, "user_script")
	if err != nil {
		return nil, errCompileScript(err)
	}
	digest := sha1.Sum([]byte(text))
	made := &script{Script: compiled, interpreter: x.interpreter, digest: hex.EncodeToString(digest[:]), flags: flags, plain: plain}
	made.locks = x.table.locksOf(compiled)
	return made, nil
}

// readShebang reads the first line of a script, if it is one (eval.c
// evalExtractShebangFlags).
func readShebang(text string) (flags scriptFlags, plain bool, body string, err error) {
	if !strings.HasPrefix(text, "#!") {
		return 0, true, text, nil
	}
	line, _, ok := strings.Cut(text, "\n")
	if !ok {
		return 0, false, "", errShebang
	}
	words, ok := quoting.Split([]byte(line))
	if !ok || len(words) == 0 {
		return 0, false, "", errShebangEngine
	}
	if string(words[0]) != "#!lua" {
		return 0, false, "", errShebangOther(words[0])
	}
	for _, word := range words[1:] {
		list, ok := strings.CutPrefix(string(word), "flags=")
		if !ok {
			return 0, false, "", errShebangOption(word)
		}
		for _, each := range strings.Split(list, ",") {
			if list == "" {
				break
			}
			flag, ok := scriptFlagOf(each)
			if !ok {
				return 0, false, "", errShebangFlag(each)
			}
			flags |= flag
		}
	}
	return flags, false, text[len(line):], nil
}

func (x *scripts) flush() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.byText, x.byDigest = map[string]*script{}, map[string]*script{}
	x.passing, x.bytes = nil, 0
}

// count is how many scripts there are, and the bytes of their texts.
func (x *scripts) count() (n, sizeBytes int64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return int64(len(x.byText)), x.bytes
}
