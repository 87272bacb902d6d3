package commands

import (
	"reminis/commands/acl"
	"reminis/commands/grammar"
	"reminis/commands/reply"
)

// This file owns ACL's subcommands on users: what they may do, seen and changed.
// It must not know how rules are read; that is package acl's.

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
			reply.Field{Key: "channels", Value: reply.Bulk()}, reply.Field{Key: "selectors", Value: reply.ArrayOf(reply.MapOf(reply.Bulk(), reply.Bulk()))},
		)),
	}, grammar.Compile[aclUserParams](
		grammar.Bytes("username", func(p *aclUserParams) *[]byte { return &p.user }),
	), runACLGetUser)
}

func runACLGetUser(s *Session, p *aclUserParams, w *reply.Writer) error {
	user := s.Core.Users.Find(string(p.user))
	if user == nil {
		w.Null()
		return nil
	}
	rules := user.Rules()
	selectors := rules.Selectors()
	w.Map(6)
	w.BulkString("flags")
	w.Set(len(rules.Flags()))
	for _, flag := range rules.Flags() {
		w.BulkString(flag)
	}
	w.BulkString("passwords")
	writeTexts(w, rules.Passwords())
	// The root selector is told as if there were no others.
	writeSelector(w, selectors[0])
	w.BulkString("selectors")
	w.Array(len(selectors) - 1)
	for _, selector := range selectors[1:] {
		w.Map(3)
		writeSelector(w, selector)
	}
	return nil
}

func writeSelector(w *reply.Writer, selector acl.SelectorText) {
	for _, rule := range []struct{ name, text string }{
		{"commands", selector.Commands}, {"keys", selector.Keys}, {"channels", selector.Channels},
	} {
		w.BulkString(rule.name)
		w.BulkString(rule.text)
	}
}

func writeTexts(w *reply.Writer, texts []string) {
	w.Array(len(texts))
	for _, text := range texts {
		w.BulkString(text)
	}
}

func aclListCommand() *Command {
	return aclListing("list", "List the current ACL rules in ACL config file format", (*acl.User).Line)
}

func aclUsersCommand() *Command {
	return aclListing("users", "List the username of all the configured ACL rules", (*acl.User).Name)
}

func aclListing(name, summary string, text func(*acl.User) string) *Command {
	return onSession(Declaration{
		Name: name, Since: "6.0.0", Complexity: "O(N). Where N is the number of configured users.",
		Summary: summary,
		Flags:   aclFlags | Admin, Reply: reply.ArrayOf(reply.Bulk()),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		users := s.Core.Users.All()
		w.Array(len(users))
		for _, user := range users {
			w.BulkString(text(user))
		}
		return nil
	})
}

func aclWhoAmICommand() *Command {
	return onSession(Declaration{
		Name: "whoami", Since: "6.0.0", Complexity: "O(1)",
		Summary: "Return the name of the user associated to the current connection",
		Flags:   aclFlags, Reply: reply.Bulk(),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		w.BulkString(s.User())
		return nil
	})
}

type aclRulesParams struct {
	user  []byte
	rules [][]byte
}

func aclSetUserCommand() *Command {
	return onSession(Declaration{
		Name: "setuser", Since: "6.0.0", Complexity: "O(N). Where N is the number of rules provided.",
		Summary: "Modify or create the rules for a specific ACL user",
		Flags:   aclFlags | Admin, Secret: everyArgument, Reply: reply.OK(),
		History: []Change{{"6.2.0", "Added Pub/Sub channel patterns."}, {"7.0.0", "Added selectors and key based permissions."}},
	}, grammar.Compile[aclRulesParams](
		grammar.Bytes("username", func(p *aclRulesParams) *[]byte { return &p.user }),
		grammar.Opt(grammar.Rest("rule", func(p *aclRulesParams) *[][]byte { return &p.rules })),
	), func(s *Session, p *aclRulesParams, w *reply.Writer) error {
		if err := s.Core.Users.Set(string(p.user), stringsOf(p.rules)); err != nil {
			return errUserRules(err)
		}
		s.endForbidden(s.Core.Users.Find(string(p.user)))
		w.OK()
		return nil
	})
}

// endForbidden closes the connections of a user that listen to what the user's
// rules no longer allow (acl.c ACLKillPubsubClientsIfNeeded).
func (s *Session) endForbidden(user *acl.User) {
	if user == nil || user.Limits() == nil {
		return
	}
	rules, forbidden := user.Rules(), map[int64]bool{}
	s.Core.registry.each(func(kind subscriptionKind, name []byte, listener *subscriber) {
		use := acl.Channel
		if kind == toPattern {
			use = acl.ChannelPattern
		}
		if listener.account.Load() == user && !rules.Hears(use, name) {
			forbidden[listener.peer.ID()] = true
		}
	})
	if len(forbidden) == 0 {
		return
	}
	if forbidden[s.Peer.ID()] {
		s.next = CloseAfterReply
	}
	s.Core.Clients.Each(func(c Client) bool {
		if id := c.Row().ID; forbidden[id] && id != s.Peer.ID() {
			c.Kill()
		}
		return true
	})
}

func stringsOf(args [][]byte) []string {
	texts := make([]string, len(args))
	for i, arg := range args {
		texts[i] = string(arg)
	}
	return texts
}

type aclNamesParams struct{ names [][]byte }

func aclDelUserCommand() *Command {
	return onSession(Declaration{
		Name: "deluser", Since: "6.0.0", Complexity: "O(1) amortized time considering the typical user.",
		Summary: "Remove the specified ACL users and the associated rules",
		Flags:   aclFlags | Admin, Reply: reply.Int(),
	}, grammar.Compile[aclNamesParams](
		grammar.Rest("username", func(p *aclNamesParams) *[][]byte { return &p.names }),
	), func(s *Session, p *aclNamesParams, w *reply.Writer) error {
		for _, name := range p.names {
			if string(upToNul(name)) == acl.DefaultName {
				return errDefaultUser
			}
		}
		removed := s.Core.Users.Remove(stringsOf(p.names))
		s.endSessionsOf(removed)
		w.Int(int64(len(removed)))
		return nil
	})
}

// endSessionsOf closes the connections of users that are no more; the session's
// own once it has its reply. One that is missed, because it authenticates at this
// moment, ends with its next command.
func (s *Session) endSessionsOf(removed []*acl.User) {
	if len(removed) == 0 {
		return
	}
	gone := map[string]bool{}
	for _, user := range removed {
		gone[user.Name()] = true
	}
	if s.account.Removed() {
		s.becomeDefault()
		s.Authenticated = false
		s.next = CloseAfterReply
	}
	s.Peer.Refresh()
	s.Core.Clients.Each(func(c Client) bool {
		if row := c.Row(); gone[row.User] && row.ID != s.Peer.ID() {
			c.Kill()
		}
		return true
	})
}

type aclDryRunParams struct {
	user    []byte
	command [][]byte
}

func aclDryRunCommand() *Command {
	return onSession(Declaration{
		Name: "dryrun", Since: "7.0.0", Complexity: "O(1).",
		Summary: "Returns whether the user can execute the given command without executing the command.",
		Flags:   aclFlags | Admin, Reply: reply.OneOf(reply.OK(), reply.Bulk()),
	}, grammar.Compile[aclDryRunParams](
		grammar.Bytes("username", func(p *aclDryRunParams) *[]byte { return &p.user }),
		grammar.Rest("argv", func(p *aclDryRunParams) *[][]byte { return &p.command }).DocumentedAs(
			grammar.Bytes("command", func(p *aclDryRunParams) *[]byte { return new([]byte) }),
			grammar.Opt(grammar.Rest("arg", func(p *aclDryRunParams) *[][]byte { return new([][]byte) })),
		),
	), runACLDryRun)
}

func runACLDryRun(s *Session, p *aclDryRunParams, w *reply.Writer) error {
	user := s.Core.Users.Find(string(p.user))
	if user == nil {
		return errUserNotFound(p.user)
	}
	argv := p.command
	c := s.Core.Table.find(argv)
	if c == nil || c.subs != nil && len(argv) > 1 {
		return errCommandNotFound(argv[0])
	}
	if n := c.arity(); n > 0 && len(argv) != n || len(argv) < -n {
		return errArity(c)
	}
	if v := s.Core.judgeLine(user, user.Rules(), c, argv); v.denial != acl.Allowed {
		w.BulkString(deniedText(v.denial, c, v.object))
		return nil
	}
	w.OK()
	return nil
}

func aclLoadCommand() *Command {
	return aclFileCommand("load", "Reload the ACLs from the configured ACL file", (*Session).loadUsers)
}

func aclSaveCommand() *Command {
	return aclFileCommand("save", "Save the current ACL rules in the configured ACL file", (*Session).saveUsers)
}

func aclFileCommand(name, summary string, run func(s *Session) error) *Command {
	return onSession(Declaration{
		Name: name, Since: "6.0.0", Complexity: "O(N). Where N is the number of configured users.",
		Summary: summary, Flags: aclFlags | Admin, Reply: reply.OK(),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		if s.Core.UserFile == nil {
			return errNoACLFile
		}
		if err := run(s); err != nil {
			return err
		}
		w.OK()
		return nil
	})
}

// loadUsers also ends the sessions of users that the file has again.
func (s *Session) loadUsers() error {
	removed, err := s.Core.LoadUsers()
	if err != nil {
		return errUserRules(err)
	}
	s.endSessionsOf(removed)
	return nil
}

func (s *Session) saveUsers() error {
	if err := s.Core.UserFile.Write(s.Core.Users.Text()); err != nil {
		s.Core.Process.Log("saving the users: " + err.Error())
		return errSaveUsers
	}
	return nil
}

// LoadUsers makes the users be those of the file. It returns who is gone; the
// error's text is what follows "ERR " in the reply of ACL LOAD.
func (k *Core) LoadUsers() (removed []*acl.User, err error) {
	text, err := k.UserFile.Read()
	if err != nil {
		return nil, err
	}
	return k.Users.Load(k.UserFile.Name(), text)
}
