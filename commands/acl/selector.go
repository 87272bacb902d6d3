package acl

// This file owns selectors: the commands, keys and channels that one set of
// rules allows, how rules change them and how they are written as rules again. It
// must not know accounts.

import (
	"math"
	"slices"
	"strings"

	"reminis/commands/quoting"
)

// Right is what may be done with what a pattern matches.
type Right uint8

const (
	Read Right = 1 << iota
	Write
)

type keyPattern struct {
	text   []byte
	rights Right
}

// selector is a set of rules. A published one never changes.
type selector struct {
	allKeys, allChannels, allCommands bool
	// future says that the description begins with +@all: also commands that
	// come later are allowed.
	future   bool
	commands set
	// firstArgs are the first arguments with which a command is allowed that the
	// set does not hold.
	firstArgs map[int][]string
	keys      []keyPattern
	channels  [][]byte
}

func newSelector(c *Catalog, allChannels bool) *selector {
	return &selector{commands: c.emptySet(), allChannels: allChannels}
}

func (s *selector) clone() *selector {
	next := *s
	next.commands, next.keys, next.channels = slices.Clone(s.commands), slices.Clone(s.keys), slices.Clone(s.channels)
	next.firstArgs = nil
	for i, list := range s.firstArgs {
		next.putFirstArgs(i, slices.Clone(list))
	}
	return &next
}

func (s *selector) putFirstArgs(i int, list []string) {
	if s.firstArgs == nil {
		s.firstArgs = map[int][]string{}
	}
	s.firstArgs[i] = list
}

// unrestricted says that the selector allows everything.
func (s *selector) unrestricted() bool { return s.allCommands && s.allKeys && s.allChannels }

// apply changes the selector by one rule (acl.c ACLSetSelector).
func (s *selector) apply(c *Catalog, rule string) error {
	word := cText(rule)
	switch lowered(word) {
	case "allkeys", "~*":
		s.allKeys, s.keys = true, nil
		return nil
	case "resetkeys":
		s.allKeys, s.keys = false, nil
		return nil
	case "allchannels", "&*":
		s.allChannels, s.channels = true, nil
		return nil
	case "resetchannels":
		s.allChannels, s.channels = false, nil
		return nil
	case "allcommands", "+@all":
		s.setAll(c, true)
		return nil
	case "nocommands", "-@all":
		s.setAll(c, false)
		return nil
	}
	switch {
	case strings.HasPrefix(rule, "~"), strings.HasPrefix(rule, "%"):
		return s.addKeys(rule)
	case strings.HasPrefix(rule, "&"):
		return s.addChannels(rule[1:])
	case strings.HasPrefix(word, "+@"), strings.HasPrefix(word, "-@"):
		category, ok := c.category(word[2:])
		if !ok {
			return ErrUnknown
		}
		s.setCategory(c, category, word[0] == '+')
		return nil
	case strings.HasPrefix(word, "+"):
		return s.add(c, word[1:])
	case strings.HasPrefix(word, "-"):
		i, ok := c.find(word[1:])
		if !ok {
			return ErrUnknown
		}
		s.set(c, i, false)
		return nil
	}
	return ErrSyntax
}

func (s *selector) setAll(c *Catalog, on bool) {
	s.commands.putAll(c.all(), on)
	s.future, s.allCommands, s.firstArgs = on, on, nil
}

// all are the positions of all commands.
func (c *Catalog) all() set {
	all := c.emptySet()
	for i := range c.entries {
		all.put(i, true)
	}
	return all
}

// set allows or forbids a command and its subcommands.
func (s *selector) set(c *Catalog, i int, on bool) {
	for j := i; j < c.until[i]; j++ {
		s.commands.put(j, on)
	}
	delete(s.firstArgs, i)
	s.allCommands = s.allCommands && on
}

func (s *selector) setCategory(c *Catalog, category int, on bool) {
	s.commands.putAll(c.reach[category], on)
	for i := range s.firstArgs {
		if c.members[category].has(i) {
			delete(s.firstArgs, i)
		}
	}
	on = on || c.reach[category].empty()
	s.allCommands = s.allCommands && on
}

func (s set) empty() bool {
	for _, word := range s {
		if word != 0 {
			return false
		}
	}
	return true
}

// add allows what stands behind a +: a command, a subcommand, or a command with
// one first argument.
func (s *selector) add(c *Catalog, name string) error {
	bar := strings.LastIndexByte(name, '|')
	if bar < 0 {
		i, ok := c.find(name)
		if !ok {
			return ErrUnknown
		}
		s.set(c, i, true)
		return nil
	}
	i, ok := c.find(name[:bar])
	switch first := name[bar+1:]; {
	case !ok:
		return ErrUnknown
	case c.entries[i].Sub:
		return ErrFirstArg
	case first == "":
		return ErrSyntax
	case c.container(i):
		sub, ok := c.find(name)
		if !ok {
			return ErrUnknown
		}
		s.set(c, sub, true)
	case !slices.ContainsFunc(s.firstArgs[i], func(known string) bool { return quoting.EqualFold(known, first) }):
		s.putFirstArgs(i, append(s.firstArgs[i], first))
	}
	return nil
}

// addKeys adds ~pattern, or a pattern with the rights that stand between % and ~.
// A missing ~ is a pattern that matches no key but the empty one, as in Redis.
func (s *selector) addKeys(rule string) error {
	if s.allKeys {
		return ErrAllKeys
	}
	pattern, rights := rule[1:], Read|Write
	if rule[0] == '%' {
		var ok bool
		if pattern, rights, ok = splitRights(pattern); !ok {
			return ErrSyntax
		}
	}
	if hasSpaces(pattern) {
		return ErrSyntax
	}
	for i := range s.keys {
		if string(s.keys[i].text) == pattern {
			s.keys[i].rights |= rights
			return nil
		}
	}
	s.keys = append(s.keys, keyPattern{[]byte(pattern), rights})
	return nil
}

func splitRights(text string) (pattern string, rights Right, ok bool) {
	for i := 0; i < len(text); i++ {
		right := Right(0)
		switch text[i] {
		case 'r', 'R':
			right = Read
		case 'w', 'W':
			right = Write
		case '~':
			return text[i+1:], rights, rights != 0
		}
		if right == 0 || rights&right != 0 {
			return "", 0, false
		}
		rights |= right
	}
	return "", rights, rights != 0
}

func (s *selector) addChannels(pattern string) error {
	switch {
	case s.allChannels:
		return ErrAllChannels
	case hasSpaces(pattern):
		return ErrSyntax
	case !slices.ContainsFunc(s.channels, func(known []byte) bool { return string(known) == pattern }):
		s.channels = append(s.channels, []byte(pattern))
	}
	return nil
}

// hasSpaces says whether text could not be written in one word of a line.
func hasSpaces(text string) bool { return strings.ContainsAny(text, " \t\n\v\f\r\x00") }

// parseSelector reads "(rule rule …)". What is not in balanced quotes has no rule
// in it, as in Redis.
func parseSelector(c *Catalog, text string, allChannels bool) (*selector, error) {
	s := newSelector(c, allChannels)
	rules, _ := quoting.Split([]byte(text[1 : len(text)-1]))
	for _, rule := range rules {
		if err := s.apply(c, string(rule)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// appendTo writes the selector as the rules that make it (acl.c
// ACLDescribeSelector).
func (s *selector) appendTo(dst []byte, c *Catalog) []byte {
	if keys := s.describeKeys(); keys != "" {
		dst = append(append(dst, keys...), ' ')
	}
	if !s.allChannels {
		dst = append(dst, "resetchannels "...)
	}
	if channels := s.describeChannels(); channels != "" {
		dst = append(append(dst, channels...), ' ')
	}
	return append(dst, s.describeCommands(c)...)
}

func (s *selector) describeKeys() string {
	if s.allKeys {
		return "~*"
	}
	prefixes := [...]string{Read: "%R~", Write: "%W~", Read | Write: "~"}
	rules := make([]string, len(s.keys))
	for i, key := range s.keys {
		rules[i] = prefixes[key.rights] + string(key.text)
	}
	return strings.Join(rules, " ")
}

func (s *selector) describeChannels() string {
	if s.allChannels {
		return "&*"
	}
	rules := make([]string, len(s.channels))
	for i, channel := range s.channels {
		rules[i] = "&" + string(channel)
	}
	return strings.Join(rules, " ")
}

// describeCommands says in few rules which commands are allowed: all or none,
// then the categories that fit best, then what is left (acl.c
// ACLDescribeSelectorCommandRules).
func (s *selector) describeCommands(c *Catalog) string {
	shown := newSelector(c, false) // what the rules written so far allow
	shown.setAll(c, s.future)
	rules := []string{"-@all"}
	sign := "+@"
	if s.future {
		rules[0], sign = "+@all", "-@"
	}
	left := s.clone() // what is not said yet
	applied := make([]bool, len(c.categories))
	for {
		best := left.bestCategory(c, applied)
		if best < 0 {
			break
		}
		shown.setCategory(c, best, !s.future)
		left.setCategory(c, best, s.future)
		applied[best] = true
		rules = append(rules, sign+c.categories[best])
	}
	for i := 0; i < len(c.entries); i = c.until[i] {
		for j := i; j < c.until[i]; j++ {
			if on := s.commands.has(j); on != shown.commands.has(j) {
				rules = append(rules, map[bool]string{true: "+", false: "-"}[on]+c.entries[j].Name)
				shown.set(c, j, on)
			}
		}
		if !s.commands.has(i) {
			for _, first := range s.firstArgs[i] {
				rules = append(rules, "+"+c.entries[i].Name+"|"+first)
			}
		}
	}
	return strings.Join(rules, " ")
}

// bestCategory is that which says most of what is left and least of what is
// wrong, or -1.
func (s *selector) bestCategory(c *Catalog, applied []bool) int {
	best, leastWrong, mostRight := -1, math.MaxInt, 0
	for i := range c.categories {
		if applied[i] {
			continue
		}
		right, wrong := s.commands.split(c.members[i])
		if s.future {
			right, wrong = wrong, right
		}
		if right > wrong && (wrong < leastWrong || wrong == leastWrong && right > mostRight) {
			best, leastWrong, mostRight = i, wrong, right
		}
	}
	return best
}
