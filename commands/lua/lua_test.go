package lua

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"

	"reminis/commands/reply"
)

// echo is a Host whose commands answer their own words.
type echo struct{}

func (echo) Call(argv [][]byte, proto int) []byte {
	var w reply.Writer
	w.SetProto(proto)
	w.Array(len(argv))
	for _, a := range argv {
		w.Bulk(a)
	}
	return w.Bytes()
}

func (echo) Allowed([][]byte) (allowed, known bool) { return true, true }
func (echo) Log(int, string)                        {}
func (echo) Paused()                                {}

func newTestInterpreter() *Interpreter {
	return NewInterpreter(Version{Text: "7.0.15", Number: 7<<16 | 15})
}

// run runs a script and returns its reply, or its error.
func run(t testing.TB, in *Interpreter, text string, keys ...string) string {
	t.Helper()
	script, err := in.Compile(text, "script")
	if err != nil {
		return err.Error()
	}
	return runScript(t, in, script, keys...)
}

func runScript(t testing.TB, in *Interpreter, script *Script, keys ...string) string {
	t.Helper()
	texts := make([][]byte, len(keys))
	for i, key := range keys {
		texts[i] = []byte(key)
	}
	st := in.Take(script, texts, nil)
	defer st.Release()
	var w reply.Writer
	if failed := st.Run(echo{}, &w); failed != nil {
		return failed.Text
	}
	item, _, err := reply.Read(w.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return string(item.Text)
}

// TestAsLua: expressions have the results, and the errors, that Debian's lua5.1
// gives.
func TestAsLua(t *testing.T) {
	if _, err := exec.LookPath("lua5.1"); err != nil {
		t.Skip("lua5.1 is not installed")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	g := generator{rand.New(rand.NewPCG(seed, 0))}
	var snippets []string
	for range 400 {
		snippets = append(snippets, g.number(), g.conversion(), g.arithmetic(), g.format(), g.pattern(), g.gsub(),
			g.cut(), g.sort(), g.fault(), g.table(), g.compare())
	}
	want := asLua(t, snippets)
	in := newTestInterpreter()
	differ := 0
	for i, snippet := range snippets {
		have := run(t, in, wrapped(snippet))
		if unsigned(have) == unsigned(want[i]) {
			continue
		}
		if differ++; differ <= 20 {
			t.Errorf("%s\n lua5.1 %q\n ours   %q", snippet, want[i], have)
		}
	}
	if differ > 0 {
		t.Errorf("%d of %d differ", differ, len(snippets))
	}
}

// unsigned is a result without the signs of zero and of what is no number, which
// gopher-lua's registers do not keep.
func unsigned(result string) string {
	values := strings.Split(result, "|")
	for i, v := range values {
		if v == "-0" || v == "-nan" {
			values[i] = v[1:]
		}
	}
	return strings.Join(values, "|")
}

// wrapped is a snippet that gives its results, or its error, as one string.
func wrapped(snippet string) string {
	return `local function show(...) local out = {} for i = 1, select('#', ...) do out[i] = tostring((select(i, ...))) end return table.concat(out, '|') end
return show(pcall(function()
` + snippet + `
end))`
}

// asLua runs snippets with lua5.1.
func asLua(t *testing.T, snippets []string) []string {
	t.Helper()
	var program strings.Builder
	// Each snippet is a chunk of its own, so that its errors say line 3.
	for _, snippet := range snippets {
		fmt.Fprintf(&program, "do local r = assert(loadstring(%s, '=script'))() io.write(#r, '\\n', r, '\\n') end\n", luaQuoted(wrapped(snippet)))
	}
	cmd := exec.Command("lua5.1", "-")
	cmd.Stdin = strings.NewReader(program.String())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("lua5.1: %v: %.500s", err, out)
	}
	var results []string
	for rest := string(out); rest != ""; {
		digits, after, _ := strings.Cut(rest, "\n")
		size, err := strconv.Atoi(digits)
		if err != nil {
			t.Fatalf("lua5.1 wrote %.100q", rest)
		}
		results = append(results, after[:size])
		rest = after[size+1:]
	}
	return results
}

// luaQuoted is a text as a literal of Lua.
func luaQuoted(s string) string {
	var out strings.Builder
	out.WriteByte('"')
	for i := 0; i < len(s); i++ {
		fmt.Fprintf(&out, "\\%03d", s[i])
	}
	out.WriteByte('"')
	return out.String()
}

// generator makes snippets.
type generator struct{ *rand.Rand }

func (g generator) of(words ...string) string { return words[g.IntN(len(words))] }

func (g generator) float() string {
	switch g.IntN(6) {
	case 0:
		return strconv.Itoa(g.IntN(2000) - 1000)
	case 1:
		return g.of("0", "1/0", "-1/0", "0/0", "1e15", "1e14", "123456789012345", "2^53", "1e100", "1e-5", "0.1", "010", "0x1F")
	case 2:
		return strconv.FormatFloat(g.NormFloat64(), 'g', -1, 64)
	case 3:
		return strconv.FormatFloat(math.Ldexp(g.Float64(), g.IntN(200)-100), 'g', -1, 64)
	case 4:
		return strconv.FormatInt(g.Int64N(1<<60), 10)
	}
	return strconv.FormatFloat(float64(g.IntN(100000))/100, 'f', -1, 64)
}

func (g generator) word(letters string, most int) string {
	out := make([]byte, g.IntN(most+1))
	for i := range out {
		out[i] = letters[g.IntN(len(letters))]
	}
	return string(out)
}

func (g generator) number() string {
	f := g.float()
	return g.of("return tostring("+f+")", "return ("+f+") .. ''", "return '' .. ("+f+") .. 'x'", "return table.concat({"+f+", 'x'}, ',')",
		"return string.len("+f+")", "return #(("+f+") .. '')")
}

func (g generator) conversion() string {
	text := g.of(g.word("0123456789", 6), g.word("0123456789.e+- xXaf", 7), g.of(" 10 ", "0x", "0x1p4", "1e5", "inf", "nan", "-inf", "1_0", "0b1", "\\t7\\n", "1e", ".5", "5.", "0x.8"))
	if g.IntN(3) == 0 {
		return "return tonumber('" + text + "', " + strconv.Itoa(2+g.IntN(35)) + ")"
	}
	return "return tonumber('" + text + "')"
}

func (g generator) operand() string {
	return g.of("("+g.float()+")", "'"+g.word("0123456789. ", 4)+"'", "nil", "{}", "true", "("+g.float()+")", "("+g.float()+")")
}

// arithmetic leaves ^ to small numbers: the last digit of a power is C's library's.
func (g generator) arithmetic() string {
	if g.IntN(7) == 0 {
		return fmt.Sprintf("return %d ^ %d, '%d' ^ 2, 2 ^ 0.5", g.IntN(20), g.IntN(9), g.IntN(20))
	}
	return "local a, b = " + g.operand() + ", " + g.operand() + "\nreturn a " + g.of("+", "-", "*", "/", "%", "..") + " b"
}

func (g generator) compare() string {
	return "local a, b = " + g.operand() + ", " + g.operand() + " return a " + g.of("<", ">", "<=", ">=", "==", "~=") + " b"
}

func (g generator) format() string {
	spec := "%" + g.word("-+ #0", 2)
	if g.IntN(2) == 0 {
		spec += strconv.Itoa(g.IntN(15))
	}
	if g.IntN(2) == 0 {
		spec += "." + strconv.Itoa(g.IntN(12))
	}
	verb := g.of("d", "i", "u", "x", "X", "o", "e", "E", "f", "g", "G", "s", "q", "c", "z")
	argument := "(" + g.float() + ")"
	switch verb {
	case "u", "x", "X", "o", "c", "d", "i":
		argument = strconv.Itoa(g.IntN(256))
	case "q":
		spec = "%"
		argument = "'a\\0b\\n\"\\\\'"
	case "s":
		argument = g.of("'text'", argument, "nil", "''")
	}
	return "return string.format('" + spec + verb + "', " + argument + ")"
}

func (g generator) patternText() (pattern, text string) {
	var out strings.Builder
	if g.IntN(5) == 0 {
		out.WriteByte('^')
	}
	for range 1 + g.IntN(4) {
		out.WriteString(g.of("a", "b", ".", "%a", "%d", "%w", "%s", "%p", "%u", "%A", "[ab]", "[^a]", "[a-c]", "[%d_]", "[]a]", "(a)", "(.)", "()", "(%a*)", "%f[%w]", "%f[%W]", "%bxy", "%1", "%z", "%", "(", "["))
		out.WriteString(g.of("", "", "", "*", "+", "-", "?"))
	}
	if g.IntN(5) == 0 {
		out.WriteByte('$')
	}
	return out.String(), g.word("abcxy 12_A\\.", 12)
}

func (g generator) pattern() string {
	pattern, text := g.patternText()
	text = strings.ReplaceAll(text, `\`, `\\`)
	call := g.of("find", "match", "find")
	start := g.of("", "", ", "+strconv.Itoa(g.IntN(8)-3))
	return "return string." + call + "('" + text + "', '" + pattern + "'" + start + ")"
}

func (g generator) gsub() string {
	pattern, text := g.patternText()
	text = strings.ReplaceAll(text, `\`, `\\`)
	by := g.of("'-'", "'%0'", "'%1'", "'<%1%%>'", "{a = 1, b = false}", "function(x) return x end", "function() return nil end", "'%'", "1")
	if g.IntN(3) == 0 {
		return "local out = {} for a, b in string.gmatch('" + text + "', '" + strings.TrimPrefix(pattern, "^") + "') do out[#out + 1] = tostring(a) .. tostring(b) if #out > 50 then break end end return table.concat(out, ';')"
	}
	return "return string.gsub('" + text + "', '" + pattern + "', " + by + g.of("", ", "+strconv.Itoa(g.IntN(4))) + ")"
}

func (g generator) cut() string {
	n := func() string { return strconv.Itoa(g.IntN(16) - 8) }
	return g.of("return ('abcdef'):sub("+n()+", "+n()+")", "return ('abcdef'):byte("+n()+", "+n()+")", "return ('ab'):rep("+n()+")",
		"return ('aBc'):upper(), ('aBc'):lower(), ('abc'):reverse()", "return select("+n()+", 1, 2, 3)", "return unpack({1, 2, 3}, "+n()+", "+n()+")",
		"return math.floor("+g.float()+"), math.ceil("+g.float()+")", "return math.max("+g.float()+", "+g.float()+"), math.min("+g.float()+", "+g.float()+")",
		"return math.fmod("+g.float()+", 7), math.modf("+g.float()+")", "return string.char(65, "+n()+")")
}

func (g generator) sort() string {
	var list []string
	for range g.IntN(12) {
		list = append(list, strconv.Itoa(g.IntN(20)))
	}
	less := g.of("", ", function(a, b) return a > b end", ", function(a, b) return a % 5 < b % 5 end")
	return "local t = {" + strings.Join(list, ", ") + "} table.sort(t" + less + ") return table.concat(t, ' ')"
}

func (g generator) fault() string {
	return g.of("local x = nil return x.y", "local t = {} return t.a.b", "local t = {} t.a.b = 1", "local f = nil f()", "local t = {} t.f()",
		"local t = {} t:f()", "return #nil", "return #5", "return -{}", "return {} < {}", "return nil .. 'x'", "local a = {} return 'x' .. a",
		"for i = 'x', 2 do end", "for i = 1, {} do end", "for i = '1', '3' do return i end", "string.rep()", "string.rep('x', {})", "setmetatable(1, {})",
		"return tostring()", "error('x')", "error('x', 0)", "error('x', 2)", "error()", "error(nil)", "assert(false)", "assert(nil, 'm')",
		"return pcall(error, 'e')", "return select('#')", "return ipairs()", "local t = setmetatable({}, {__index = function(t, k) return k end}) return t.q",
		"local t = setmetatable({}, {__add = function(a, b) return 'added' end}) return t + 1, '1' + t, nil == t", "local t = setmetatable({}, {__call = function(self, a) return a end}) return t(7)",
		"local t = setmetatable({}, {__concat = function(a, b) return 'joined' end}) return t .. 'x', 'x' .. t, 1 .. t", "return tostring(setmetatable({}, {__tostring = function() return 'shown' end}))",
		"local t = setmetatable({}, {__eq = function() return true end}) return t == {}", "return rawget(setmetatable({}, {__index = {a = 1}}), 'a')", "return string.format('%d', 'x')",
		"return math.floor({})", "return ('x'):bad()", "return (1)()", "return tonumber('1', 99)", "return table.concat({{}})", "return unpack()",
		"return xpcall(function() error('a') end, function(e) return 'handled ' .. e end)", "local f = coroutine.wrap(function(a) local b = coroutine.yield(a + 1) return b * 2 end) return f(1), f(10)",
		"local f = coroutine.create(function() error('inside') end) return coroutine.resume(f)", "return loadstring('return 1 + 1')()")
}

func (g generator) table() string {
	n := func() string { return strconv.Itoa(g.IntN(6)) }
	position := strconv.Itoa(1 + g.IntN(4)) // behind the end, # may be any border
	return g.of("local t = {1, 2, 3} table.insert(t, "+position+", 9) return table.concat(t, ' ')", "local t = {1, 2, 3} return table.remove(t, "+n()+"), table.concat(t, ' ')",
		"local t = {1, 2, 3} table.insert(t, 4) return #t, table.getn(t), table.maxn(t)", "local t = {} t["+n()+"] = 1 return t[1], t[2], #t <= 6",
		"local s = 0 for k, v in pairs({10, 20, 30}) do s = s + k * v end return s", "local t = {n = 1, 2, 3} return t[1], t[2], t.n",
		"return #{1, 2, nil, 4} >= 2", "local t = {} for i = 1, 10 do t[i] = i end for i = 10, 1, -1 do t[i] = nil end return #t", "return table.concat({1, 2, 3}, ', ', 2)",
		"local a, b, c = (function(...) return select('#', ...), ... end)(1, nil, 3) return a, b, c")
}

// TestFacts: what is known of scripts before they run.
func TestFacts(t *testing.T) {
	for _, test := range []struct {
		text           string
		known, bounded bool
		calls          string
	}{
		{"return redis.call('get', KEYS[1])", true, true, "[get key]"},
		{"local call = redis.call local k = KEYS[1] call('set', k, ARGV[1])", true, true, "[set key ?]"},
		{"local function f(k) return redis.call('get', k) end return f(KEYS[1])", true, false, "[get ?]"},
		{"for _, k in ipairs(KEYS) do redis.call('del', k) end", true, false, "[del key]"},
		{"return redis.call('mget', unpack(KEYS))", true, true, "[mget …]"},
		{"local call = redis.call call = redis.pcall call('get', KEYS[1])", false, true, ""},
		{"local k = KEYS[1] k = 'other' return redis.call('get', k)", false, true, ""},
		{"KEYS[1] = 'other' return redis.call('get', KEYS[1])", false, true, ""},
		{"local t = KEYS t[1] = 'x' return redis.call('get', KEYS[1])", false, true, ""},
		{"table.insert(KEYS, 'x') return redis.call('get', KEYS[1])", false, true, ""},
		{"return pcall(redis.call, 'get', 'x')", false, true, ""},
		{"local r = redis return r.call('get', 'x')", false, true, ""},
		{"return redis['call']('get', 'x')", true, true, "[get x]"},
		{"return redis['ca' .. 'll']('get', 'x')", false, true, ""},
		{"return _G.redis.call('get', 'x')", false, true, ""},
		{"return loadstring('return 1')()", false, true, ""},
		{"local KEYS = {'x'} return redis.call('get', KEYS[1])", true, true, "[get ?]"},
		{"local redis = {} return redis.call", true, true, ""},
		{"while true do end", true, false, ""},
		{"for i = 1, 3 do redis.call('get', KEYS[i]) end", true, true, "[get key]"},
		{"for i = 100, 1, -1 do end for i = -5, -1 do for j = 1, 20 do end end", true, true, ""},
		{"for i = 2, 1 do end for i = 1, 2, -1 do end", true, true, ""},
		{"for i = 1, 101 do end", true, false, ""},
		{"for i = 1, 2, 0 do end", true, false, ""},
		{"for i = 1, 0.5 do end", true, false, ""},
		{"for i = 1, #ARGV do end", true, false, ""},
		{"for i = 1, 1e9 do end", true, false, ""},
		{"for i = 1, 2147483647 do end for i = -2147483647, 2147483647 do end", true, false, ""},
		{"for i = 1, 11 do for j = 1, 10 do end end", true, false, ""},
		{"for i = 1, 3 do while true do end end", true, false, ""},
		{"for i = 1, 3 do for j = 1, i do end end", true, false, ""},
		{"return string.find(ARGV[1], 'a*')", true, false, ""},
		{"return ARGV[1]:rep(2)", true, false, ""},
		{"goto x ::x:: return 1", true, false, ""},
	} {
		script, err := newTestInterpreter().Compile(test.text, "script")
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		var calls []string
		for _, call := range script.Calls {
			var words []string
			for _, arg := range call.Args {
				words = append(words, map[ArgKind]string{ArgUnknown: "?", ArgText: arg.Text, ArgKey: "key"}[arg.Kind])
			}
			if call.Open {
				words = append(words, "…")
			}
			calls = append(calls, "["+strings.Join(words, " ")+"]")
		}
		if have := strings.Join(calls, ""); script.Known != test.known || script.Bounded != test.bounded || have != test.calls {
			t.Errorf("%s\n want known %t, bounded %t, %s\n have known %t, bounded %t, %s",
				test.text, test.known, test.bounded, test.calls, script.Known, script.Bounded, have)
		}
	}
}

// TestStatesForget: nothing of one run is left for the next.
func TestStatesForget(t *testing.T) {
	in := newTestInterpreter()
	for _, text := range []string{
		"rawset(_G, 'left', 1)", "left = 1", "_G.left = 1", "getmetatable(_G).__index = function() return 1 end",
		"getmetatable('').__index = {left = 1}", "string.left = 1", "table.insert(redis, 1)", "table.sort(KEYS) redis.left = 1",
		"setmetatable(_G, {})", "for k, v in pairs(_G) do if type(v) == 'table' then v.left = 1 end end", "next(_G) _G[1] = 1",
		"cjson.encode_invalid_numbers(true) redis.setresp(3)", "local f = coroutine.wrap(function() error('x') end) f()",
	} {
		run(t, in, text)
		for check, want := range map[string]string{
			"return tostring(rawget(_G, 'left'))": "nil", "return tostring(rawget(string, 'left'))": "nil",
			"return tostring(rawget(redis, 'left'))": "nil", "return tostring(pcall(cjson.encode, 1/0))": "false",
			"return ('x').left and 'left' or 'gone'": "gone",
		} {
			if have := run(t, in, check); have != want {
				t.Errorf("after %s: %s gives %s, not %s", text, check, have, want)
			}
		}
	}
}

// TestHostile: what could exhaust the process is an error.
func TestHostile(t *testing.T) {
	in := newTestInterpreter()
	for _, text := range []string{
		"return ('x'):rep(1e10)", "local function f() return 1 + f() end return f()", "local function f() return pcall(f) end return tostring(f())",
		"local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k] end return t.x",
		"return string.rep(('x'):rep(1000), 1e9)", "return " + strings.Repeat("(", 100000) + "1" + strings.Repeat(")", 100000),
		strings.Repeat("do ", 20000) + strings.Repeat("end ", 20000), "return " + strings.Repeat("-", 1) + strings.Repeat("not ", 30000) + "1",
		"return 1" + strings.Repeat(" + 1", 30000), "return 'a'" + strings.Repeat(" .. 'a'", 30000),
		"return cjson.decode(('['):rep(100000))",
		"return cmsgpack.unpack(('\\145'):rep(100000))", "return cmsgpack.unpack('\\221\\255\\255\\255\\255')", "return struct.pack('c2147483647', 'x')",
		"local t = {} t[1] = t return cjson.encode(t)", "return unpack({}, 1, 1e9)", "local f f = function() return coroutine.wrap(f)() end return f()",
		"return string.format('%99999d', 1)", "error(setmetatable({}, {__tostring = function() error('x') end}))",
	} {
		script, err := in.Compile(text, "script")
		if err != nil {
			continue
		}
		st := in.Take(script, nil, nil)
		timer := time.AfterFunc(time.Minute, func() { st.Stop("out of time") })
		var w reply.Writer
		if failed := st.Run(echo{}, &w); failed != nil && strings.Contains(failed.Text, "out of time") {
			t.Errorf("%.80s ran too long", text)
		}
		timer.Stop()
		st.Release()
	}
}

// TestStop: whatever a script does, it can be ended.
func TestStop(t *testing.T) {
	in := newTestInterpreter()
	for _, text := range []string{
		"while true do end", "while true do pcall(function() while true do end end) end", "repeat until false", "goto x ::x:: goto x",
		"local function f() return f() end return f()", "return ('a'):rep(100000):find(('a?'):rep(30) .. ('a'):rep(30) .. 'b')",
		"local t = {} for i = 1, 100 do t[i] = i end table.sort(t, function() while true do end end)", "string.gsub('a', 'a', function() while true do end end)",
		"coroutine.wrap(function() while true do end end)()", "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
		"while true do redis.call('x') end",
	} {
		script, err := in.Compile(text, "script")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		st := in.Take(script, nil, nil)
		go st.Stop("stopped")
		var w reply.Writer
		if failed := st.Run(echo{}, &w); failed == nil || failed.Text != "ERR stopped" {
			t.Errorf("%s: %v, %q", text, failed, w.Bytes())
		}
		st.Release()
	}
}

func BenchmarkRun(b *testing.B) {
	in := newTestInterpreter()
	for _, text := range []string{
		"return 1", "return redis.call('get', KEYS[1])", "for i = 1, 1000 do end return 1", "local s = 0 for i = 1, 1000 do s = s + i end return s",
	} {
		script, err := in.Compile(text, "script")
		if err != nil {
			b.Fatal(err)
		}
		keys := [][]byte{[]byte("key")}
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			var w reply.Writer
			for range b.N {
				w.Reset(w.Bytes()[:0])
				st := in.Take(script, keys, nil)
				st.Run(echo{}, &w)
				st.Release()
			}
		})
	}
}

// FuzzFormats: what the libraries read from bytes they refuse or read; what they
// wrote themselves they read as the same.
func FuzzFormats(f *testing.F) {
	for _, data := range []string{
		`[1,{"a":null,"b":[true,1e3]}]`, `"\ud83d\ude00\u00"`, strings.Repeat("[", 1200), `{"a":1,"a":2}`, "-1.5e-300", "nul",
		"\x93\x01\xa1a\x81\xa1k\xc3", "\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "\xdd\xff\xff\xff\xff", "\xdb\xff\xff\xff\xff", "\xca\x7f\xc0\x00\x00", "\xdf\x7f\xff\xff\xff\x01", strings.Repeat("\x91", 300),
		"\x00\x00\x00\x01abcdefgh",
	} {
		f.Add([]byte(data), ">I4c0!8bhlsfd")
		f.Add([]byte(data), "%5.2f%s%q%x")
		f.Add([]byte(data), "[^a-z]*(%d+)%b()")
	}
	in := newTestInterpreter()
	f.Fuzz(func(t *testing.T, data []byte, format string) {
		if strings.Count(format, "*")+strings.Count(format, "+")+strings.Count(format, "-") > 3 || len(data) > 4000 || len(format) > 60 {
			return // patterns cost time, as they do in Lua
		}
		got := run(t, in, `
			local data, format = KEYS[1], KEYS[2]
			local function again(name, decode, encode, ...)
				local fine, value = pcall(decode, data)
				if not fine then return end
				local written, text = pcall(encode, value)
				if not written then return end
				local read, value = pcall(decode, text)
				if not read then return name .. ' does not read ' .. text .. ': ' .. tostring(value) end
				local _, text2 = pcall(encode, value)
				if #text2 ~= #text then return name .. ': ' .. text .. ' becomes ' .. tostring(text2) end
			end
			local wrong = again('cjson', cjson.decode, cjson.encode) or again('cmsgpack', cmsgpack.unpack, cmsgpack.pack)
			if wrong then return wrong end
			pcall(cmsgpack.unpack_limit, data, 2, 0)
			pcall(cmsgpack.unpack_one, data, 1)
			pcall(struct.unpack, format, data)
			pcall(struct.size, format)
			pcall(struct.pack, format, 1, data, 2, data, 3)
			pcall(string.format, format, 1, data, 2)
			pcall(string.find, data, format)
			pcall(string.gsub, data, format, '%0%1')
			pcall(loadstring, data)
			return 'fine'`, string(data), format)
		if got != "fine" {
			t.Fatalf("%q, %q: %q", data, format, got)
		}
	})
}

// TestParametersAreLetGo: a state that is not used holds no more than little of what it
// was given last.
func TestParametersAreLetGo(t *testing.T) {
	in := newTestInterpreter()
	script, err := in.Compile("return 1", "script")
	if err != nil {
		t.Fatal(err)
	}
	for sizeBytes, kept := range map[int]bool{10: true, parametersKept: false} {
		st := in.Take(script, [][]byte{make([]byte, sizeBytes)}, nil)
		globals := st.sandbox.globals
		st.Release()
		if _, there := globals.RawGetString(keysName).(*lua.LTable); there != kept {
			t.Errorf("of %d bytes: kept %t", sizeBytes, there)
		}
	}
}
