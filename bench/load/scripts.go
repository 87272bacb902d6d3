package main

// This file owns what is measured of scripts. It must not know how results are
// shown.

import "reminis/bench/resp"

// Scripts as applications have them: one command; a lock's release, which compares
// and deletes or sets; a few commands in a loop.
const (
	scriptGet           = `return redis.call('GET', KEYS[1])`
	scriptCompareAndSet = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2]) return 1 end return 0`
	scriptLoop          = `local sum = 0 for i = 1, 3 do sum = sum + #redis.call('GET', KEYS[1]) end return sum`
)

func scriptScenarios(cache []string) []scenario {
	return []scenario{
		{"eval-get", "EVAL of a script that reads one key", cache, []int{1, 16}, "", false, runOn(plainly("SET"), evaluate(scriptGet))},
		{"eval-compare-and-set", "EVAL of a script that sets a key if it has the value expected, which it has", cache, []int{1, 16}, "", false, runOn(plainly("SET"), evaluate(scriptCompareAndSet))},
		{"eval-loop", "EVAL of a script that reads a key three times", cache, []int{1, 16}, "", false, runOn(plainly("SET"), evaluate(scriptLoop))},
	}
}

// evaluate runs a script on the key of a number, with its value twice.
func evaluate(script string) func() request {
	return func() request {
		return func(buf []byte, number int) []byte {
			value := appendValue(nil, number)
			return resp.AppendCommand(buf, []byte("EVAL"), []byte(script), []byte("1"), appendKey(nil, number), value, value)
		}
	}
}
