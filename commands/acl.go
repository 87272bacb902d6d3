package commands

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"reminis/commands/grammar"
	"reminis/commands/reply"
)

// This file owns ACL: the categories of commands, derived from what they
// declare, and what is true of the one user that there is. It must not know any
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
	case Strings, Bitmap, Hashes, Connection, Scripting:
		return string(f)
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
		aclCatCommand(), aclGenPassCommand(), aclGetUserCommand(), aclListCommand(), aclUsersCommand(), aclWhoAmICommand(),
		aclLogCommand(), aclSetUserCommand(), aclDelUserCommand(),
		aclFileCommand("load", "Reload the ACLs from the configured ACL file"),
		aclFileCommand("save", "Save the current ACL rules in the configured ACL file"),
		helpSince("6.0.0", nil, "acl",
			"CAT [<category>]", "    List all commands that belong to <category>, or all command categories", "    when no category is specified.",
			"GENPASS [<bits>]", "    Generate a secure 256-bit user password. The optional `bits` argument can", "    be used to specify a different size.",
			"GETUSER <username>", "    Get the user's details.",
			"LIST", "    Show users details in config file format.",
			"LOG [<count> | RESET]", "    Show the ACL log entries.",
			"USERS", "    List all the registered usernames.",
			"WHOAMI", "    Return the current connection username."),
	)
}

const aclFlags = NoScript | Loading | Stale

type aclCatParams struct{ category []byte }

func aclCatCommand() *Command {
	return onSession(Declaration{
		Name: "cat", Since: "6.0.0", Complexity: "O(1) since the categories and commands are a fixed set.",
		Summary: "List the ACL categories or the commands inside a category",
		Flags:   aclFlags, Reply: reply.ArrayOf(reply.Bulk()),
	}, grammar.Compile[aclCatParams](
		grammar.Opt(grammar.Bytes("categoryname", func(p *aclCatParams) *[]byte { return &p.category })),
	).WithArity(-1, "a second argument is an error of the handler's"), runACLCat)
}

func runACLCat(s *Session, p *aclCatParams, w *reply.Writer) error {
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

type aclGenPassParams struct{ bits int64 }

func aclGenPassCommand() *Command {
	return onSession(Declaration{
		Name: "genpass", Since: "6.0.0", Complexity: "O(1)",
		Summary: "Generate a pseudorandom secure password to use for ACL users",
		Flags:   aclFlags, Reply: reply.Bulk(),
	}, grammar.Compile[aclGenPassParams](
		grammar.Opt(grammar.Int("bits", func(p *aclGenPassParams) *int64 { return &p.bits }).Default(256).Range(1, genPassBitsMax).
			Fail(grammar.OutOfRange, "ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to "+strconv.Itoa(genPassBitsMax))),
	).WithArity(-1, "a second argument is an error of the handler's"), func(_ *Session, p *aclGenPassParams, w *reply.Writer) error {
		var random [genPassBitsMax / 8]byte
		_, _ = rand.Read(random[:]) // never fails, or the program ends
		w.BulkString(hex.EncodeToString(random[:])[:(p.bits+3)/4])
		return nil
	})
}

type aclUserParams struct{ user []byte }

func aclGetUserCommand() *Command {
	return onSession(Declaration{
		Name: "getuser", Since: "6.0.0", Complexity: "O(N). Where N is the number of password, command and pattern rules that the user has.",
		Summary: "Get the rules for a specific ACL user",
		Flags:   aclFlags | Admin,
		History: []Change{
			{"6.2.0", "Added Pub/Sub channel patterns."},
			{"7.0.0", "Added selectors and changed the format of key and channel patterns from a list to their rule representation."},
		},
		Reply: reply.Nullable(reply.Record(
			reply.Field{Key: "flags", Value: reply.SetOf(reply.Bulk())}, reply.Field{Key: "passwords", Value: reply.ArrayOf(reply.Bulk())},
			reply.Field{Key: "commands", Value: reply.Bulk()}, reply.Field{Key: "keys", Value: reply.Bulk()},
			reply.Field{Key: "channels", Value: reply.Bulk()}, reply.Field{Key: "selectors", Value: reply.ArrayOf(reply.Any())},
		)),
	}, grammar.Compile[aclUserParams](
		grammar.Bytes("username", func(p *aclUserParams) *[]byte { return &p.user }),
	), runACLGetUser)
}

func runACLGetUser(s *Session, p *aclUserParams, w *reply.Writer) error {
	if string(p.user) != defaultUser {
		w.Null()
		return nil
	}
	flags, passwords := []string{"on", "nopass"}, []string(nil)
	if password := s.Core.password(); password != "" {
		flags, passwords = flags[:1], []string{passwordHash(password)}
	}
	w.Map(6)
	w.BulkString("flags")
	w.Set(len(flags))
	for _, flag := range flags {
		w.BulkString(flag)
	}
	w.BulkString("passwords")
	w.Array(len(passwords))
	for _, hash := range passwords {
		w.BulkString(hash)
	}
	for _, rule := range []struct{ name, value string }{{"commands", "+@all"}, {"keys", "~*"}, {"channels", "&*"}} {
		w.BulkString(rule.name)
		w.BulkString(rule.value)
	}
	w.BulkString("selectors")
	w.Array(0)
	return nil
}

// passwordHash is how ACLs show a password.
func passwordHash(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}

func aclListCommand() *Command {
	return onSession(Declaration{
		Name: "list", Since: "6.0.0", Complexity: "O(N). Where N is the number of configured users.",
		Summary: "List the current ACL rules in ACL config file format",
		Flags:   aclFlags | Admin, Reply: reply.ArrayOf(reply.Bulk()),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		secret := "nopass"
		if password := s.Core.password(); password != "" {
			secret = "#" + passwordHash(password)
		}
		w.Array(1)
		w.BulkString("user " + defaultUser + " on " + secret + " ~* &* +@all")
		return nil
	})
}

func aclUsersCommand() *Command {
	return onSession(Declaration{
		Name: "users", Since: "6.0.0", Complexity: "O(N). Where N is the number of configured users.",
		Summary: "List the username of all the configured ACL rules",
		Flags:   aclFlags | Admin, Reply: reply.ArrayOf(reply.Bulk()),
	}, grammar.Compile[noParams](), func(_ *Session, _ *noParams, w *reply.Writer) error {
		w.Array(1)
		w.BulkString(defaultUser)
		return nil
	})
}

func aclWhoAmICommand() *Command {
	return onSession(Declaration{
		Name: "whoami", Since: "6.0.0", Complexity: "O(1)",
		Summary: "Return the name of the user associated to the current connection",
		Flags:   aclFlags, Reply: reply.Bulk(),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		w.BulkString(s.User)
		return nil
	})
}

type aclLogParams struct {
	reset bool
	count int64
}

// aclLogCommand: failed AUTHs are not kept, so the log is empty.
func aclLogCommand() *Command {
	return onSession(Declaration{
		Name: "log", Since: "6.0.0", Complexity: "O(N) with N being the number of entries shown.",
		Summary: "List latest events denied because of ACLs in place",
		Flags:   aclFlags | Admin, Reply: reply.OneOf(reply.OK(), reply.ArrayOf(reply.Any())),
	}, grammar.Compile[aclLogParams](
		grammar.Opt(grammar.OneOf("operation",
			grammar.Int("count", func(p *aclLogParams) *int64 { return &p.count }),
			grammar.Token("RESET", func(p *aclLogParams) *bool { return &p.reset }),
		)),
	).WithArity(-1, "a second argument is an error of the handler's"), func(_ *Session, p *aclLogParams, w *reply.Writer) error {
		if p.reset {
			w.OK()
			return nil
		}
		w.Array(0)
		return nil
	})
}

type aclRulesParams struct {
	user  []byte
	rules [][]byte
}

func aclSetUserCommand() *Command {
	return unavailable(Declaration{
		Name: "setuser", Since: "6.0.0", Complexity: "O(N). Where N is the number of rules provided.",
		Summary: "Modify or create the rules for a specific ACL user",
		Flags:   aclFlags | Admin, Secret: everyArgument,
		History: []Change{{"6.2.0", "Added Pub/Sub channel patterns."}, {"7.0.0", "Added selectors and key based permissions."}},
	}, grammar.Compile[aclRulesParams](
		grammar.Bytes("username", func(p *aclRulesParams) *[]byte { return &p.user }),
		grammar.Opt(grammar.Rest("rule", func(p *aclRulesParams) *[][]byte { return &p.rules })),
	), errNoUsers)
}

type aclNamesParams struct{ names [][]byte }

// aclDelUserCommand: no other user can exist, so none is removed.
func aclDelUserCommand() *Command {
	return onSession(Declaration{
		Name: "deluser", Since: "6.0.0", Complexity: "O(1) amortized time considering the typical user.",
		Summary: "Remove the specified ACL users and the associated rules",
		Flags:   aclFlags | Admin, Reply: reply.Int(),
	}, grammar.Compile[aclNamesParams](
		grammar.Rest("username", func(p *aclNamesParams) *[][]byte { return &p.names }),
	), func(_ *Session, p *aclNamesParams, w *reply.Writer) error {
		for _, name := range p.names {
			if string(name) == defaultUser {
				return errDefaultUser
			}
		}
		w.Int(0)
		return nil
	})
}

// aclFileCommand: there is no ACL file, for which Redis has this very answer.
func aclFileCommand(name, summary string) *Command {
	return unavailable(Declaration{
		Name: name, Since: "6.0.0", Complexity: "O(N). Where N is the number of configured users.",
		Summary: summary, Flags: aclFlags | Admin,
	}, grammar.Compile[noParams](), errNoACLFile)
}
