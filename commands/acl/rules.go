package acl

// This file owns the rules of one account. It must not know other accounts.

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"slices"
	"strings"
)

// Rules are everything about an account. They never change once published.
type Rules struct {
	catalog   *Catalog
	enabled   bool
	noPass    bool
	sanitize  sanitizing
	passwords []string // SHA-256, in hexadecimal digits
	selectors []*selector
}

// sanitizing says what was asked for about the payloads of RESTORE.
type sanitizing uint8

const (
	sanitizeUnsaid sanitizing = iota
	sanitizeSkip
	sanitizeAlways
)

// newRules are those of a user that was just made: disabled, without rights.
func newRules(c *Catalog, allChannels bool) *Rules {
	return &Rules{catalog: c, selectors: []*selector{newSelector(c, allChannels)}}
}

// clone is a copy that may be changed.
func (r *Rules) clone() *Rules {
	next := *r
	next.passwords = slices.Clone(r.passwords)
	next.selectors = make([]*selector, len(r.selectors))
	for i, s := range r.selectors {
		next.selectors[i] = s.clone()
	}
	return &next
}

// unrestricted says whether one selector allows everything.
func (r *Rules) unrestricted() bool {
	return slices.ContainsFunc(r.selectors, (*selector).unrestricted)
}

// apply changes the rules by one of ACL SETUSER's words (acl.c ACLSetUser).
// allChannels is acl-pubsub-default.
func (r *Rules) apply(rule string, allChannels bool) error {
	if rule == "" {
		return nil
	}
	switch lowered(cText(rule)) {
	case "on":
		r.enabled = true
	case "off":
		r.enabled = false
	case "skip-sanitize-payload":
		r.sanitize = sanitizeSkip
	case "sanitize-payload":
		r.sanitize = sanitizeAlways
	case "nopass":
		r.noPass, r.passwords = true, nil
	case "resetpass":
		r.noPass, r.passwords = false, nil
	case "clearselectors":
		r.selectors = r.selectors[:1]
	case "reset":
		*r = *newRules(r.catalog, allChannels)
		r.sanitize = sanitizeAlways
	default:
		return r.applyOther(rule, allChannels)
	}
	return nil
}

func (r *Rules) applyOther(rule string, allChannels bool) error {
	switch first := rule[0]; {
	case strings.IndexByte("><#!", first) >= 0:
		return r.applyPassword(first, rule[1:])
	case first == '(' && rule[len(rule)-1] == ')':
		s, err := parseSelector(r.catalog, rule, allChannels)
		if err == nil {
			r.selectors = append(r.selectors, s)
		}
		return err
	}
	return r.selectors[0].apply(r.catalog, rule)
}

// applyPassword adds or removes a password, given in clear or as its hash.
func (r *Rules) applyPassword(how byte, text string) error {
	if how == '>' || how == '<' {
		text = HashPassword([]byte(text))
	} else if !isHash(text) {
		return ErrHash
	}
	at := slices.Index(r.passwords, text)
	if how == '>' || how == '#' {
		if at < 0 {
			r.passwords = append(r.passwords, text)
		}
		r.noPass = false
		return nil
	}
	if at < 0 {
		return ErrNoPassword
	}
	r.passwords = slices.Delete(r.passwords, at, at+1)
	return nil
}

// HashPassword is how a password is kept and shown.
func HashPassword(password []byte) string {
	sum := sha256.Sum256(password)
	return hex.EncodeToString(sum[:])
}

func isHash(text string) bool {
	return len(text) == 2*sha256.Size && strings.Trim(text, "0123456789abcdef") == ""
}

// accepts says whether a client that gives the password may be this user.
func (r *Rules) accepts(password []byte) bool {
	if !r.enabled {
		return false
	}
	if r.noPass {
		return true
	}
	given, ok := HashPassword(password), 0
	for _, known := range r.passwords {
		ok |= subtle.ConstantTimeCompare([]byte(given), []byte(known))
	}
	return ok == 1
}

// Disabled says that nobody can authenticate as this user.
func (r *Rules) Disabled() bool { return !r.enabled }

// NoPass says that any password is right.
func (r *Rules) NoPass() bool { return r.noPass }

// Flags are the words of what is set, in Redis's order.
func (r *Rules) Flags() []string {
	flags := []string{"off"}
	if r.enabled {
		flags[0] = "on"
	}
	if r.noPass {
		flags = append(flags, "nopass")
	}
	switch r.sanitize {
	case sanitizeSkip:
		flags = append(flags, "skip-sanitize-payload")
	case sanitizeAlways:
		flags = append(flags, "sanitize-payload")
	}
	return flags
}

// Passwords are the hashes of the passwords.
func (r *Rules) Passwords() []string { return r.passwords }

// SelectorText is a selector as the rules that make it.
type SelectorText struct{ Commands, Keys, Channels string }

// Selectors are the selectors, the root first.
func (r *Rules) Selectors() []SelectorText {
	texts := make([]SelectorText, len(r.selectors))
	for i, s := range r.selectors {
		texts[i] = SelectorText{s.describeCommands(r.catalog), s.describeKeys(), s.describeChannels()}
	}
	return texts
}

// String is the rules in one line, from which they can be made again.
func (r *Rules) String() string {
	line := []byte(strings.Join(r.Flags(), " "))
	line = append(line, ' ')
	for _, hash := range r.passwords {
		line = append(append(append(line, '#'), hash...), ' ')
	}
	for i, s := range r.selectors {
		if i == 0 {
			line = s.appendTo(line, r.catalog)
			continue
		}
		line = append(s.appendTo(append(line, " ("...), r.catalog), ')')
	}
	return string(line)
}

// mergeSelectors joins the words of selectors that were given as several (acl.c
// ACLMergeSelectorArguments).
func mergeSelectors(given []string) ([]string, error) {
	merged := make([]string, 0, len(given))
	open := -1
	selector := ""
	for i, rule := range given {
		closes := strings.HasSuffix(rule, ")")
		switch {
		case strings.HasPrefix(rule, "(") && !closes:
			selector, open = rule, i
		case open >= 0:
			selector += " " + cText(rule)
			if closes {
				merged, open = append(merged, selector), -1
			}
		default:
			merged = append(merged, rule)
		}
	}
	if open >= 0 {
		return nil, &OpenError{given[open]}
	}
	return merged, nil
}
