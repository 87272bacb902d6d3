package commands

import (
	"bytes"
	"slices"

	"reminis/commands/acl"
	"reminis/commands/grammar"
	"reminis/engine/memory"
)

// This file owns the one check of what a user may do: what a command line
// touches, judged by the user's rules. It must not know any command by name, nor
// how rules are written.

// usesBuffer is how many keys of a line are judged without allocating.
const usesBuffer = 8

// judge says what of a line the user's limits do not allow, and notes it. Who
// may do everything never gets here.
func (s *Session) judge(limits *acl.Rules, c *Command, argv [][]byte) acl.Denial {
	if s.account.Removed() {
		s.next = CloseNow
		return acl.DeniedCommand
	}
	v := s.Core.judgeLine(s.account, limits, c, argv)
	s.lens, s.confined = v.lens, v.confined
	if v.denial == acl.Allowed {
		return v.denial
	}
	s.LastCommand = c
	object := v.object
	if v.denial == acl.DeniedCommand {
		object = []byte(c.FullName())
	}
	s.noteDenial(v.denial, object, s.User())
	if c.Family == Memory && v.denial != acl.DeniedCommand {
		s.auditDenial(c, object)
	}
	return v.denial
}

// verdict is what comes of judging a line: what was denied because of which
// object, or, of what is allowed, through which lens it is seen.
type verdict struct {
	denial   acl.Denial
	object   []byte
	lens     *memory.Lens
	confined bool // keys that only the data names may not be followed
}

// judgeLine judges a line by a user's rules, and by what the user was granted.
func (k *Core) judgeLine(user *acl.User, rules *acl.Rules, c *Command, argv [][]byte) verdict {
	var buf [usesBuffer]acl.Use
	line := k.lineOf(c, argv, buf[:0])
	denial, at := rules.Judge(&line)
	switch denial {
	case acl.Allowed:
		return verdict{confined: c.is(FollowsData) && !rules.ReadsAll(&line)}
	case acl.DeniedCommand:
		return verdict{denial: denial}
	case acl.DeniedKey, acl.DeniedScope:
		if lens, ok := k.grantedLine(user, rules, c, argv, line); ok {
			return verdict{lens: lens}
		}
	}
	return verdict{denial: denial, object: line.Uses[at].Text}
}

// grantedLine says whether a line that rules deny only reads what the user was
// granted, and through which lens. Grants of members are for lines that project.
func (k *Core) grantedLine(user *acl.User, rules *acl.Rules, c *Command, argv [][]byte, line acl.Line) (lens *memory.Lens, ok bool) {
	if !c.is(ReadOnly) || !slices.Contains(c.Categories, memoryCategory) {
		return nil, false
	}
	grants := k.Engine.GrantsOf(user.Name())
	if len(grants) == 0 {
		return nil, false
	}
	projects := c.projects != nil && c.projects(argv[c.words():])
	line.Uses = slices.Clone(line.Uses)
	for i := range line.Uses {
		use := &line.Uses[i]
		whole, members := coverage(grants, use)
		if use.Need == acl.Read && (whole || members && projects) {
			use.Kind = acl.Granted
			ok = ok || !whole
		}
	}
	if denial, _ := rules.Judge(&line); denial != acl.Allowed {
		return nil, false
	}
	if !ok {
		return nil, true
	}
	own := acl.Line{Command: line.Command, FirstArg: bytes.Clone(line.FirstArg)}
	return &memory.Lens{Own: func(key []byte) bool { return rules.Reads(&own, key) }, Grants: grants}, true
}

// coverage says whether a use is granted whole, or by members.
func coverage(grants []*memory.Grant, use *acl.Use) (whole, members bool) {
	for _, g := range grants {
		if use.Kind == acl.Key && g.CoversKey(use.Text) || use.Kind == acl.Scope && g.CoversScope(use.Scope) {
			whole = whole || len(g.Members) == 0
			members = members || len(g.Members) > 0
		}
	}
	return whole, members
}

// lineOf is a command line as rules see it; what it touches is appended to uses.
// Where a line does not tell its keys, it does not run either.
func (k *Core) lineOf(c *Command, argv [][]byte, uses []acl.Use) acl.Line {
	line := acl.Line{Command: c.id, Free: c.is(NoAuth), Uses: uses}
	if len(argv) > 1 {
		line.FirstArg = argv[1]
	}
	if c.grammar == nil {
		return line
	}
	args := argv[c.words():]
	var buf [usesBuffer]grammar.KeyRef
	keys, _ := c.grammar.Keys(buf[:0], args)
	for _, ref := range keys {
		line.Uses = append(line.Uses, k.useOf(c, args[ref.Index], ref.Flags))
	}
	if c.Family == Messaging {
		line.Uses = c.Channels.uses(line.Uses, args)
		return line
	}
	others, _ := c.grammar.Channels(buf[:0], args)
	for _, ref := range others {
		line.Uses = append(line.Uses, k.useOf(c, args[ref.Index], ref.Flags))
	}
	if c.named != nil {
		line.Uses = k.withNamed(c, args, line.Uses)
	}
	return line
}

// withNamed adds what options name. It copies, so that the uses of lines without
// any need not be on the heap.
func (k *Core) withNamed(c *Command, args [][]byte, uses []acl.Use) []acl.Use {
	all := append([]acl.Use(nil), uses...)
	c.named(args, func(text []byte, flags grammar.KeyFlags) {
		all = append(all, k.useOf(c, text, flags))
	})
	return all
}

// useOf is an argument as rules see it. Of a command on records, what cannot be
// a key is a scope: an owner, too.
func (k *Core) useOf(c *Command, arg []byte, flags grammar.KeyFlags) acl.Use {
	use := acl.Use{Text: arg, Need: rightsOf(flags)}
	switch {
	case c.Family != Memory:
	case flags&grammar.NotKey != 0:
		use.Kind = acl.Scope
		use.Scope, _ = k.Engine.Layout().ParseScope(arg)
	default:
		if _, err := k.Engine.Layout().ParseKey(arg); err == nil {
			break
		}
		if scope, err := k.Engine.Layout().ParseScope(arg); err == nil {
			use.Kind, use.Scope = acl.Scope, scope
		}
	}
	return use
}

// channelArguments says which arguments name channels that a user must be allowed.
type channelArguments uint8

const (
	noChannels channelArguments = iota
	firstChannel
	everyChannel
	everyPattern
)

// uses appends what the arguments name.
func (c channelArguments) uses(dst []acl.Use, args [][]byte) []acl.Use {
	kind := acl.Channel
	switch c {
	case noChannels:
		return dst
	case firstChannel:
		args = args[:1]
	case everyPattern:
		kind = acl.ChannelPattern
	}
	for _, arg := range args {
		dst = append(dst, acl.Use{Kind: kind, Text: arg})
	}
	return dst
}

// rightsOf is what a key's flags need: existence and type alone need any right.
func rightsOf(flags grammar.KeyFlags) acl.Right {
	rights := acl.Right(0)
	if flags&grammar.Access != 0 {
		rights |= acl.Read
	}
	if flags&(grammar.Insert|grammar.Delete|grammar.Update) != 0 {
		rights |= acl.Write
	}
	return rights
}
