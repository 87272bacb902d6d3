package commands

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"reminis/commands/grammar"
	"reminis/commands/reply"
)

// This file owns the categories of commands, derived from what they declare, and
// ACL's subcommands that have nothing to do with users. It must not know any
// command by name.

// aclCategories are in the order in which Redis lists them, and ours behind them.
func aclCategories() []string {
	return []string{
		"keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap", "hyperloglog", "geo", "stream",
		"pubsub", "admin", "fast", "slow", "blocking", "dangerous", "connection", "transaction", "scripting",
		memoryCategory, memoryAdminCategory,
	}
}

// familyCategory is the category that all commands of a family have; "" for
// none. Redis writes it at each command.
func familyCategory(f Family) string {
	switch f {
	case Geo, Strings, Bitmap, Hashes, Lists, Sets, Streams, HyperLogLog, Connection, Scripting:
		return string(f)
	case SortedSets:
		return "sortedset"
	case Transactions:
		return "transaction"
	case Generic:
		return "keyspace"
	}
	return ""
}

// categories are a command's ACL categories in the order of aclCategories
// (server.c setImplicitACLCategories).
func (c *Command) categories() []string {
	has := map[string]bool{}
	// A container is only a name: its subcommands carry the category.
	if name := familyCategory(c.Family); name != "" && c.runs() {
		has[name] = true
	}
	for _, word := range c.Categories {
		name, not := strings.CutPrefix(word, "-")
		has[name] = !not
	}
	for _, implied := range []struct {
		flag  Flags
		names []string
	}{
		{Write, []string{"write"}}, {ReadOnly, []string{"read"}}, {Admin, []string{"admin", "dangerous"}},
		{PubSub, []string{"pubsub"}}, {Fast, []string{"fast"}}, {Blocking, []string{"blocking"}},
	} {
		if c.is(implied.flag) && !(implied.flag == ReadOnly && has["scripting"]) {
			for _, name := range implied.names {
				has[name] = true
			}
		}
	}
	has["slow"] = !has["fast"]
	var names []string
	for _, name := range aclCategories() {
		if has[name] {
			names = append(names, name)
		}
	}
	return names
}

// inCategory says whether c has the category; words are matched without regard
// to case.
func (c *Command) inCategory(word string) bool {
	return slices.ContainsFunc(c.categories(), func(name string) bool { return strings.EqualFold(name, word) })
}

func aclCommand() *Command {
	return container(Declaration{
		Name: "acl", Family: Server, Since: "6.0.0", Complexity: "Depends on subcommand.",
		Summary: "A container for Access List Control commands ",
	},
		aclCatCommand(), aclDelUserCommand(), aclDryRunCommand(), aclGenPassCommand(), aclGetUserCommand(), aclListCommand(),
		aclLoadCommand(), aclLogCommand(), aclSaveCommand(), aclSetUserCommand(), aclUsersCommand(), aclWhoAmICommand(),
		helpSince("6.0.0", nil, "acl",
			"CAT [<category>]", "    List all commands that belong to <category>, or all command categories", "    when no category is specified.",
			"DELUSER <username> [<username> ...]", "    Delete a list of users.",
			"DRYRUN <username> <command> [<arg> ...]", "    Returns whether the user can execute the given command without executing the command.",
			"GETUSER <username>", "    Get the user's details.",
			"GENPASS [<bits>]", "    Generate a secure 256-bit user password. The optional `bits` argument can", "    be used to specify a different size.",
			"LIST", "    Show users details in config file format.",
			"LOAD", "    Reload users from the ACL file.",
			"LOG [<count> | RESET]", "    Show the ACL log entries.",
			"SAVE", "    Save the current config to the ACL file.",
			"SETUSER <username> <attribute> [<attribute> ...]", "    Create or modify a user with the specified attributes.",
			"USERS", "    List all the registered usernames.",
			"WHOAMI", "    Return the current connection username."),
	)
}

const aclFlags = NoScript | Loading | Stale

// tooMany takes what stands behind the last argument of a subcommand: it is an
// error of ACL's, which the arity does not say.
func tooMany[P any](field func(*P) *[][]byte) grammar.Node {
	return grammar.Opt(grammar.Rest("extra", field).DocumentedAs())
}

// errACLUsage is that error.
func (s *Session) errACLUsage() error { return errUsage("ACL", s.words[1]) }

type aclCatParams struct {
	category []byte
	extra    [][]byte
}

func aclCatCommand() *Command {
	return onSession(Declaration{
		Name: "cat", Since: "6.0.0", Complexity: "O(1) since the categories and commands are a fixed set.",
		Summary: "List the ACL categories or the commands inside a category",
		Flags:   aclFlags, Reply: reply.ArrayOf(reply.Bulk()),
	}, grammar.Compile[aclCatParams](
		grammar.Opt(grammar.Bytes("categoryname", func(p *aclCatParams) *[]byte { return &p.category })),
		tooMany(func(p *aclCatParams) *[][]byte { return &p.extra }),
	), runACLCat)
}

func runACLCat(s *Session, p *aclCatParams, w *reply.Writer) error {
	if len(p.extra) > 0 {
		return s.errACLUsage()
	}
	if p.category == nil {
		w.Array(len(aclCategories()))
		for _, name := range aclCategories() {
			w.BulkString(name)
		}
		return nil
	}
	word := string(upToNul(p.category))
	if !slices.ContainsFunc(aclCategories(), func(name string) bool { return strings.EqualFold(name, word) }) {
		return errACLCategory(p.category)
	}
	s.Core.Table.writeNames(w, func(c *Command) bool { return c.inCategory(word) })
	return nil
}

// writeNames writes the full names of the commands that keep accepts.
func (t *Table) writeNames(w *reply.Writer, keep func(c *Command) bool) {
	names, n := w.DeferArray(100), 0
	t.each(func(c *Command) {
		if keep(c) {
			w.BulkString(c.FullName())
			n++
		}
	})
	w.Close(names, n)
}

// genPassBitsMax is Redis's limit of ACL GENPASS.
const genPassBitsMax = 4096

type aclGenPassParams struct {
	bits  int64
	extra [][]byte
}

func aclGenPassCommand() *Command {
	return onSession(Declaration{
		Name: "genpass", Since: "6.0.0", Complexity: "O(1)",
		Summary: "Generate a pseudorandom secure password to use for ACL users",
		Flags:   aclFlags, Reply: reply.Bulk(),
	}, grammar.Compile[aclGenPassParams](
		grammar.Opt(grammar.Int("bits", func(p *aclGenPassParams) *int64 { return &p.bits }).Default(256).Range(1, genPassBitsMax).
			Fail(grammar.OutOfRange, "ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to "+strconv.Itoa(genPassBitsMax))),
		tooMany(func(p *aclGenPassParams) *[][]byte { return &p.extra }),
	), func(s *Session, p *aclGenPassParams, w *reply.Writer) error {
		if len(p.extra) > 0 {
			return s.errACLUsage()
		}
		var random [genPassBitsMax / 8]byte
		_, _ = rand.Read(random[:]) // never fails, or the program ends
		w.BulkString(hex.EncodeToString(random[:])[:(p.bits+3)/4])
		return nil
	})
}
