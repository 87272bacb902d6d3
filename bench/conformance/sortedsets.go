package main

// This file owns what is special about sorted sets and places: their command lines,
// scores, ends of ranges and positions.

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"reminis/bench/resp"
)

// sortedSetFamily has no blocking pops: nobody would wake them.
func sortedSetFamily() family {
	return family{"sortedsets", 10, []string{
		"ZADD key (score member)...", "ZADD key (score member)...", "ZADD key (score member)...", "ZADD key manyscores",
		"ZADD key 0 member 0 member 0 member", "SADD key member...",
		"ZADD key [NX|XX] [GT|LT] [CH] [INCR] (score member)...", "ZADD key [NX|XX] [GT|LT] [CH] score member score member", "ZADD key INCR score member",
		"ZINCRBY key score member", "ZREM key member...", "ZSCORE key member", "ZMSCORE key member...", "ZCARD key",
		"ZCOUNT key scoreend scoreend", "ZLEXCOUNT key lexend lexend", "ZRANK key member", "ZREVRANK key member",
		"ZRANGE key end end [BYSCORE|BYLEX] [REV] [LIMIT small small] [WITHSCORES]", "ZRANGE key index index [REV] [WITHSCORES]", "ZRANGE key 0 -1 WITHSCORES",
		"ZRANGE key scoreend scoreend BYSCORE [REV] [LIMIT small small] [WITHSCORES]", "ZRANGE key lexend lexend BYLEX [REV] [LIMIT small small]",
		"ZRANGESTORE key key end end [BYSCORE|BYLEX] [REV] [LIMIT small small]", "ZRANGESTORE key key index index",
		"ZREVRANGE key index index [WITHSCORES]",
		"ZRANGEBYSCORE key scoreend scoreend [WITHSCORES] [LIMIT small small]", "ZREVRANGEBYSCORE key scoreend scoreend [WITHSCORES] [LIMIT small small]",
		"ZRANGEBYLEX key lexend lexend [LIMIT small small]", "ZREVRANGEBYLEX key lexend lexend [LIMIT small small]",
		"ZREMRANGEBYRANK key index index", "ZREMRANGEBYSCORE key scoreend scoreend", "ZREMRANGEBYLEX key lexend lexend",
		"ZPOPMIN key [small]", "ZPOPMAX key [small]", "ZMPOP numkeys key key (MIN|MAX) [COUNT small]",
		"ZRANDMEMBER key [count [WITHSCORES]]", "ZSCAN key 0",
		"ZUNION numkeys key key [WEIGHTS score score] [AGGREGATE (SUM|MIN|MAX)] [WITHSCORES]", "ZINTER numkeys key key [WEIGHTS score score] [AGGREGATE (SUM|MIN|MAX)] [WITHSCORES]",
		"ZUNION 3 key key key WITHSCORES", "ZINTER 2 key key WITHSCORES", "ZDIFF numkeys key key [WITHSCORES]",
		"ZINTERCARD numkeys key key [LIMIT small]", "ZINTERCARD 1 key",
		"ZUNIONSTORE key numkeys key key [WEIGHTS score score] [AGGREGATE (SUM|MIN|MAX)]", "ZINTERSTORE key numkeys key key [WEIGHTS score score] [AGGREGATE (SUM|MIN|MAX)]",
		"ZDIFFSTORE key numkeys key key", "ZUNIONSTORE key 2 key key", "ZUNIONSTORE key 1 key WEIGHTS score",
		"OBJECT ENCODING key", "COPY key key REPLACE", "DEL key",
		"ZADD level 0 member 0 member 0 member", "ZADD level 0 member", "ZADD level manylevel", "ZREM level member", "ZRANGE level 0 -1",
	}}
}

// levels are keys of sorted sets whose members have one score.
var levels = []string{"level1", "level2", "level3"}

// sameButLastDigits lets numbers with 16 digits or more differ in what is behind
// the 16th.
func sameButLastDigits(ours, peer resp.Reply) bool {
	if !sameKind(ours, peer) || len(ours.Items) != len(peer.Items) {
		return false
	}
	if len(ours.Items) > 0 {
		return slices.EqualFunc(ours.Items, peer.Items, sameButLastDigits)
	}
	if bytes.Equal(ours.Raw, peer.Raw) {
		return true
	}
	a, errOurs := strconv.ParseFloat(ours.Text(), 64)
	b, errPeer := strconv.ParseFloat(peer.Text(), 64)
	return errOurs == nil && errPeer == nil && min(len(ours.Text()), len(peer.Text())) > 16 && math.Abs(a-b) <= 1e-15*math.Abs(b)
}

// oneScore has ranges by bytes look at members of one score only: of others Redis
// says that they are unspecified, and where a large set's begins follows from the
// random levels of its skip list (t_zset.c, zslFirstInLexRange).
func oneScore(args [][]byte) [][]byte {
	name := line{args: args}.name()
	byBytes := strings.Contains(name, "LEX") || slices.ContainsFunc(args, func(arg []byte) bool { return bytes.EqualFold(arg, []byte("BYLEX")) })
	level := func(key []byte) bool { return slices.Contains(levels, string(key)) }
	switch {
	case byBytes && strings.HasPrefix(name, "Z"):
		at := 1
		if name == "ZRANGESTORE" {
			at = 2
		}
		if at < len(args) && !level(args[at]) {
			args[at] = []byte(levels[len(args[at])%len(levels)])
		}
	case name == "ZADD" && len(args) > 2 && level(args[1]):
		for i, arg := range args[2:] {
			if _, err := strconv.ParseFloat(string(arg), 64); err == nil {
				args[i+2] = []byte("0")
			}
		}
	}
	return args
}

// geoFamily draws from few places, so that searches find some of them.
func geoFamily() family {
	return family{"geo", 5, []string{
		"GEOADD key (longitude latitude member)...", "GEOADD key (longitude latitude member)...", "GEOADD key (longitude latitude member)...",
		"GEOADD key (longitude latitude member)... (longitude latitude member)...",
		"GEOADD key [NX|XX] [CH] (longitude latitude member)...",
		"GEOPOS key member...", "GEOHASH key member...", "GEODIST key member member [unit]",
		"GEOSEARCH key (FROMMEMBER member|FROMLONLAT longitude latitude) (BYRADIUS radius unit|BYBOX width height unit) [ASC|DESC] [COUNT small [ANY]] [WITHCOORD] [WITHDIST] [WITHHASH]",
		"GEOSEARCH key FROMLONLAT longitude latitude (BYRADIUS radius unit|BYBOX width height unit) [ASC|DESC] [COUNT small]",
		"GEOSEARCHSTORE key key (FROMMEMBER member|FROMLONLAT longitude latitude) (BYRADIUS radius unit|BYBOX width height unit) [ASC|DESC] [COUNT small [ANY]] [STOREDIST]",
		"GEORADIUS key longitude latitude radius unit [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT small [ANY]] [ASC|DESC] [STORE key|STOREDIST key]",
		"GEORADIUS_RO key longitude latitude radius unit [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT small [ANY]] [ASC|DESC]",
		"GEORADIUSBYMEMBER key member radius unit [WITHCOORD] [WITHDIST] [COUNT small [ANY]] [ASC|DESC] [STORE key|STOREDIST key]",
		"GEORADIUSBYMEMBER_RO key member radius unit [WITHCOORD] [WITHDIST] [COUNT small [ANY]] [ASC|DESC]",
		"ZRANGE key 0 -1 WITHSCORES", "ZREM key member", "ZADD key score member", "DEL key",
	}}
}

func sortedSetValues() map[string]drawer {
	scoreEnds := []string{"-inf", "+inf", "0", "1", "(1", "2", "(2.5", "5", "(5", "10", "-1", "(-inf", "1e3", "nan", "(", "x", ""}
	lexEnds := []string{"-", "+", "[1", "(1", "[a", "(a", "[foobar", "[many30", "(many9", "[", "(", "a", "[2", "(5"}
	return map[string]drawer{
		"score":      anyOf("0", "0", "1", "1", "2", "3", "1.5", "0", "1", "2", "2.5", "3", "4", "5", "5", "7", "1.5", "10", "-1", "-1", "-2.25", "1e3", "10", "0.1", "-0", "3.0", "inf", "-inf", "1e17", "123456789012345680", "1e-7", "17179869184", "nan", "0x1p3", "1e400", "abc", " 1"),
		"scoreend":   anyOf(scoreEnds...),
		"lexend":     anyOf(lexEnds...),
		"end":        anyOf(append(append([]string{"0", "-1", "0", "-1", "1", "-3"}, scoreEnds...), lexEnds...)...),
		"numkeys":    anyOf("2", "2", "2", "2", "2", "2", "2", "2", "1", "3", "0", "-1", "abc"),
		"manyscores": func(r *rand.Rand) [][]byte { return manyScored(r, 40) },
		"manylevel":  func(r *rand.Rand) [][]byte { return manyScored(r, 1) },
		"level":      anyOf(levels...),
		"longitude":  anyOf("13.361389", "15.087269", "13.4", "13.6", "14.2", "2.35", "116.4", "-74", "151.2", "-0.1", "13.361389", "15.087269", "13.5", "14", "12.758489", "17.241510", "-122.27652", "180", "-180", "179.99", "0", "181", "x"),
		"latitude":   anyOf("38.115556", "37.502669", "37.9", "38.2", "37.7", "48.85", "39.9", "40.7", "-33.9", "51.5", "38.115556", "37.502669", "38.788135", "37.5", "38", "0", "85.05112878", "-85.05112878", "84.9", "86", "x"),
		"radius":     anyOf("0", "1", "100", "200", "500", "1000", "5000", "20000", "1e7", "0.5", "-1", "nan", "x"),
		"width":      anyOf("1", "100", "400", "1000", "5000", "0", "-1", "x"),
		"height":     anyOf("1", "100", "400", "1000", "5000", "0", "-1", "x"),
		"unit":       anyOf("m", "km", "km", "km", "mi", "ft", "KM", "cm"),
	}
}

// manyScored is what makes a sorted set large, half of the time: Redis's bound is 128
// members.
func manyScored(r *rand.Rand, scores int) [][]byte {
	count, from := 100+r.IntN(60), r.IntN(100)
	args := make([][]byte, 0, 2*count)
	for i := range count {
		args = append(args, []byte(strconv.Itoa(r.IntN(scores))), []byte("many"+strconv.Itoa(from+i)))
	}
	return args
}
