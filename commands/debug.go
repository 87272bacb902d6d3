package commands

import (
	"math"
	"strconv"
	"strings"
	"time"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns DEBUG: what Redis's tests and its users' turn to for looking at
// and provoking a server. Its subcommands are no commands of their own, as in
// Redis: DEBUG parses them itself.

type debugParams struct{ words [][]byte }

func debugCommand() *Command {
	return onSession(Declaration{
		Name: "debug", Family: Server, Since: "1.0.0", Complexity: "Depends on subcommand.",
		Summary: "A container for debugging commands", DocFlags: []string{"syscmd"},
		Flags: Admin | NoScript | Loading | Stale,
		Reply: reply.Any(),
	}, grammar.Compile[debugParams](
		grammar.Rest("word", func(p *debugParams) *[][]byte { return &p.words }).DocumentedAs(),
	), func(s *Session, p *debugParams, w *reply.Writer) error { return runDebug(s, p, w) })
}

// debugAction is one subcommand: least to most words follow its name.
type debugAction struct {
	name        string
	least, most int
	help        []string
	run         func(s *Session, args [][]byte, w *reply.Writer) error
}

// permits asks a directive that opens commands to nobody, everybody or clients on
// this host.
func (s *Session) permits(directive string) bool {
	allowed := s.Core.Config.Get(directive)
	return allowed == "yes" || allowed == "local" && s.Peer.Local()
}

func runDebug(s *Session, p *debugParams, w *reply.Writer) error {
	if !s.permits("enable-debug-command") {
		return errDebugDisabled
	}
	word, args := p.words[0], p.words[1:]
	if equalFold(word, "help") && len(args) == 0 {
		return debugHelp(w)
	}
	for _, action := range debugActions() {
		if equalFold(word, action.name) && len(args) >= action.least && len(args) <= action.most {
			err := action.run(s, args, w)
			if err == errSubcommand {
				err = errUsage("DEBUG", word)
			}
			return err
		}
	}
	return errUsage("DEBUG", word)
}

func debugActions() []debugAction {
	return []debugAction{
		{"change-repl-id", 0, 0, []string{"CHANGE-REPL-ID", "    Accepted: nothing is replicated."}, debugOK},
		{"config-rewrite-force-all", 0, 0, []string{"CONFIG-REWRITE-FORCE-ALL", "    Like CONFIG REWRITE but writes all configuration options, including", "    keywords not listed in original configuration file or default values."}, debugRewriteAll},
		{"digest", 0, 0, []string{"DIGEST", "    Output a hex signature representing the current DB content."}, onLoaded(debugDigest)},
		{"digest-value", 0, math.MaxInt, []string{"DIGEST-VALUE <key> [<key> ...]", "    Output a hex signature of the values of all the specified keys."}, onLoaded(debugDigestValue)},
		{"error", 1, 1, []string{"ERROR <string>", "    Return a Redis protocol error with <string> as message. Useful for clients", "    unit tests to simulate Redis errors."}, debugError},
		{"loadaof", 0, 0, []string{"LOADAOF", "    Flush the journal, empty the memory and recover it."}, onLoaded(debugLoadAOF)},
		{"log", 1, 1, []string{"LOG <message>", "    Write <message> to the server log."}, debugLog},
		{"object", 1, 1, []string{"OBJECT <key>", "    Show low level info about `key` and associated value."}, onLoaded(debugObject)},
		{"pause-cron", 1, 1, []string{"PAUSE-CRON <0|1>", "    Accepted: there is no periodic cron job."}, debugOK},
		{"populate", 1, 3, []string{"POPULATE <count> [<prefix>] [<size>]", "    Create <count> string keys named key:<num>. If <prefix> is specified then", "    it is used instead of the 'key' prefix. These are not propagated to", "    replicas. Cluster slots are not respected so keys not belonging to the", "    current node can be created in cluster mode."}, onLoaded(debugPopulate)},
		{"protocol", 1, 1, []string{"PROTOCOL <type>", "    Reply with a test value of the specified type. <type> can be: string,", "    integer, double, bignum, null, array, set, map, attrib, push, verbatim,", "    true, false."}, debugProtocol},
		{"quicklist-packed-threshold", 1, 1, []string{"QUICKLIST-PACKED-THRESHOLD <size>", "    Accepted: lists have no such threshold."}, debugOK},
		{"reload", 0, math.MaxInt, []string{"RELOAD [option ...]", "    Write a snapshot and a checkpoint, empty the memory and recover it from the", "    checkpoint; from the snapshot with options, or without a store:", "      * MERGE: conflicting keys will be loaded from the snapshot.", "      * NOFLUSH: the existing database will not be removed before load, but", "        conflicting keys are an error if MERGE is not used.", "      * NOSAVE: the existing snapshot is loaded, none is written."}, onLoaded(debugReload)},
		{"replicate", 1, math.MaxInt, []string{"REPLICATE <string>", "    Accepted: there are no replicas."}, debugOK},
		{"replybuffer", 2, 2, []string{"REPLYBUFFER <PEAK-RESET-TIME|RESIZING> <value>", "    Control the reply buffer size that CLIENT LIST shows and clients take:", "    PEAK-RESET-TIME <never|reset|ms> sets for how long a peak of replies counts,", "    RESIZING <0|1> whether buffers follow it at all."}, debugReplyBuffer},
		{"segfault", 0, 0, []string{"SEGFAULT", "    Crash the server with sigsegv."}, debugCrash},
		{"set-active-expire", 1, 1, []string{"SET-ACTIVE-EXPIRE <0|1>", "    Setting it to 0 disables expiring keys (and hash-fields) in background", "    when they are not accessed (otherwise the Redis behavior). Setting it", "    to 1 reenables back the default."}, debugSetActiveExpire},
		{"set-disable-deny-scripts", 1, 1, []string{"SET-DISABLE-DENY-SCRIPTS <0|1>", "    Setting it to 1 lets scripts call commands that are not for scripts."}, debugUnbarScripts},
		{"set-skip-checksum-validation", 1, 1, []string{"SET-SKIP-CHECKSUM-VALIDATION <0|1>", "    Setting it to 1 has RESTORE take payloads whatever their checksums are."}, debugTrustDumps},
		{"sleep", 1, 1, []string{"SLEEP <seconds>", "    Stop the server for <seconds>. Decimals allowed."}, debugSleep},
	}
}

func debugHelp(w *reply.Writer) error {
	lines := []string{"DEBUG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"}
	for _, action := range debugActions() {
		lines = append(lines, action.help...)
	}
	lines = append(lines, "HELP", "    Prints this help.")
	w.Array(len(lines))
	for _, line := range lines {
		w.Status(line)
	}
	return nil
}

// debugOK accepts what tunes something that does not exist here.
func debugOK(_ *Session, _ [][]byte, w *reply.Writer) error {
	w.OK()
	return nil
}

// debugReplyBuffer tunes how the buffers of replies follow what they held.
func debugReplyBuffer(s *Session, args [][]byte, w *reply.Writer) error {
	peaks := equalFold(args[0], "peak-reset-time")
	switch {
	case peaks && equalFold(args[1], "never"):
		s.Core.Clients.KeepReplyPeaks(KeepForEver)
	case peaks && equalFold(args[1], "reset"):
		s.Core.Clients.KeepReplyPeaks(KeepDefault)
	case peaks:
		ms, ok := grammar.ParseInt(args[1])
		if !ok {
			return ErrNotInteger
		}
		s.Core.Clients.KeepReplyPeaks(max(ms, KeepForEver))
	case equalFold(args[0], "resizing"):
		s.Core.Clients.FitReplies(leadingInt(args[1]) != 0)
	default:
		return errSubcommand
	}
	w.OK()
	return nil
}

func debugError(_ *Session, args [][]byte, _ *reply.Writer) error { return Error(args[0]) }

func debugRewriteAll(s *Session, _ [][]byte, w *reply.Writer) error {
	if err := s.Core.Config.Rewrite(true); err != nil {
		return errRewriteAll(err)
	}
	w.OK()
	return nil
}

func debugCrash(s *Session, _ [][]byte, w *reply.Writer) error {
	s.Core.Process.Crash()
	w.OK()
	return nil
}

func debugUnbarScripts(s *Session, args [][]byte, w *reply.Writer) error {
	s.Core.scripts.unbarred.Store(string(args[0]) != "0")
	w.OK()
	return nil
}

func debugTrustDumps(s *Session, args [][]byte, w *reply.Writer) error {
	s.Core.Engine.TrustDumps(leadingInt(args[0]) != 0)
	w.OK()
	return nil
}

func debugLog(s *Session, args [][]byte, w *reply.Writer) error {
	s.Core.Process.Log("DEBUG LOG: " + string(args[0]))
	w.OK()
	return nil
}

func debugSetActiveExpire(s *Session, args [][]byte, w *reply.Writer) error {
	s.Core.Engine.SetActiveExpire(leadingInt(args[0]) != 0)
	w.OK()
	return nil
}

// leadingInt is C's atoi.
func leadingInt(arg []byte) int64 {
	text := strings.TrimLeft(string(arg), " \t\n\v\f\r")
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || end == 0 && (text[0] == '-' || text[0] == '+')) {
		end++
	}
	number, _ := strconv.ParseInt(text[:end], 10, 32)
	return number
}

// debugSleepMax bounds DEBUG SLEEP.
const debugSleepMax = 24 * time.Hour

// debugSleep holds up everything behind this event loop, as its users want; it
// is the one handler that waits. In EXEC all locks are held meanwhile.
func debugSleep(_ *Session, args [][]byte, w *reply.Writer) error {
	seconds, _ := strconv.ParseFloat(string(args[0]), 64)
	if seconds > 0 {
		time.Sleep(time.Duration(min(seconds, debugSleepMax.Seconds()) * float64(time.Second)))
	}
	w.OK()
	return nil
}

// debugPopulate writes directly what Redis writes, in batches of moderate size.
func debugPopulate(s *Session, args [][]byte, w *reply.Writer) error {
	count, size, prefix := int64(0), int64(0), "key"
	for _, number := range []struct {
		at int
		to *int64
	}{{0, &count}, {2, &size}} {
		if number.at >= len(args) {
			continue
		}
		value, ok := grammar.ParseInt(args[number.at])
		if !ok || value < 0 {
			return ErrNotPositive
		}
		*number.to = value
	}
	if len(args) > 1 {
		prefix = string(args[1])
	}
	if size > s.Core.Engine.Limits.StringMax.Load() {
		return ErrStringTooLong
	}
	const batch = 1000
	for first := int64(0); first < count; first += batch {
		if err := s.Core.Engine.Ready(); err != nil {
			return err
		}
		err := s.within((*engine.Tx).LockAll, func(tx *engine.Tx) error {
			tx.DB = s.DB
			populate(tx, prefix, first, min(first+batch, count), int(size))
			return nil
		})
		if err != nil {
			return err
		}
	}
	w.OK()
	return nil
}

func populate(tx *engine.Tx, prefix string, from, to int64, size int) {
	for i := from; i < to; i++ {
		number := strconv.FormatInt(i, 10)
		key := []byte(prefix + ":" + number)
		if tx.Exists(key) {
			continue
		}
		value := []byte("value:" + number)
		if size > 0 {
			padded := make([]byte, size)
			copy(padded, value)
			value = padded
		}
		tx.SetString(key, value, 0)
	}
}

// debugProtocol replies with one value of each kind that there is.
func debugProtocol(_ *Session, args [][]byte, w *reply.Writer) error {
	for _, kind := range []struct {
		name  string
		write func()
	}{
		{"string", func() { w.BulkString("Hello World") }},
		{"integer", func() { w.Int(12345) }},
		{"double", func() { w.Double(3.141) }},
		{"bignum", func() { w.BigNumber("1234567999999999999999999999999999999") }},
		{"null", w.Null},
		{"array", func() { w.Array(3); writeCount(w) }},
		{"set", func() { w.Set(3); writeCount(w) }},
		{"map", func() { writeDebugMap(w) }},
		{"attrib", func() { writeDebugAttribute(w) }},
		{"verbatim", func() { w.Verbatim("txt", "This is a verbatim\nstring") }},
		{"true", func() { w.Bool(true) }},
		{"false", func() { w.Bool(false) }},
	} {
		if equalFold(args[0], kind.name) {
			kind.write()
			return nil
		}
	}
	if !equalFold(args[0], "push") {
		return errProtocolType
	}
	if w.Proto() < 3 {
		return errResp2
	}
	w.Push(2)
	w.BulkString("server-cpu-usage")
	w.Int(42)
	// A push is no reply: one follows it, for clients that wait for one.
	w.BulkString("Some real reply following the push reply")
	return nil
}

func writeCount(w *reply.Writer) {
	for i := range int64(3) {
		w.Int(i)
	}
}

func writeDebugMap(w *reply.Writer) {
	w.Map(3)
	for i := range int64(3) {
		w.Int(i)
		w.Bool(i == 1)
	}
}

func writeDebugAttribute(w *reply.Writer) {
	if w.Proto() >= 3 {
		w.Attribute(1)
		w.BulkString("key-popularity")
		w.Array(2)
		w.BulkString("key:123")
		w.Int(90)
	}
	w.BulkString("Some real reply following the attribute")
}
