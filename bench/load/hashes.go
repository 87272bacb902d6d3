package main

// This file owns what is measured of hashes. It must not know how results are shown.

import (
	"strconv"

	"reminis/bench/resp"
)

func hashScenarios(cache []string) []scenario {
	return []scenario{
		{"hset", "setting a random field of one hash", cache, []int{1, 16}, "", false, runOn(setField, setField)},
		{"memory-hashes", "resident bytes per hash of 10 fields, and per field of one hash", cache, nil, "", true,
			runCollectionMemory([]collection{
				{"resident_bytes_per_hash", 1, hashOf(10)},
				{"resident_bytes_per_field", 1, setField()},
			})},
	}
}

// setField sets the field of a number in one hash.
func setField() request {
	return func(buf []byte, number int) []byte {
		return resp.AppendCommand(buf, []byte("HSET"), []byte(oneCollection), appendKey(nil, number), appendValue(nil, number))
	}
}

// hashOf makes a number's own hash of count fields.
func hashOf(count int) request {
	return func(buf []byte, number int) []byte {
		line := [][]byte{[]byte("HSET"), appendKey(nil, number)}
		for i := range count {
			line = append(line, []byte("field:"+strconv.Itoa(i)), []byte("value:"+strconv.Itoa(number+i)))
		}
		return resp.AppendCommand(buf, line...)
	}
}
