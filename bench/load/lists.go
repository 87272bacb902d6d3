package main

// This file owns what is measured of lists. It must not know how results are shown.

import (
	"strconv"

	"reminis/bench/resp"
)

func listScenarios(cache []string) []scenario {
	return []scenario{
		{"lpush", "pushing a value of 32 bytes to the front of one list", cache, []int{1, 16}, "", false, runOn(pushes("LPUSH", 1), pushes("LPUSH", 1))},
		{"rpop", "pushing two values to a list and popping one from its end, in turn", cache, []int{1, 16}, "", false, runOn(pushes("LPUSH", 1), pushAndPop)},
		{"lrange_100", "reading 100 elements of a list", cache, []int{1, 16}, "", false, runOn(pushes("RPUSH", 1), readRange)},
		{"memory-lists", "resident bytes per list of 10 integers, per list of 10 texts, and per element of one list", cache, nil, "", true,
			runCollectionMemory([]collection{
				{"resident_bytes_per_list_of_integers", 1, listOf(10, 0, "")},
				{"resident_bytes_per_list_of_texts", 1, listOf(10, 500_000_000, "member:")},
				{"resident_bytes_per_element", 100, membersOf("RPUSH")},
			})},
	}
}

// pushes pushes so many values to an end of one list.
func pushes(command string, count int) func() request {
	return func() request {
		return func(buf []byte, number int) []byte {
			line := [][]byte{[]byte(command), []byte(oneCollection)}
			for range count {
				line = append(line, appendValue(nil, number))
			}
			return resp.AppendCommand(buf, line...)
		}
	}
}

// pushAndPop has a list grow by one value in two lines.
func pushAndPop() request {
	push, pops := pushes("LPUSH", 2)(), true
	return func(buf []byte, number int) []byte {
		if pops = !pops; pops {
			return resp.AppendCommand(buf, []byte("RPOP"), []byte(oneCollection))
		}
		return push(buf, number)
	}
}

func readRange() request {
	return func(buf []byte, _ int) []byte {
		return resp.AppendCommand(buf, []byte("LRANGE"), []byte(oneCollection), []byte("0"), []byte("99"))
	}
}

// listOf makes a number's own list of count elements; its key is that of another
// number, further on.
func listOf(count, further int, prefix string) request {
	return func(buf []byte, number int) []byte {
		line := [][]byte{[]byte("RPUSH"), appendKey(nil, number+further)}
		for i := range count {
			line = append(line, []byte(prefix+strconv.Itoa(number+i)))
		}
		return resp.AppendCommand(buf, line...)
	}
}
