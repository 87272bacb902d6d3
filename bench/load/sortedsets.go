package main

// This file owns what is measured of sorted sets. It must not know how results are
// shown.

import (
	"strconv"

	"reminis/bench/resp"
)

func sortedSetScenarios(cache []string) []scenario {
	return []scenario{
		{"zadd", "giving members of one sorted set other scores", cache, []int{1, 16}, "", false, runOn(scored, rescored)},
		{"zrange", "reading 10 members of a sorted set by rank", cache, []int{1, 16}, "", false, runOn(scored, readRanks)},
		{"memory-sortedsets", "resident bytes per sorted set of 10 members, and per member of one sorted set", cache, nil, "", true,
			runCollectionMemory([]collection{
				{"resident_bytes_per_sorted_set", 1, sortedSetOf(10)},
				{"resident_bytes_per_member", 1, scored()},
			})},
	}
}

// scored adds the member of a number to one sorted set.
func scored() request {
	return func(buf []byte, number int) []byte {
		return addScored(buf, number, number)
	}
}

// rescored does it again with another score.
func rescored() request {
	turn := 0
	return func(buf []byte, number int) []byte {
		turn++
		return addScored(buf, number, number*7919+turn)
	}
}

func addScored(buf []byte, number, score int) []byte {
	return resp.AppendCommand(buf, []byte("ZADD"), []byte(oneCollection), []byte(strconv.Itoa(score)), appendKey(nil, number))
}

// readRanks reads the ten members from a number on.
func readRanks() request {
	return func(buf []byte, number int) []byte {
		return resp.AppendCommand(buf, []byte("ZRANGE"), []byte(oneCollection), []byte(strconv.Itoa(number)), []byte(strconv.Itoa(number+9)))
	}
}

// sortedSetOf makes a number's own sorted set of count members.
func sortedSetOf(count int) request {
	return func(buf []byte, number int) []byte {
		line := [][]byte{[]byte("ZADD"), appendKey(nil, number)}
		for i := range count {
			line = append(line, []byte(strconv.Itoa(number+i)), []byte("member:"+strconv.Itoa(number+i)))
		}
		return resp.AppendCommand(buf, line...)
	}
}
