package main

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"reminis/engine/dump"
)

// This file owns scripts and functions in the tests of the whole system: random lines
// with them, and what the model does for them. It must not know the interpreter.

// scriptOfLines runs the lines in ARGV, each behind the number of its words, and says
// how many answered an error; that nothing can be written is its own answer. What it
// touches is not known before.
const scriptOfLines = `local at, failed = 1, 0
while at <= #ARGV do
  local words = {}
  for i = 1, tonumber(ARGV[at]) do words[i] = ARGV[at + i] end
  at = at + 1 + #words
  local answer = redis.pcall(unpack(words))
  if type(answer) == 'table' and answer.err then
    if answer.err:find('^MISCONF') then return answer end
    failed = failed + 1
  end
end
return failed`

// scriptOfKeys writes three keys that its line names, up to the first error.
const scriptOfKeys = `redis.call('sadd', KEYS[1], ARGV[1]) redis.call('append', KEYS[2], ARGV[2]) return redis.call('incr', KEYS[3])`

// libraryNames are the names of libraries; each has a function of its name.
func libraryNames() []string { return []string{"lib0", "lib1", "lib2"} }

// libraryCode is a version of a library, which tells itself by what it writes.
func libraryCode(name string, version int) string {
	return fmt.Sprintf("#!lua name=%s\nredis.register_function('%s', function(keys, args) redis.call('set', keys[1], '%d ' .. args[1]) return redis.call('rpush', keys[2], args[2]) end)",
		name, name, version)
}

// libraryPayload is what FUNCTION DUMP gives of libraries.
func libraryPayload(libraries map[string]string) string {
	const library = 245 // rdb.h RDB_OPCODE_FUNCTION2
	var payload []byte
	for _, name := range slices.Sorted(maps.Keys(libraries)) {
		payload = dump.Form{}.AppendString(append(payload, library), []byte(libraries[name]))
	}
	return string(dump.Seal(payload))
}

// script is a line that runs a script or a function, or changes the libraries.
func (g *generator) script() []string {
	name := pick(g.r, libraryNames()...)
	switch g.r.IntN(12) {
	case 0, 1, 2:
		line := []string{"EVAL", scriptOfLines, "0"}
		for range 1 + g.r.IntN(5) {
			words := pick(g.r, g.setting, g.string, g.hash, g.deadline, g.moving, g.set, g.list, g.stream, g.sortedSet)()
			line = append(append(line, strconv.Itoa(len(words))), words...)
		}
		return line
	case 3, 4, 5:
		return []string{"EVAL", scriptOfKeys, "3", g.key(), g.key(), g.key(), g.member(), g.value()}
	case 6:
		return []string{"FUNCTION", "DELETE", name}
	case 7:
		if g.r.IntN(3) == 0 {
			return []string{"FUNCTION", "FLUSH"}
		}
		libraries := map[string]string{}
		for _, each := range libraryNames() {
			if g.r.IntN(2) == 0 {
				libraries[each] = libraryCode(each, g.line)
			}
		}
		return []string{"FUNCTION", "RESTORE", libraryPayload(libraries), pick(g.r, "FLUSH", "APPEND", "REPLACE")}
	case 8, 9:
		line := []string{"FUNCTION", "LOAD"}
		if g.r.IntN(2) == 0 {
			line = append(line, "REPLACE")
		}
		return append(line, libraryCode(name, g.line))
	}
	return []string{"FCALL", name, "2", g.key(), g.key(), g.value(), g.value()}
}

// eval knows the two scripts.
func (m *model) eval(args []string) string {
	if args[0] == scriptOfKeys {
		digest := sha1.Sum([]byte(args[0]))
		return throughLua(m.inOrder(hex.EncodeToString(digest[:])+", on @user_script:1.", [][]string{
			{"SADD", args[2], args[5]}, {"APPEND", args[3], args[6]}, {"INCR", args[4]},
		}))
	}
	defer func(db int) { m.db = db }(m.db)
	failed := int64(0)
	for rest := args[2:]; len(rest) > 0; {
		n := int(integer(rest[0]))
		if answer := m.run[rest[1]](rest[2 : 1+n]); answer[0] == '-' {
			failed++
		}
		rest = rest[1+n:]
	}
	return number(failed)
}

// throughLua is an answer that a script returned: numbers are doubles there, and one
// that an integer has no room for becomes the least, as on the processors that Redis
// is used on.
func throughLua(answer string) string {
	if answer[0] != ':' {
		return answer
	}
	n := float64(integer(strings.TrimSpace(answer[1:])))
	if n >= 1<<63 {
		return number(math.MinInt64)
	}
	return number(int64(n))
}

// inOrder runs lines up to the first error, which then says where it happened.
func (m *model) inOrder(where string, lines [][]string) string {
	answer := ""
	for _, words := range lines {
		if answer = m.run[words[0]](words[1:]); answer[0] == '-' {
			return strings.TrimSuffix(answer, "\r\n") + " script: " + where + "\r\n"
		}
	}
	return answer
}

func (m *model) fCall(args []string) string {
	code, there := m.libraries[args[0]]
	if !there {
		return "-ERR Function not found\r\n"
	}
	_, version, _ := strings.Cut(code, "keys[1], '")
	version, _, _ = strings.Cut(version, " ")
	return m.inOrder(args[0]+", on @user_function:2.", [][]string{
		{"SET", args[2], version + " " + args[4]}, {"RPUSH", args[3], args[5]},
	})
}

// function knows LOAD, DELETE, FLUSH and RESTORE.
func (m *model) function(args []string) string {
	switch args[0] {
	case "LOAD":
		code := args[len(args)-1]
		name, _, _ := strings.Cut(strings.TrimPrefix(code, "#!lua name="), "\n")
		if _, there := m.libraries[name]; there && args[1] != "REPLACE" {
			return "-ERR Library '" + name + "' already exists\r\n"
		}
		m.libraries[name] = code
		return bulk(name)
	case "DELETE":
		if _, there := m.libraries[args[1]]; !there {
			return "-ERR Library not found\r\n"
		}
		delete(m.libraries, args[1])
		return modelOK
	case "FLUSH":
		m.libraries = map[string]string{}
		return modelOK
	}
	return m.restoreFunctions(args[1], args[2])
}

func (m *model) restoreFunctions(payload, policy string) string {
	restored := map[string]string{}
	for rest := payload[:len(payload)-dump.FooterBytes]; len(rest) > 0; {
		r := dump.NewReader([]byte(rest[1:]), dump.Limits{StringBytes: 1 << 20, TotalBytes: 1 << 20})
		code, err := r.String()
		if err != nil {
			panic(err)
		}
		rest = rest[1+r.Offset():]
		name, _, _ := strings.Cut(strings.TrimPrefix(string(code), "#!lua name="), "\n")
		restored[name] = string(code)
	}
	for _, name := range slices.Sorted(maps.Keys(restored)) {
		if _, there := m.libraries[name]; there && policy == "APPEND" {
			return "-ERR Library " + name + " already exists\r\n"
		}
	}
	if policy == "FLUSH" {
		m.libraries = map[string]string{}
	}
	maps.Copy(m.libraries, restored)
	return modelOK
}

// libraryLines are all libraries.
func (m *model) libraryLines() (lines []string) {
	for name, code := range m.libraries {
		lines = append(lines, fmt.Sprintf("library %s %q", name, code))
	}
	return lines
}

// libraryLines are all libraries, as the model has them.
func (w *world) libraryLines() (lines []string) {
	c := w.connect()
	defer c.session.Close()
	list := items(c.do("FUNCTION", "LIST", "WITHCODE"))
	for i := 0; i+1 < len(list); i++ {
		switch list[i] {
		case "library_name":
			lines = append(lines, "library "+list[i+1]+" ")
		case "library_code":
			lines[len(lines)-1] += strconv.Quote(list[i+1])
		}
	}
	return lines
}
