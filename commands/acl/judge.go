package acl

// This file owns the judgement of a command line by rules. It must not know
// where the line came from or what becomes of a denial.

import (
	"bytes"

	"reminis/commands/quoting"
	"reminis/engine/memory"
)

// Denial says what was refused, "" when nothing was; the order is Redis's, of
// several denials the greatest is told.
type Denial uint8

const (
	Allowed Denial = iota
	DeniedCommand
	DeniedKey
	DeniedAuth
	DeniedChannel
	DeniedScope
)

// String is the reason as ACL LOG tells it.
func (d Denial) String() string {
	return [...]string{"", "command", "key", "auth", "channel", "scope"}[d]
}

// UseKind says what a line touches.
type UseKind uint8

const (
	Key UseKind = iota
	Channel
	// ChannelPattern is subscribed to as it is written, not matched.
	ChannelPattern
	Scope
	// Granted is allowed whatever the patterns say.
	Granted
)

// Use is something that a line touches.
type Use struct {
	Kind UseKind
	Need Right
	Text []byte
	// Scope is what Text means, for Kind Scope; the zero Scope is allowed to
	// nobody who may not read everything.
	Scope memory.Scope
}

// Line is a command line as rules see it.
type Line struct {
	// Command is the position in the catalog; Free says that everybody may run it.
	Command int
	Free    bool
	// FirstArg is what stands behind the command's one word, nil when nothing does.
	FirstArg []byte
	Uses     []Use
}

// Judge says what of the line the rules do not allow, and which of its uses that
// is.
func (r *Rules) Judge(line *Line) (denial Denial, use int) {
	denial = DeniedCommand
	for _, s := range r.selectors {
		found, at := s.judge(line)
		if found == Allowed {
			return Allowed, 0
		}
		if found > denial || found == denial && at > use {
			denial, use = found, at
		}
	}
	return denial, use
}

// Hears says whether any selector allows the channel, or the pattern of channels.
func (r *Rules) Hears(kind UseKind, channel []byte) bool {
	use := Use{Kind: kind, Text: channel}
	for _, s := range r.selectors {
		if s.judgeUse(&use) == Allowed {
			return true
		}
	}
	return false
}

// Reads says whether a selector that allows the command allows to read the key.
func (r *Rules) Reads(line *Line, key []byte) bool {
	bare := Line{Command: line.Command, Free: line.Free, FirstArg: line.FirstArg}
	use := Use{Kind: Key, Need: Read, Text: key}
	for _, s := range r.selectors {
		if found, _ := s.judge(&bare); found == Allowed && s.judgeUse(&use) == Allowed {
			return true
		}
	}
	return false
}

// ReadsAll says whether a selector that allows the line also allows to read every
// key.
func (r *Rules) ReadsAll(line *Line) bool {
	for _, s := range r.selectors {
		if found, _ := s.judge(line); found == Allowed && s.readsAll() {
			return true
		}
	}
	return false
}

func (s *selector) readsAll() bool {
	if s.allKeys {
		return true
	}
	for _, key := range s.keys {
		if key.rights&Read != 0 && string(key.text) == "*" {
			return true
		}
	}
	return false
}

func (s *selector) judge(line *Line) (denial Denial, use int) {
	if !line.Free && !s.allCommands && !s.commands.has(line.Command) && !s.allowsFirstArg(line) {
		return DeniedCommand, 0
	}
	for i := range line.Uses {
		if denial := s.judgeUse(&line.Uses[i]); denial != Allowed {
			return denial, i
		}
	}
	return Allowed, 0
}

func (s *selector) allowsFirstArg(line *Line) bool {
	if line.FirstArg == nil {
		return false
	}
	for _, first := range s.firstArgs[line.Command] {
		if quoting.EqualFold(cBytes(line.FirstArg), first) {
			return true
		}
	}
	return false
}

// cBytes is cText of an argument.
func cBytes(arg []byte) []byte {
	arg, _, _ = bytes.Cut(arg, []byte{0})
	return arg
}

func (s *selector) judgeUse(u *Use) Denial {
	switch u.Kind {
	case Granted:
		return Allowed
	case Channel, ChannelPattern:
		if s.allChannels || s.allowsChannel(u) {
			return Allowed
		}
		return DeniedChannel
	case Scope:
		if s.allKeys || s.allowsKeys(u) {
			return Allowed
		}
		return DeniedScope
	}
	if s.allKeys || s.allowsKeys(u) {
		return Allowed
	}
	return DeniedKey
}

// allowsKeys finds one pattern that has all the rights and matches.
func (s *selector) allowsKeys(u *Use) bool {
	for i := range s.keys {
		key := &s.keys[i]
		if key.rights&u.Need != u.Need {
			continue
		}
		if u.Kind == Scope && u.Scope.GrantedBy(key.text) || u.Kind == Key && memory.Match(key.text, u.Text, false) {
			return true
		}
	}
	return false
}

func (s *selector) allowsChannel(u *Use) bool {
	for _, channel := range s.channels {
		if u.Kind == ChannelPattern && string(channel) == string(u.Text) || u.Kind == Channel && memory.Match(channel, u.Text, false) {
			return true
		}
	}
	return false
}
