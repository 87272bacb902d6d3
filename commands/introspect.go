package commands

import (
	"bytes"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine/memory"
)

// This file owns COMMAND: the table as clients read it. Everything in it is
// derived from the declarations. It must not know any command by name.

func commandCommand() *Command {
	c := onSession(Declaration{
		Name: "command", Family: Server, Since: "2.8.13", Complexity: "O(N) where N is the total number of Redis commands",
		Summary: "Get array of Redis command details", Categories: []string{"connection"},
		Flags: Loading | Stale, Tips: []string{nondeterministicOrder},
		Reply: commandInfoShape(),
	}, grammar.Compile[noParams]().WithArity(-1, "the words behind it are subcommands"), func(s *Session, _ *noParams, w *reply.Writer) error {
		s.Core.Table.writeInfo(w)
		return nil
	})
	return c.with(
		commandCountCommand(), commandDocsCommand(), commandGetKeysCommand(), commandGetKeysAndFlagsCommand(),
		commandInfoCommand(), commandListCommand(),
		helpSince("5.0.0", []string{"connection"}, "command",
			"(no subcommand)", "    Return details about all Redis commands.",
			"COUNT", "    Return the total number of commands in this Redis server.",
			"LIST", "    Return a list of all commands in this Redis server.",
			"INFO [<command-name> ...]", "    Return details about multiple Redis commands.",
			"    If no command names are given, documentation details for all", "    commands are returned.",
			"DOCS [<command-name> ...]", "    Return documentation details about multiple Redis commands.",
			"    If no command names are given, documentation details for all", "    commands are returned.",
			"GETKEYS <full-command>", "    Return the keys from a full Redis command.",
			"GETKEYSANDFLAGS <full-command>", "    Return the keys and the access flags from a full Redis command."),
	)
}

// nondeterministicOrder is the tip that a reply's order means nothing.
const nondeterministicOrder = "nondeterministic_output_order"

// commandInfoShape is a row of COMMAND INFO for each name; the rows of
// subcommands within it have the same shape.
func commandInfoShape() reply.Shape {
	words := reply.SetOf(reply.Status())
	return reply.ArrayOf(reply.Nullable(reply.Tuple(
		reply.Bulk(), reply.Int(), words, reply.Int(), reply.Int(), reply.Int(), words,
		reply.SetOf(reply.Bulk()), reply.SetOf(reply.MapOf(reply.Bulk(), reply.Any())),
		reply.OneOf(reply.ArrayOf(reply.Any()), reply.SetOf(reply.Any())),
	)))
}

func commandCountCommand() *Command {
	return onSession(Declaration{
		Name: "count", Since: "2.8.13", Complexity: "O(1)",
		Summary: "Get total number of Redis commands", Categories: []string{"connection"},
		Flags: Loading | Stale, Reply: reply.Int(),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		w.Int(int64(len(s.Core.Table.all)))
		return nil
	})
}

type commandNamesParams struct{ names [][]byte }

func commandNamesGrammar() *grammar.Grammar {
	return grammar.Compile[commandNamesParams](
		grammar.Opt(grammar.Rest("command-name", func(p *commandNamesParams) *[][]byte { return &p.names })),
	)
}

func commandInfoCommand() *Command {
	return onSession(Declaration{
		Name: "info", Since: "2.8.13", Complexity: "O(N) where N is the number of commands to look up",
		Summary: "Get array of specific Redis command details, or all when no argument is given.", Categories: []string{"connection"},
		Flags: Loading | Stale, Tips: []string{nondeterministicOrder},
		History: []Change{{"7.0.0", "Allowed to be called with no argument to get info on all commands."}},
		Reply:   commandInfoShape(),
	}, commandNamesGrammar(), func(s *Session, p *commandNamesParams, w *reply.Writer) error {
		if len(p.names) == 0 {
			s.Core.Table.writeInfo(w)
			return nil
		}
		w.Array(len(p.names))
		for _, name := range p.names {
			if c := s.Core.Table.byFullName(name); c != nil {
				c.writeInfo(w)
			} else {
				w.Null()
			}
		}
		return nil
	})
}

// byFullName finds a command by name, "get" or "config|get", without regard to
// case; nil when there is none.
func (t *Table) byFullName(name []byte) *Command {
	words := bytes.SplitN(name, []byte("|"), 3)
	c := t.find(words)
	if c == nil || len(words) != c.words() {
		return nil
	}
	return c
}

func (t *Table) writeInfo(w *reply.Writer) {
	w.Array(len(t.all))
	for _, c := range t.all {
		c.writeInfo(w)
	}
}

// writeInfo writes the command as COMMAND INFO does (server.c
// addReplyCommandInfo).
func (c *Command) writeInfo(w *reply.Writer) {
	first, last, step, movable := 0, 0, 0, false
	var specs []grammar.KeySpec
	if c.grammar != nil {
		first, last, step, movable = c.grammar.KeyRange(c.words())
		specs = c.grammar.KeySpecs(c.words())
	}
	w.Array(10)
	w.BulkString(c.FullName())
	w.Int(int64(c.arity()))
	writeWords(w, c.flagNames(movable), "")
	w.Int(int64(first))
	w.Int(int64(last))
	w.Int(int64(step))
	writeWords(w, c.categories(), "@")
	w.Set(len(c.Tips))
	for _, tip := range c.Tips {
		w.BulkString(tip)
	}
	w.Set(len(specs))
	for i := range specs {
		writeKeySpec(w, &specs[i])
	}
	if len(c.Subs) == 0 {
		w.Set(0)
		return
	}
	w.Array(len(c.Subs))
	for _, sub := range c.Subs {
		sub.writeInfo(w)
	}
}

// writeWords writes a set of status replies.
func writeWords(w *reply.Writer, words []string, prefix string) {
	w.Set(len(words))
	for _, word := range words {
		w.Status(prefix + word)
	}
}

// flagNames are the flags that Redis shows, in its order. movable is Redis's
// movablekeys, which it derives as well.
func (c *Command) flagNames(movable bool) []string {
	var names []string
	for _, flag := range []struct {
		name string
		set  bool
	}{
		{"write", c.is(Write)}, {"readonly", c.is(ReadOnly)}, {"denyoom", c.is(DenyOOM)}, {"admin", c.is(Admin)},
		{"pubsub", c.is(PubSub)}, {"noscript", c.is(NoScript)}, {"blocking", c.is(Blocking)}, {"loading", c.is(Loading)},
		{"stale", c.is(Stale)}, {"skip_monitor", c.is(SkipMonitor)}, {"skip_slowlog", c.is(SkipSlowlog)}, {"asking", c.is(Asking)}, {"fast", c.is(Fast)},
		{"no_auth", c.is(NoAuth)}, {"no_mandatory_keys", c.is(NoMandatoryKeys)}, {"no_async_loading", c.is(NoAsyncLoading)},
		{"no_multi", c.is(NoMulti)}, {"movablekeys", movable}, {"allow_busy", c.is(AllowBusy)},
	} {
		if flag.set {
			names = append(names, flag.name)
		}
	}
	return names
}

func writeKeySpec(w *reply.Writer, spec *grammar.KeySpec) {
	if spec.Notes != "" {
		w.Map(4)
		w.BulkString("notes")
		w.BulkString(spec.Notes)
	} else {
		w.Map(3)
	}
	w.BulkString("flags")
	writeWords(w, keyFlagNames(spec.Flags), "")
	w.BulkString("begin_search")
	writeBeginSearch(w, spec)
	w.BulkString("find_keys")
	writeFindKeys(w, spec)
}

func keyFlagNames(flags grammar.KeyFlags) []string {
	var names []string
	flags.Names(func(name string) { names = append(names, name) })
	return names
}

// specPart is a field of a begin_search or find_keys.
type specPart struct {
	name  string
	value int
}

func writeBeginSearch(w *reply.Writer, spec *grammar.KeySpec) {
	switch spec.Begin {
	case grammar.BeginIndex:
		writeSpec(w, "index", "", specPart{"index", spec.Index})
	case grammar.BeginKeyword:
		writeSpec(w, "keyword", spec.Keyword, specPart{"startfrom", spec.StartFrom})
	default:
		writeSpec(w, "unknown", "")
	}
}

func writeFindKeys(w *reply.Writer, spec *grammar.KeySpec) {
	switch spec.Find {
	case grammar.FindRange:
		writeSpec(w, "range", "", specPart{"lastkey", spec.LastKey}, specPart{"keystep", spec.Step}, specPart{"limit", spec.Limit})
	case grammar.FindKeyNum:
		writeSpec(w, "keynum", "", specPart{"keynumidx", spec.KeyNumAt}, specPart{"firstkey", spec.FirstKey}, specPart{"keystep", spec.Step})
	default:
		writeSpec(w, "unknown", "")
	}
}

func writeSpec(w *reply.Writer, kind, keyword string, parts ...specPart) {
	w.Map(2)
	w.BulkString("type")
	w.BulkString(kind)
	w.BulkString("spec")
	if keyword != "" {
		w.Map(len(parts) + 1)
		w.BulkString("keyword")
		w.BulkString(keyword)
	} else {
		w.Map(len(parts))
	}
	for _, part := range parts {
		w.BulkString(part.name)
		w.Int(int64(part.value))
	}
}

type commandListParams struct {
	by   uint8 // commandsOfModule, …
	word []byte
}

const (
	commandsOfModule = iota + 1
	commandsOfCategory
	commandsByPattern
)

func commandListCommand() *Command {
	word := func(name string) grammar.Node {
		return grammar.Bytes(name, func(p *commandListParams) *[]byte { return &p.word })
	}
	return onSession(Declaration{
		Name: "list", Since: "7.0.0", Complexity: "O(N) where N is the total number of Redis commands",
		Summary: "Get an array of Redis command names", Categories: []string{"connection"},
		Flags: Loading | Stale, Tips: []string{nondeterministicOrder},
		Reply: reply.ArrayOf(reply.Bulk()),
	}, grammar.Compile[commandListParams](
		grammar.Opt(grammar.Choice("filterby", func(p *commandListParams) *uint8 { return &p.by },
			word("module-name").After("MODULE"), word("category").After("ACLCAT"), word("pattern").Typed(grammar.TypePattern).After("PATTERN"),
		).After("FILTERBY")),
	), func(s *Session, p *commandListParams, w *reply.Writer) error {
		s.Core.Table.writeNames(w, p.keeps)
		return nil
	})
}

func (p *commandListParams) keeps(c *Command) bool {
	switch p.by {
	case commandsOfModule:
		return false
	case commandsOfCategory:
		return c.inCategory(string(p.word))
	case commandsByPattern:
		return memory.Match(p.word, []byte(c.FullName()), true)
	}
	return true
}

// commandLineParams is a command line as arguments of another.
type commandLineParams struct{ argv [][]byte }

func commandLineGrammar() *grammar.Grammar {
	return grammar.Compile[commandLineParams](
		grammar.Rest("argv", func(p *commandLineParams) *[][]byte { return &p.argv }).DocumentedAs(),
	).WithArity(-3, "a command that has keys has at least one argument")
}

func commandGetKeysCommand() *Command {
	return onSession(Declaration{
		Name: "getkeys", Since: "2.8.13", Complexity: "O(N) where N is the number of arguments to the command",
		Summary: "Extract keys given a full Redis command", Categories: []string{"connection"},
		Flags: Loading | Stale, Reply: reply.ArrayOf(reply.Bulk()),
	}, commandLineGrammar(), func(s *Session, p *commandLineParams, w *reply.Writer) error {
		keys, args, err := s.Core.Table.keysIn(p.argv)
		if err != nil {
			return err
		}
		w.Array(len(keys))
		for _, key := range keys {
			w.Bulk(args[key.Index])
		}
		return nil
	})
}

func commandGetKeysAndFlagsCommand() *Command {
	return onSession(Declaration{
		Name: "getkeysandflags", Since: "7.0.0", Complexity: "O(N) where N is the number of arguments to the command",
		Summary: "Extract keys and access flags given a full Redis command", Categories: []string{"connection"},
		Flags: Loading | Stale, Reply: reply.ArrayOf(reply.Tuple(reply.Bulk(), reply.SetOf(reply.Status()))),
	}, commandLineGrammar(), func(s *Session, p *commandLineParams, w *reply.Writer) error {
		keys, args, err := s.Core.Table.keysIn(p.argv)
		if err != nil {
			return err
		}
		w.Array(len(keys))
		for _, key := range keys {
			w.Array(2)
			w.Bulk(args[key.Index])
			writeWords(w, keyFlagNames(key.Flags), "")
		}
		return nil
	})
}

// keysIn are the keys of a command line, as positions in its arguments.
func (t *Table) keysIn(argv [][]byte) (keys []grammar.KeyRef, args [][]byte, err error) {
	c := t.find(argv)
	if c == nil || c.subs != nil && len(argv) > 1 {
		return nil, nil, errInvalidCommand
	}
	if c.grammar == nil || !c.grammar.HasKeys() {
		return nil, nil, errNoKeyArguments
	}
	if n := c.arity(); n > 0 && len(argv) != n || len(argv) < -n {
		return nil, nil, errKeysArity
	}
	args = argv[c.words():]
	keys, ok := c.grammar.Keys(nil, args)
	if (!ok || len(keys) == 0) && !c.is(NoMandatoryKeys) {
		return nil, nil, errKeysArguments
	}
	return keys, args, nil
}

func commandDocsCommand() *Command {
	return onSession(Declaration{
		Name: "docs", Since: "7.0.0", Complexity: "O(N) where N is the number of commands to look up",
		Summary: "Get array of specific Redis command documentation", Categories: []string{"connection"},
		Flags: Loading | Stale, Tips: []string{nondeterministicOrder},
		Reply: reply.MapOf(reply.Bulk(), reply.MapOf(reply.Bulk(), reply.Any())),
	}, commandNamesGrammar(), func(s *Session, p *commandNamesParams, w *reply.Writer) error {
		table := s.Core.Table
		if len(p.names) == 0 {
			w.Map(len(table.all))
			for _, c := range table.all {
				c.writeNamedDocs(w)
			}
			return nil
		}
		docs, n := w.DeferMap(len(p.names)), 0
		for _, name := range p.names {
			if c := table.byFullName(name); c != nil {
				c.writeNamedDocs(w)
				n++
			}
		}
		w.Close(docs, n)
		return nil
	})
}

func (c *Command) writeNamedDocs(w *reply.Writer) {
	w.BulkString(c.FullName())
	c.writeDocs(w)
}

// writeDocs writes the command as COMMAND DOCS does (server.c
// addReplyCommandDocs).
func (c *Command) writeDocs(w *reply.Writer) {
	docs := mapWriter{w: w, header: w.DeferMap(8)}
	docs.text("summary", c.Summary)
	docs.text("since", c.Since)
	docs.text("group", string(c.Family))
	docs.text("complexity", c.Complexity)
	if flags := c.docFlags(); len(flags) > 0 {
		docs.name("doc_flags")
		writeWords(w, flags, "")
	}
	docs.text("deprecated_since", c.DeprecatedSince)
	docs.text("replaced_by", c.ReplacedBy)
	if len(c.History) > 0 {
		docs.name("history")
		w.Set(len(c.History))
		for _, change := range c.History {
			w.Array(2)
			w.BulkString(change.Since)
			w.BulkString(change.Text)
		}
	}
	if c.grammar != nil {
		if args := c.grammar.Docs(); len(args) > 0 {
			docs.name("arguments")
			writeArgs(w, args)
		}
	}
	if len(c.Subs) > 0 {
		docs.name("subcommands")
		w.Map(len(c.Subs))
		for _, sub := range c.Subs {
			sub.writeNamedDocs(w)
		}
	}
	docs.close()
}

// docFlags are the doc_flags; deprecated is said by the version.
func (c *Command) docFlags() []string {
	if c.DeprecatedSince != "" {
		return append([]string{"deprecated"}, c.DocFlags...)
	}
	return c.DocFlags
}

// mapWriter writes a map of what there is to say.
type mapWriter struct {
	w      *reply.Writer
	header reply.Deferred
	n      int
}

func (m *mapWriter) name(name string) {
	m.w.BulkString(name)
	m.n++
}

// text writes a field unless it is empty.
func (m *mapWriter) text(name, value string) {
	if value != "" {
		m.name(name)
		m.w.BulkString(value)
	}
}

func (m *mapWriter) close() { m.w.Close(m.header, m.n) }

func writeArgs(w *reply.Writer, args []grammar.Arg) {
	w.Array(len(args))
	for i := range args {
		writeArg(w, &args[i])
	}
}

// emptyToken is how a grammar writes a word without letters.
const emptyToken = `""`

func writeArg(w *reply.Writer, arg *grammar.Arg) {
	fields := mapWriter{w: w, header: w.DeferMap(4)}
	fields.text("name", arg.Name)
	fields.text("type", arg.Type.String())
	if arg.KeySpec >= 0 {
		fields.name("key_spec_index")
		w.Int(int64(arg.KeySpec))
	}
	if arg.Token == emptyToken {
		fields.name("token")
		w.BulkString("")
	} else {
		fields.text("token", arg.Token)
	}
	fields.text("summary", arg.Summary)
	fields.text("since", arg.Since)
	fields.text("deprecated_since", arg.DeprecatedSince)
	var flags []string
	for _, flag := range []struct {
		name string
		set  bool
	}{{"optional", arg.Optional}, {"multiple", arg.Multiple}, {"multiple_token", arg.MultipleToken}} {
		if flag.set {
			flags = append(flags, flag.name)
		}
	}
	if len(flags) > 0 {
		fields.name("flags")
		writeWords(w, flags, "")
	}
	if arg.Type == grammar.TypeOneOf || arg.Type == grammar.TypeBlock {
		fields.name("arguments")
		writeArgs(w, arg.Args)
	}
	fields.close()
}

// runs says whether the command does something without a subcommand.
func (c *Command) runs() bool { return c.run != nil || c.session != nil }

// helpSince is helpCommand for a container whose HELP has another version, or
// categories of its own.
func helpSince(since string, categories []string, name string, lines ...string) *Command {
	help := helpCommand(name, lines...)
	help.Since, help.Categories = since, categories
	return help
}
