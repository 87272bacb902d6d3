package main

// This file owns what is special about streams: their command lines, ids, and the
// times in replies about groups.

import (
	"bytes"
	"math/rand/v2"
	"strconv"

	"reminis/bench/resp"
)

// streamFamily has no XADD with "*": the ids would be those of each server's
// clock. It is not drawn from the documentation for the same reason.
func streamFamily() family {
	return family{"streams", 10, []string{
		"XADD stream newid (field value)...", "XADD stream newid (field value)...", "XADD stream newid field value",
		"XADD stream newid field value field value", "XADD stream newid field value field value",
		"XADD stream [NOMKSTREAM] [(MAXLEN|MINID) [=|~] threshold] [LIMIT small] newid field value",
		"XADD stream MAXLEN [=|~] threshold newid field value",
		"XTRIM stream (MAXLEN|MINID) [=|~] threshold [LIMIT small]", "XTRIM stream (MAXLEN|MINID) ~ threshold",
		"XLEN stream", "XDEL stream entryid...", "XDEL stream entryid",
		"XRANGE stream endid endid [COUNT small]", "XRANGE stream - +", "XREVRANGE stream endid endid [COUNT small]", "XREVRANGE stream + -",
		"XSETID stream entryid [ENTRIESADDED small] [MAXDELETEDID entryid]",
		"XREAD [COUNT small] [BLOCK 1] STREAMS stream readid", "XREAD [COUNT small] STREAMS stream stream readid readid",
		"XREAD (COUNT small|BLOCK small|NOACK|GROUP group consumer|word) STREAMS stream readid",
		"XGROUP CREATE stream group (entryid|$) [MKSTREAM] [ENTRIESREAD small]", "XGROUP CREATE stream group 0 MKSTREAM", "XGROUP CREATE stream group $ MKSTREAM",
		"XGROUP SETID stream group (endid|$) [ENTRIESREAD small]", "XGROUP DESTROY stream group",
		"XGROUP CREATECONSUMER stream group consumer", "XGROUP DELCONSUMER stream group consumer",
		"XREADGROUP GROUP group consumer [COUNT small] [NOACK] STREAMS stream >", "XREADGROUP GROUP group consumer STREAMS stream >",
		"XREADGROUP GROUP group consumer [COUNT small] [BLOCK 1] [NOACK] STREAMS stream readid", "XREADGROUP GROUP group consumer STREAMS stream 0",
		"XREADGROUP GROUP group consumer STREAMS stream stream > >",
		"XACK stream group entryid...", "XACK stream group entryid",
		"XPENDING stream group", "XPENDING stream group [IDLE idle] endid endid small [consumer]", "XPENDING stream group - + 10",
		"XCLAIM stream group consumer idle entryid... [IDLE idle] [TIME delivered] [RETRYCOUNT small] [FORCE] [JUSTID] [LASTID entryid]",
		"XCLAIM stream group consumer 0 entryid... [FORCE] [JUSTID]",
		"XAUTOCLAIM stream group consumer idle endid [COUNT small] [JUSTID]", "XAUTOCLAIM stream group consumer 0 0 COUNT small",
		"XINFO STREAM stream", "XINFO STREAM stream FULL", "XINFO STREAM stream [FULL [COUNT small]]", "XINFO GROUPS stream", "XINFO CONSUMERS stream group",
		"XINFO word [stream]", "XGROUP word [stream [group]]",
		"TYPE stream", "OBJECT ENCODING stream", "COPY stream stream", "RENAME stream stream", "SET strayed value", "DEL strayed",
	}}
}

// streamValues are the arguments of streams. No time lies between what a case may
// take and what it never takes.
func streamValues() map[string]drawer {
	return map[string]drawer{
		"stream":    anyOf("s1", "s1", "s1", "s1", "s1", "s1", "s2", "s2", "s2", "s3"),
		"strayed":   anyOf("s3", "s3", "s3", "s2"),
		"newid":     newID,
		"entryid":   entryID,
		"endid":     endID,
		"readid":    anyOf("0", "0-0", "$", ">", "1", "5", "10-1", "20", "+", "-", "18446744073709551615-18446744073709551615", "x"),
		"threshold": anyOf("0", "1", "2", "3", "5", "10", "5-1", "8-0", "20", "-1", "x"),
		"group":     anyOf("g", "g", "g", "g", "g", "h"),
		"consumer":  anyOf("c", "c", "d", "e", ""),
		"idle":      anyOf("0", "0", "100000000", "-1", "9223372036854775807"),
		"delivered": anyOf("1", "1000000000000", "9999999999999", "-1"),
	}
}

// newID draws an id that is often, but not always, behind those there are.
func newID(r *rand.Rand) [][]byte {
	id := strconv.Itoa(1 + r.IntN(24))
	switch r.IntN(12) {
	case 0:
	case 1, 2:
		id += "-" + strconv.Itoa(r.IntN(4))
	case 3:
		return anyOf("0-0", "0-*", "0", "18446744073709551615-18446744073709551615", "18446744073709551615-*", "30-18446744073709551615", "30-*",
			"x", "1-x", "-", "+", "", "18446744073709551616", " 5", "05-1", "1--1", "+3", "5- 1", "(1", "5-1-1")(r)
	default:
		id += "-*"
	}
	return [][]byte{[]byte(id)}
}

func entryID(r *rand.Rand) [][]byte {
	if r.IntN(20) == 0 {
		return newID(r)
	}
	return [][]byte{strconv.AppendInt(append(strconv.AppendInt(nil, int64(1+r.IntN(24)), 10), '-'), int64(r.IntN(4)), 10)}
}

// endID draws an end of an interval.
func endID(r *rand.Rand) [][]byte {
	switch r.IntN(8) {
	case 0:
		return anyOf("-", "+")(r)
	case 1:
		return [][]byte{append([]byte{'('}, entryID(r)[0]...)}
	case 2:
		return anyOf("(0-0", "(18446744073709551615-18446744073709551615", "(-", "(", "18446744073709551615", "0", "7")(r)
	}
	return entryID(r)
}

// sameButTimes demands the same bytes, but where a reply about groups tells when
// something was, or how long ago: there, numbers within 60 s.
func sameButTimes(ours, peer resp.Reply) bool {
	if !sameKind(ours, peer) || len(ours.Items) != len(peer.Items) {
		return false
	}
	if len(ours.Items) == 0 {
		return bytes.Equal(ours.Raw, peer.Raw)
	}
	at := deliveryAt(peer)
	for i := range peer.Items {
		isTime := i == at
		if i > 0 {
			name := peer.Items[i-1].Text()
			isTime = isTime || name == "idle" || name == "seen-time"
		}
		if isTime {
			if !within(ours.Items[i], peer.Items[i], 60_000) {
				return false
			}
		} else if !sameButTimes(ours.Items[i], peer.Items[i]) {
			return false
		}
	}
	return true
}

// deliveryAt is where a pending entry has its time: it is an id, perhaps a
// consumer, a time and a count.
func deliveryAt(r resp.Reply) int {
	n := len(r.Items)
	if n != 3 && n != 4 || r.Items[n-1].Kind != ':' || r.Items[n-2].Kind != ':' || r.Items[0].Kind != '$' {
		return -1
	}
	return n - 2
}
