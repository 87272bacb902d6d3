package main

// This file owns the arguments that command lines are made of. It must not know
// which command takes them.
//
// Two bounds hold for all of them. No number lies between 10 million and 2^32,
// because as a bit offset it would ask both servers for hundreds of megabytes.
// No string makes a value longer than some kilobytes, because LCS takes memory
// in proportion to the product of two lengths.

import (
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
)

// anyOf draws one of the given arguments; one given twice comes twice as often.
func anyOf(args ...string) drawer {
	return func(r *rand.Rand) [][]byte { return [][]byte{[]byte(args[r.IntN(len(args))])} }
}

// templateValues names the values that templates may use.
func templateValues() map[string]drawer {
	values := plainValues()
	maps.Copy(values, streamValues())
	maps.Copy(values, sortedSetValues())
	return values
}

func plainValues() map[string]drawer {
	return map[string]drawer{
		"key":         anyOf(keys...),
		"value":       anyOf(values...),
		"field":       anyOf(fields...),
		"manyfields":  manyFields,
		"member":      anyOf(append(integers, values...)...),
		"manymembers": manyMembers,
		"int":         anyOf("0", "1", "2", "3", "5", "10", "17", "100", "-1", "-2", "-7", "9223372036854775807", "-9223372036854775808"),
		"small":       anyOf("0", "1", "2", "3", "5", "10", "-1", "-2"),
		"float":       anyOf("0", "1", "1.5", "-2.25", "3e2", "1e-3", "0.1", "-0", "100", "1e17", "3.0", "5.00e1", "inf", "-inf", "nan", "1e400", "0x1p3", " 1", "abc"),
		"index":       anyOf("0", "1", "2", "5", "7", "20", "-1", "-2", "-5", "-100", "1000", "9223372036854775807", "-9223372036854775808"),
		"offset":      anyOf("0", "1", "3", "6", "10", "40", "64", "300", "-1", "536870912", "9223372036854775807"),
		"bit":         anyOf("0", "1", "0", "1", "0", "1", "2", "-1"),
		"bitoffset":   anyOf("0", "1", "6", "7", "8", "15", "31", "100", "799", "9999", "-1", "4294967296"),
		"bitindex":    anyOf("0", "1", "5", "7", "8", "16", "100", "#0", "#1", "#3", "#20", "-1", "#-1", "#"),
		"encoding":    anyOf("u1", "u2", "u4", "u8", "u16", "u32", "u63", "i1", "i5", "i8", "i16", "i32", "i64", "u64", "i65", "u0", "x8", "U8"),
		"minmatch":    anyOf("0", "1", "2", "4", "100", "-1"),
		"count":       anyOf("0", "1", "2", "3", "10", "100", "-1", "-3", "-20"),
		"scancount":   anyOf("1", "2", "10", "100", "1000", "0", "-1"),
		"cursor":      anyOf("0", "0", "0", "0", "0", "0", "0", "-1", "abc", "99999999999999999999999", " 0"),
		"pattern":     anyOf("*", "k*", "k?", "k[12]", "k[^1]", "[a-f]*", `k\1`, "{tag}*", "", "nothing", "f*", "*[", "k[1", "**"),
		// None is beyond a double: Redis 7.0 does not reset errno (sort.c), and calls
		// each number after it an error.
		"weight":      anyOf("0", "1", "1.5", "-2.25", "3e2", "1e-3", "-0", "1e17", "inf", "-inf", "nan", "0x1p3", " 1", "1 ", "", "abc", "1", "2", "3", "10"),
		"sortpattern": anyOf("k*", "k*", "h*", "h*->f1", "h*->1", "*", "#", "nosort", "", "k*->", "{tag}*"),
		"type":        anyOf("string", "hash", "set", "list", "STRING", "zset", "nosuch"),
		"seconds":     anyOf("100", "1000", "100000", "100000", "0", "-1", "-100", "9223372036854775807", "-9223372036854775808", "9223372036854776", "abc"),
		"ms":          anyOf("100000", "1000000", "100000000", "0", "-1", "9223372036854775807", "-9223372036854775808", "1.5"),
		"unix":        anyOf("4000000000", "4000000001", "5000000000", "1", "0", "-1", "9223372036854775807", "abc"),
		"unixms":      anyOf("4000000000000", "4000000000001", "5000000000000", "1", "0", "-1", "9223372036854775807", "abc"),
		"db":          anyOf("0", "0", "0", "0", "0", "0", "1", "1", "2", "15", "16", "-1", "abc", "99999999999999999999"),
		"payload":     anyPayload,
		"restorettl":  anyOf("0", "0", "0", "100000", "1000000", "-1", "abc"),
		"word":        anyOf("foo", "bar", "", "nosuch", "1"),
		"name":        anyOf("worker-1", "a", "", "with space", "new\nline", "ünïcode"),
		"clientid":    anyOf("0", "-1", "abc", "9999999"),
		"address":     anyOf("127.0.0.1:1", "1.2.3.4:5", "x"),
		"section":     anyOf("server", "clients", "memory", "stats", "replication", "cpu", "keyspace", "everything", "all", "default", "nosuch"),
		"setting":     anyOf("maxmemory", "hash-max-listpack-entries", "hash-max-ziplist-entries", "hash-max-listpack-value", "databases", "timeout", "maxmemory-*", "nosuch", "proto-max-bulk-len"),
		"unknown":     anyOf("NOSUCH", "GETT", "", "\xff\x00", "get set", strings.Repeat("x", 200), "a'b\nc"),
		"protocol":    anyOf("2", "3", "3", "1", "4", "abc"),
	}
}

var (
	keys = []string{"k1", "k2", "k3", "k4", "k5", "k6", "k1", "k2", "k3", "h1", "h2", "h3", "{tag}a", "{tag}b", "", "\x00k\xff"}

	// integers are members that make a set wider each.
	integers = []string{"1", "2", "3", "4", "5", "-1", "-100", "32767", "32768", "-32769", "2147483648", "1", "2", "3", "4", "5"}

	fields = []string{"f1", "f2", "f3", "f4", "f5", "1", "", "f\x00", strings.Repeat("f", 64), strings.Repeat("f", 65)}

	values = []string{
		"0", "1", "-1", "10", "10000", "007", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
		"3.5", "1e3", "-0.0", "inf", " 1", "1 ", "",
		"a", "foobar", "ohmytext", "mynewtext", "hello world", "\x00\xff\x00", "\xff\xff\xff\xff", "ünïcode", "a\r\nb",
		strings.Repeat("x", 44), strings.Repeat("x", 45), strings.Repeat("v", 64), strings.Repeat("v", 65),
		strings.Repeat("abcde", 200),
	}

	// strays are what a damaged line has in place of an argument.
	strays = []string{
		"", "foo", "1.5", "+1", "01", " 1", "1 ", "0", "-1", "1", "9223372036854775808", "-9223372036854775809",
		"nan", "inf", "0x10", "-0", "EX", "NX", "XX", "GET", "COUNT", "MATCH", "REPLACE", "KEEPTTL", "WITHVALUES", "k1", "h1", "\x00",
	}
)

// manyFields is what makes a hash large: more fields than a listpack may have.
func manyFields(r *rand.Rand) [][]byte {
	count := 100 + r.IntN(60)
	args := make([][]byte, 0, 2*count)
	for i := range count {
		args = append(args, []byte("many"+strconv.Itoa(i)), []byte(strconv.Itoa(r.IntN(1000))))
	}
	return args
}

// manyMembers is what makes a set large: more integers, half of the time, than an
// intset may have, once or twice over.
func manyMembers(r *rand.Rand) [][]byte {
	count, from, prefix := 100+r.IntN(420), r.IntN(600), ""
	if r.IntN(2) == 0 {
		prefix = "many"
	}
	args := make([][]byte, 0, count)
	for i := range count {
		args = append(args, []byte(prefix+strconv.Itoa(from+i)))
	}
	return args
}
