package main

// This file owns command lines: those that a server documents, and those that
// change what a connection is. It must not know how lines are sent.

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"reminis/bench/resp"
)

// left are commands that are not drawn: they end the server, lock everybody else
// out, turn it into another's copy, connect to elsewhere, write files where they are
// told to, or take long by themselves.
func left(name string) bool {
	return slices.Contains([]string{
		"SHUTDOWN", "DEBUG", "REPLICAOF", "SLAVEOF", "FAILOVER", "MIGRATE", "MODULE", "SYNC", "PSYNC", "BACKUP", "PFSELFTEST",
		"CLIENT PAUSE", "CONFIG SET", "CONFIG REWRITE", "ACL LOAD", "ACL SAVE",
	}, name) || strings.HasPrefix(name, "MODULE ")
}

// argument is one argument of a command, as COMMAND DOCS has it.
type argument struct {
	name, kind, token                 string
	optional, repeated, tokenRepeated bool
	inner                             []argument
}

// documented is a command, or a subcommand, with its arguments.
type documented struct {
	words     []string
	arguments []argument
}

// vocabulary is what lines are drawn from.
type vocabulary []documented

// learn asks a server for its commands.
func learn(c *resp.Client) (vocabulary, error) {
	reply, err := c.Do("COMMAND", "DOCS")
	if err != nil {
		return nil, fmt.Errorf("asking for the commands: %w", err)
	}
	if reply.IsError() {
		return nil, fmt.Errorf("asking for the commands: %s", reply.Text())
	}
	var v vocabulary
	for i := 0; i+1 < len(reply.Items); i += 2 {
		v = v.with([]string{strings.ToUpper(reply.Items[i].Text())}, reply.Items[i+1])
	}
	if len(v) == 0 {
		return nil, fmt.Errorf("the server documents no commands: %.100q", reply.Raw)
	}
	// The order of the reply is the server's own; lines follow from their seed.
	slices.SortFunc(v, func(a, b documented) int { return slices.Compare(a.words, b.words) })
	return v, nil
}

// with adds a command, or its subcommands.
func (v vocabulary) with(words []string, docs resp.Reply) vocabulary {
	if left(strings.Join(words, " ")) {
		return v
	}
	if subcommands := entry(docs, "subcommands"); len(subcommands.Items) > 0 {
		for i := 0; i+1 < len(subcommands.Items); i += 2 {
			_, sub, _ := strings.Cut(strings.ToUpper(subcommands.Items[i].Text()), "|")
			v = v.with([]string{words[0], sub}, subcommands.Items[i+1])
		}
		return v
	}
	return append(v, documented{words, argumentsOf(docs)})
}

func argumentsOf(docs resp.Reply) []argument {
	var all []argument
	for _, item := range entry(docs, "arguments").Items {
		flags := entry(item, "flags")
		has := func(flag string) bool {
			return slices.ContainsFunc(flags.Items, func(word resp.Reply) bool { return word.Text() == flag })
		}
		name := entry(item, "name")
		kind := entry(item, "type")
		token := entry(item, "token")
		all = append(all, argument{
			name: name.Text(), kind: kind.Text(), token: token.Text(), inner: argumentsOf(item),
			optional: has("optional"), repeated: has("multiple"), tokenRepeated: has("multiple_token"),
		})
	}
	return all
}

// entry returns what a map holds under a name, or nothing.
func entry(docs resp.Reply, name string) resp.Reply {
	for i := 0; i+1 < len(docs.Items); i += 2 {
		if docs.Items[i].Text() == name {
			return docs.Items[i+1]
		}
	}
	return resp.Reply{}
}

// line draws a command line; one in four has mistakes.
func (v vocabulary) line(r *rand.Rand) []string {
	if r.IntN(4) == 0 {
		all := switches()
		return slices.Clone(all[r.IntN(len(all))])
	}
	command := v[r.IntN(len(v))]
	words := slices.Clone(command.words)
	for _, a := range command.arguments {
		words = a.draw(r, words)
	}
	for r.IntN(4) == 0 {
		words = mistaken(r, words, len(command.words))
	}
	return words
}

// draw adds an argument to words, or none if it may be left out.
func (a *argument) draw(r *rand.Rand, words []string) []string {
	if a.optional && r.IntN(3) > 0 {
		return words
	}
	times := 1
	if a.repeated {
		times += r.IntN(3)
	}
	for i := range times {
		if a.token != "" && (i == 0 || a.tokenRepeated) {
			words = append(words, a.token)
		}
		switch {
		case a.kind == "oneof" && len(a.inner) > 0:
			words = a.inner[r.IntN(len(a.inner))].draw(r, words)
		case a.kind == "block":
			for i := range a.inner {
				words = a.inner[i].draw(r, words)
			}
		case a.kind != "pure-token":
			words = append(words, a.value(r))
		}
	}
	return words
}

// mistaken makes one mistake behind the command's name.
func mistaken(r *rand.Rand, words []string, named int) []string {
	if len(words) <= named {
		return append(words, pick(r, strays()))
	}
	i := named + r.IntN(len(words)-named)
	switch r.IntN(5) {
	case 0:
		return slices.Delete(words, i, i+1)
	case 1:
		return slices.Insert(words, i, words[i])
	case 2:
		return words[:i]
	case 3:
		return append(words, pick(r, strays()))
	}
	words[i] = pick(r, strays())
	return words
}

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

// value draws an argument by its name, where that says more than its type.
func (a *argument) value(r *rand.Rand) string {
	named := map[string][]string{
		"numkeys": {"1", "2"}, "cursor": {"0", "7"}, "timeout": {"0", "0.01", "1"}, "milliseconds": {"1", "50", "100000"},
		"script": scripts(), "function-code": scripts(), "serialized-value": payloads(),
		"value": documents(), "patch": documents(), "meta": documents(), "json-schema": documents(), "commands": documents(), "line": documents(),
		"expression": {"$.a == 1", "$.a[?@.b > 1]", "((((", "@.a && !@.b"}, "path": {"$", "$.a", "$..*", "$[?(@.a>1)]", "$["},
		"query": {"tea and milk", "绿茶", "a"}, "blob": {"\x00\x00\x80\x3f", "abc", strings.Repeat("\x00\x00\x80\x3f", 8)},
		"moment": {"0", "seq:1", "4000000000000"}, "kind": {"working", "session", "profile", "semantic"},
		"username": {"alice", "bob"}, "rule": {"on", "nopass", "~*", "+@all", "-@dangerous", "(+get ~a*)", ">secret", "reset"},
		"scope": {"app", "app:u1", "app:u1:s1", "*"}, "owner": {"app:u1", "app:u2"}, "channel": {"news", "n?ws"},
		"id": {"*", "0", "$", ">", "1-1", "5-*", "0-0"}, "group": {"g"}, "consumer": {"c", "d"},
		"version": {"1", "2"}, "operation": {"AND", "OR", "XOR", "NOT"},
	}
	if values := named[a.name]; values != nil && r.IntN(8) > 0 {
		return pick(r, values)
	}
	switch a.kind {
	case "key":
		return pick(r, keys())
	case "integer":
		return pick(r, []string{"0", "1", "2", "3", "10", "100", "-1", "-2", "100000", "9223372036854775807", "-9223372036854775808"})
	case "double":
		return pick(r, []string{"0", "1", "1.5", "-2.25", "3e2", "inf", "-inf"})
	case "pattern":
		return pick(r, []string{"*", "key:*", "k?y:[12]", "*[^]*", strings.Repeat("*a", 50)})
	case "unix-time":
		return pick(r, []string{"1", "4000000000", "4000000000000"})
	}
	return pick(r, []string{"a", "b", "10", "3.5", "hello world", "", "-1", "\x00\xff", "[a", "(b", "+", "-", strings.Repeat("x", 300), strconv.Itoa(r.IntN(1000))})
}

func keys() []string {
	return []string{"key:1", "key:2", "key:3", "{key}:4", "app:u1:s1:a", "app:u1:s1:b", "app:u2:s1:list", ""}
}

func strays() []string {
	return []string{"", "foo", "1.5", " 1", "9223372036854775808", "nan", "inf", "1e400", "EX", "NX", "GET", "COUNT", "LIMIT", "key:1", "0", "-1", "\x00", strings.Repeat("y", 20_000)}
}

func documents() []string {
	return []string{
		"{}", `{"a":1}`, `{"a":{"b":[1,2,{"c":null}]}}`, `[{"op":"add","path":"/a","value":1}]`, `{"type":"object"}`, `"text"`, "null",
		`{"a":`, "[1,", strings.Repeat("[", 2000), strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200), "\"\xff\"", "plain text",
		`[{"action":"upsert","key":"app:u1:s1:a","payload":{"a":1}},{"action":"delete","key":"app:u1:s1:b"}]`,
		`{"key":"app:u1:s1:a","value":{"a":1}}`,
	}
}

func scripts() []string {
	return []string{
		"return 1", "return redis.call('SET', 'key:1', ARGV[1] or 'x')", "return redis.pcall('LPUSH', 'key:1', 'a')", "return {1,2,{3,'x',false},nil,4}",
		"return cjson.decode('[[1,{\"a\":null}]]')", "return cjson.encode({1,{a=2}})", "return cmsgpack.unpack(cmsgpack.pack({1,'a',{}}))",
		"return struct.unpack('>I4', 'abcd')", "return string.rep('x', 100000)", "return redis.call('BLPOP', 'key:1', 0)", "error({err='MINE x'})",
		"local t = {} for i = 1, 1000 do t[i] = tostring(i) end return t", "return string.gsub(string.rep('a', 200), '(a*)*b', 'x')",
		"#!lua name=mine\nredis.register_function('f', function(keys, args) return args[1] end)", "return redis.setresp(3)", "return (", "",
		"for i = 1, 300 do redis.call('RPUSH', 'key:2', i) end", "while true do end",
	}
}

// payloads are values for RESTORE; most are damaged by the bytes' mutations later.
func payloads() []string {
	return []string{
		"\x00\x05hello\x0b\x00\x00\x00\x00\x00\x00\x00\x00\x00", "\x00\xc0\x85\x0b\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		"\x10\x13\x13\x00\x00\x00\x04\x00\x82f1\x03\x01\x01\x82f2\x03\x0c\x01\xff\x0b\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		"\x04\x80\xff\xff\xff\xff\x0b\x00\x00\x00\x00\x00\x00\x00\x00\x00", "",
	}
}

// switches are lines after which the connection is something else, or waits.
func switches() [][]string {
	var all [][]string
	for _, line := range []string{
		"MULTI", "MULTI", "EXEC", "EXEC", "DISCARD", "WATCH key:1", "UNWATCH", "RESET", "HELLO 2", "HELLO 3", "HELLO 3 SETNAME me", "HELLO 4",
		"SUBSCRIBE news", "PSUBSCRIBE n*", "SSUBSCRIBE shard", "UNSUBSCRIBE", "PUNSUBSCRIBE", "PUBLISH news message", "SPUBLISH shard message",
		"MONITOR", "CLIENT REPLY OFF", "CLIENT REPLY SKIP", "CLIENT REPLY ON", "CLIENT TRACKING ON", "CLIENT TRACKING ON BCAST PREFIX key", "CLIENT TRACKING OFF",
		"CLIENT CACHING YES", "CLIENT PAUSE 20", "CLIENT PAUSE 20 WRITE", "CLIENT UNPAUSE", "CLIENT NO-EVICT ON", "CLIENT KILL TYPE pubsub", "CLIENT SETNAME other",
		"BLPOP key:1 0", "BLPOP key:2 0.01", "BRPOPLPUSH key:1 key:2 0.05", "BLMOVE key:1 key:3 LEFT RIGHT 0", "BZPOPMIN key:1 0.05", "BLMPOP 0 2 key:1 key:2 LEFT",
		"XREAD BLOCK 0 STREAMS key:1 $", "XREADGROUP GROUP g c BLOCK 10 STREAMS key:1 >", "WAIT 1 10", "LPUSH key:1 a b c", "RPUSH key:2 a", "ZADD key:1 1 a", "DEL key:1",
		"SELECT 1", "SELECT 0", "SWAPDB 0 1", "AUTH wrong", "AUTH alice wrong", "QUIT", "PING", "ECHO hello", "COMMAND DOCS", "INFO everything", "CLIENT LIST", "KEYS *",
		"SCRIPT FLUSH", "FUNCTION FLUSH", "FLUSHDB ASYNC", "SETRANGE key:3 100000 x", "SETBIT key:3 8000000 1", "GET key:3", "BITCOUNT key:3", "LOLWUT", "OBJECT HELP",
	} {
		all = append(all, strings.Fields(line))
	}
	return all
}
