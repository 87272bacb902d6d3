package lua

import "testing"

// TestLift: a script's functions are made once for a state only where no script can tell,
// and each run of it gives the same.
func TestLift(t *testing.T) {
	for _, test := range []struct {
		name, script, want string
		split              bool
	}{
		{"a function", `local function f(x) return x .. '!' end return f(KEYS[1])`, "k!", true},
		{"functions of functions and constants", `local call = redis.call local mark = '?'
			local function f(x) return call(x)[1] .. mark end local function g(x) return f(x) .. f(x) end return g('a')`, "a?a?", true},
		{"recursion", `local function f(n) if n == 0 then return 'end' end return f(n - 1) end return f(5)`, "end", true},
		{"variables inside are new each time", `local function counter() local n = 0 return function() n = n + 1 return n end end
			local c = counter() c() return 'n' .. c()`, "n2", true},
		{"what is not lifted stands after it", `local a = KEYS[1] local function f(x) return x end local b = f(a) return b .. a`, "kk", true},
		{"a variable of the run", `local key = KEYS[1] local function f() return key end return f()`, "k", false},
		{"a variable of the run that it assigns", `local n = 0 local function f() n = n + 1 end f() f() return 'n' .. n`, "n2", false},
		{"assigned again", `local function f() return 'a' end f = function() return 'b' end return f()`, "b", false},
		{"assigned in another", `local function f() return 'a' end local function g() f = nil end g() return tostring(f)`, "nil", false},
		{"declared twice", `local function f() return 'a' end local a = f() local function f() return 'b' end return a .. f()`, "ab", false},
		{"a global in front", `local ok, why = pcall(function() return f() end) local function f() return 1 end return tostring(ok)`, "false", false},
		{"shadowed inside", `local function f(x) return x end do local f = function() return 'in' end return f('a') end`, "in", true},
		{"a parameter of the same name", `local function f(f) return f end return f('a')`, "a", true},
		{"arguments of the chunk", `local function f(x) return x end return f('n' .. select('#', ...))`, "n0", false},
		{"arguments of a function", `local function f(...) return select('#', ...) .. 'n' end return f(1, 2)`, "2n", true},
		{"a function that fails", "local function f()\n  return nil + 1\nend\nreturn f()",
			"ERR script:2: attempt to perform arithmetic on a nil value", true},
		{"an upvalue that is nothing", "local x = 'a'\nlocal function f()\n  return x.y.z\nend\nreturn f()",
			"ERR script:3: attempt to index field 'y' (a nil value)", true},
		{"the identity of a function", `local function f() end local t = {[f] = 'same'} return t[f]`, "same", true},
		{"constants only", `local a = 'a' return a`, "a", false},
	} {
		in := newTestInterpreter()
		script, err := in.Compile(test.script, "script")
		if err != nil {
			t.Fatal(test.name, err)
		}
		if script.split != test.split {
			t.Errorf("%s: split is %v", test.name, script.split)
		}
		for range 3 {
			if got := runScript(t, in, script, "k"); got != test.want {
				t.Errorf("%s: %q, not %q", test.name, got, test.want)
			}
		}
	}
}

// TestLiftedFunctionsAreShared: a script's functions are made when a state runs it first.
func TestLiftedFunctionsAreShared(t *testing.T) {
	in := newTestInterpreter()
	script, err := in.Compile(`local function f(x) return x end local function g(x) return f(x) end return g(KEYS[1])`, "script")
	if err != nil {
		t.Fatal(err)
	}
	st := newState(in.version, in.env, &in.idle)
	if first := st.main(script); st.main(script) != first {
		t.Error("made again")
	}
	for range 2 * mainsMax {
		other, err := in.Compile(`local function f() end return f()`, "script")
		if err != nil {
			t.Fatal(err)
		}
		st.main(other)
	}
	if len(st.mains) > mainsMax {
		t.Errorf("a state keeps the functions of %d scripts", len(st.mains))
	}
}
