package main

// This file owns the reasons for which two replies may differ, and what must
// hold instead. It must not know how a difference is reported.
//
// A relaxation never applies when either reply is an error, and always demands
// the same kind of reply and the same nil.

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"reminis/bench/resp"
)

// relaxation is one reason why replies may differ.
type relaxation struct {
	name    string
	reason  string
	applies func(l line) bool
	// equal says whether what must hold does.
	equal func(l line, ours, peer resp.Reply) bool
	// follow, if there is one, replaces equal outside of transactions: it may ask
	// the servers for more and so demand more. The replies are its own.
	follow func(s *session, l line, ours, peer resp.Reply) (bool, error)
}

// relaxations returns all of them. At most one applies to a line.
func relaxations() []relaxation { return append(dataRelaxations(), serverRelaxations()...) }

// dataRelaxations are about what is stored.
func dataRelaxations() []relaxation {
	return []relaxation{
		{
			name:    "deadline",
			reason:  "the two servers set and read a deadline at different times, a busy machine's seconds apart: within 10 s of the 100 s that it has at least",
			applies: named("TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME"),
			equal: func(l line, ours, peer resp.Reply) bool {
				if l.name()[0] == 'P' {
					return within(ours, peer, 10_000)
				}
				return within(ours, peer, 10)
			},
		},
		{
			name:    "idle time",
			reason:  "it counts from slightly different times, and a small integer in Redis is one object as old as the server: within 60 s",
			applies: named("OBJECT IDLETIME"),
			equal:   func(_ line, ours, peer resp.Reply) bool { return within(ours, peer, 60) },
		},
		{
			name:    "delivery time",
			reason:  "the two servers deliver an entry at slightly different times: within 60 s, all else the same",
			applies: named("XPENDING", "XINFO CONSUMERS", "XINFO STREAM"),
			equal:   func(_ line, ours, peer resp.Reply) bool { return sameButTimes(ours, peer) },
		},
		{
			name:    "order of keys",
			reason:  "Redis's order follows a hash with a random seed: the same keys",
			applies: named("KEYS"),
			equal:   func(_ line, ours, peer resp.Reply) bool { return sameItems(ours, peer, 1) },
		},
		{
			name:    "order of a large hash",
			reason:  "as for keys, once it is a table; outside of transactions only then",
			applies: named("HGETALL", "HKEYS", "HVALS"),
			equal:   func(l line, ours, peer resp.Reply) bool { return sameItems(ours, peer, stepOf(l)) },
			follow:  followHash,
		},
		{
			name:    "order of a large set",
			reason:  "as for hashes; a set of integers that Redis keeps sorted is in order, and so is what is made of such sets",
			applies: named("SMEMBERS", "SINTER", "SUNION", "SDIFF", "SPOP"),
			equal:   func(_ line, ours, peer resp.Reply) bool { return sameItems(ours, peer, 1) },
			follow:  followSet,
		},
		{
			name: "order of what is not sorted",
			reason: "SORT of a set BY a name without a star has the set's order, and so have elements BY whose texts it is sorted, where those are equal; " +
				"with LIMIT Redis sorts only as far as it must, so that which of equals come first is chance: the same elements; with LIMIT as many",
			applies: func(l line) bool { return unsorted(l) || tied(l) },
			equal:   sameSorted,
			follow:  followSort,
		},
		{
			name:    "cursor",
			reason:  "it is the server's own: the same shape; a whole iteration returns the same elements",
			applies: named("SCAN", "HSCAN", "SSCAN", "ZSCAN"),
			equal:   func(_ line, ours, peer resp.Reply) bool { return sameShape(ours, peer) },
			follow:  followScan,
		},
		{
			name:    "stored distance",
			reason:  "it is a score with all its digits, whose last the sines of the C library decide: within the 16th, all else the same",
			applies: named("ZRANGE"),
			equal:   func(_ line, ours, peer resp.Reply) bool { return sameButLastDigits(ours, peer) },
		},
		{
			name:    "random choice",
			reason:  "each server makes its own: as many of the same kind; all elements, if there are no more",
			applies: named("RANDOMKEY", "HRANDFIELD", "SRANDMEMBER", "ZRANDMEMBER"),
			equal:   func(_ line, ours, peer resp.Reply) bool { return sameNumber(ours, peer) },
			follow:  followRandom,
		},
		{
			name:    "serialised value",
			reason:  "the form is the server's own: each server restores the other's to the same value",
			applies: named("DUMP"),
			equal:   func(_ line, ours, peer resp.Reply) bool { return sameKind(ours, peer) },
			follow:  followDump,
		},
	}
}

// serverRelaxations are about the server itself.
func serverRelaxations() []relaxation {
	return []relaxation{
		{
			name:    "order of settings",
			reason:  "Redis's order follows a hash with a random seed: the same pairs",
			applies: named("CONFIG GET"),
			equal:   func(_ line, ours, peer resp.Reply) bool { return sameItems(ours, peer, 2) },
		},
		{
			name:    "clock",
			reason:  "it ticks: the same shape",
			applies: named("TIME"),
			equal:   func(_ line, ours, peer resp.Reply) bool { return sameNumber(ours, peer) },
		},
		{
			name:   "self-description",
			reason: "it describes the server and its connections: the same kind",
			applies: func(l line) bool {
				return named("INFO", "CLIENT ID", "CLIENT INFO", "CLIENT LIST", "COMMAND COUNT")(l) || l.name() == "COMMAND" && (len(l.args) == 1 || len(l.args) == 2 && named("COMMAND INFO")(l))
			},
			equal: func(_ line, ours, peer resp.Reply) bool { return sameKind(ours, peer) },
		},
		{
			name:    "greeting",
			reason:  "it tells the connection's id: everything else the same",
			applies: named("HELLO"),
			equal:   func(_ line, ours, peer resp.Reply) bool { return sameGreeting(ours, peer) },
		},
		{
			name:    "sets of flags",
			reason:  "the order of flags and categories has no meaning: the same words",
			applies: named("COMMAND INFO"),
			equal: func(_ line, ours, peer resp.Reply) bool {
				return bytes.Equal(sortWords(nil, ours), sortWords(nil, peer))
			},
		},
	}
}

// named matches lines by command, and by subcommand where a name has two words.
func named(names ...string) func(line) bool {
	return func(l line) bool {
		two := l.name()
		if len(l.args) > 1 {
			two += " " + strings.ToUpper(string(l.args[1]))
		}
		return slices.Contains(names, l.name()) || slices.Contains(names, two)
	}
}

// sameSorted demands the same elements with what was got for each, in any order, or
// as many of them where LIMIT leaves some out.
func sameSorted(l line, ours, peer resp.Reply) bool {
	if len(behind(l, "LIMIT")) > 0 {
		return sameKind(ours, peer) && len(ours.Items) == len(peer.Items)
	}
	return sameItems(ours, peer, max(1, len(behind(l, "GET"))))
}

// unsorted says whether a line of SORT has a BY without a star.
func unsorted(l line) bool {
	return named("SORT", "SORT_RO")(l) && slices.ContainsFunc(behind(l, "BY"), func(pattern []byte) bool { return !bytes.Contains(pattern, []byte("*")) })
}

// tied says whether a line of SORT sorts by other texts, which may be equal.
func tied(l line) bool {
	return named("SORT", "SORT_RO")(l) && len(behind(l, "BY")) > 0 &&
		slices.ContainsFunc(l.args, func(arg []byte) bool { return strings.EqualFold(string(arg), "ALPHA") })
}

// behind are the arguments that follow a word.
func behind(l line, word string) (args [][]byte) {
	for i := 2; i+1 < len(l.args); i++ {
		if strings.EqualFold(string(l.args[i]), word) {
			args = append(args, l.args[i+1])
		}
	}
	return args
}

func sameKind(ours, peer resp.Reply) bool { return ours.Kind == peer.Kind && ours.Null == peer.Null }

// sameNumber demands the same kinds down the tree.
func sameNumber(ours, peer resp.Reply) bool {
	return sameKind(ours, peer) && len(ours.Items) == len(peer.Items) &&
		slices.EqualFunc(ours.Items, peer.Items, sameNumber)
}

// sameShape is for replies of SCAN: a cursor and a list of any length.
func sameShape(ours, peer resp.Reply) bool {
	return sameKind(ours, peer) && len(ours.Items) == 2 && len(peer.Items) == 2 &&
		slices.EqualFunc(ours.Items, peer.Items, sameKind)
}

// within compares numbers; those below zero have a meaning of their own.
func within(ours, peer resp.Reply, tolerance int64) bool {
	a, errOurs := ours.Int()
	b, errPeer := peer.Int()
	return errOurs == nil && errPeer == nil && ours.Kind == peer.Kind &&
		a >= 0 && b >= 0 && max(a, b)-min(a, b) <= tolerance
}

// stepOf is the number of items that belong together in a hash's reply.
func stepOf(l line) int {
	if l.name() == "HGETALL" {
		return 2
	}
	return 1
}

// sameItems demands the same groups of step items in any order.
func sameItems(ours, peer resp.Reply, step int) bool {
	return sameKind(ours, peer) && slices.Equal(groups(ours.Items, step), groups(peer.Items, step))
}

// groups joins the bytes of each step items and sorts the result.
func groups(items []resp.Reply, step int) []string {
	var joined []string
	for i := 0; i < len(items); i += step {
		var group []byte
		for _, item := range items[i:min(i+step, len(items))] {
			group = append(group, item.Raw...)
		}
		joined = append(joined, string(group))
	}
	slices.Sort(joined)
	return joined
}

func sameGreeting(ours, peer resp.Reply) bool {
	if !sameKind(ours, peer) || len(ours.Items) != len(peer.Items) {
		return false
	}
	for i := range peer.Items {
		if i > 0 && peer.Items[i-1].Text() == "id" {
			if !sameKind(ours.Items[i], peer.Items[i]) {
				return false
			}
		} else if !bytes.Equal(ours.Items[i].Raw, peer.Items[i].Raw) {
			return false
		}
	}
	return true
}

// sortWords renders a reply with every list of simple strings sorted.
func sortWords(buf []byte, reply resp.Reply) []byte {
	if len(reply.Items) == 0 {
		return append(buf, reply.Raw...)
	}
	isWord := func(item resp.Reply) bool { return item.Kind == '+' }
	items := slices.Clone(reply.Items)
	if !slices.ContainsFunc(items, func(item resp.Reply) bool { return !isWord(item) }) {
		slices.SortFunc(items, func(a, b resp.Reply) int { return bytes.Compare(a.Raw, b.Raw) })
	}
	buf = append(buf, reply.Kind)
	buf = strconv.AppendInt(buf, int64(len(items)), 10)
	for _, item := range items {
		buf = sortWords(append(buf, '\r', '\n'), item)
	}
	return buf
}
