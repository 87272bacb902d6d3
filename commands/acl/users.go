package acl

// This file owns the accounts by name, how they change, and the file that keeps
// them. It must not know sessions: who changes accounts ends the sessions of
// those that are gone.

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// DefaultName is who a connection is before it says another name.
const DefaultName = "default"

// User is an account as a session keeps it.
type User struct {
	name  string
	rules atomic.Pointer[Rules]
	// limits is nil as long as the rules allow everything.
	limits  atomic.Pointer[Rules]
	removed atomic.Bool
}

// Name is the account's name.
func (u *User) Name() string { return u.name }

// Rules are the account's rules at this moment.
func (u *User) Rules() *Rules { return u.rules.Load() }

// Limits are the rules if there is anything that they do not allow, else nil.
func (u *User) Limits() *Rules { return u.limits.Load() }

// Removed says that the account is no more; its rules allow nothing.
func (u *User) Removed() bool { return u.removed.Load() }

// Open says that a connection is this user without saying a password.
func (u *User) Open() bool {
	r := u.rules.Load()
	return r.enabled && r.noPass
}

func (u *User) publish(r *Rules) {
	u.rules.Store(r)
	if r.unrestricted() {
		r = nil
	}
	u.limits.Store(r)
}

func (u *User) remove() {
	u.removed.Store(true)
	u.publish(newRules(u.rules.Load().catalog, false))
}

// Users are all accounts. The default one is always there.
type Users struct {
	// Log keeps the denials.
	Log Log
	// AllChannels is acl-pubsub-default: whether who is made may use all channels.
	AllChannels atomic.Bool

	catalog  *Catalog
	standard *User

	mu     sync.RWMutex
	byName map[string]*User
}

// NewUsers has the default user alone, who may do everything without a password.
func NewUsers(c *Catalog) *Users {
	u := &Users{catalog: c, standard: &User{name: DefaultName}}
	u.standard.publish(defaultRules(c))
	u.byName = map[string]*User{DefaultName: u.standard}
	return u
}

func defaultRules(c *Catalog) *Rules {
	r := newRules(c, false)
	r.enabled, r.noPass = true, true
	root := r.selectors[0]
	root.setAll(c, true)
	root.allKeys, root.allChannels = true, true
	return r
}

// Default is the default user.
func (u *Users) Default() *User { return u.standard }

// Find is the account of that name, nil when there is none.
func (u *Users) Find(name string) *User {
	u.mu.RLock()
	defer u.mu.RUnlock()
	return u.byName[name]
}

// Authenticate is the account whose name and password were given, nil if there is
// none, if it is disabled, or if the password is wrong.
func (u *Users) Authenticate(name string, password []byte) *User {
	user := u.Find(name)
	if user == nil || !user.Rules().accepts(password) {
		return nil
	}
	return user
}

// All are the accounts in order of name.
func (u *Users) All() []*User {
	u.mu.RLock()
	defer u.mu.RUnlock()
	return slices.SortedFunc(maps.Values(u.byName), func(a, b *User) int { return cmp.Compare(a.name, b.name) })
}

// ErrName is for a name that could not be written in a file of users.
const ErrName RuleError = "Usernames can't contain spaces or null characters"

// Set makes an account, or changes one, by rules of which all take effect or
// none.
func (u *Users) Set(name string, rules []string) error {
	if hasSpaces(name) {
		return ErrName
	}
	merged, err := mergeSelectors(rules)
	if err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	user, next := u.byName[name], newRules(u.catalog, u.AllChannels.Load())
	if user != nil {
		next = user.Rules().clone()
	}
	for _, rule := range merged {
		if err := next.apply(rule, u.AllChannels.Load()); err != nil {
			return setError(rule, err)
		}
	}
	if user == nil {
		user = &User{name: name}
		u.byName[name] = user
	}
	user.publish(next)
	return nil
}

func setError(rule string, err error) error {
	var cause RuleError
	if errors.As(err, &cause) {
		return &SetError{rule, cause}
	}
	return err
}

// SetPassword makes password the only one of the default user, who needs none
// when it is empty (requirepass).
func (u *Users) SetPassword(password string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	next := u.standard.Rules().clone()
	next.noPass, next.passwords = password == "", nil
	if password != "" {
		next.passwords = []string{HashPassword([]byte(password))}
	}
	u.standard.publish(next)
}

// Remove removes accounts and returns those that were there.
func (u *Users) Remove(names []string) []*User {
	u.mu.Lock()
	defer u.mu.Unlock()
	var removed []*User
	for _, name := range names {
		if user := u.byName[name]; user != nil && user != u.standard {
			delete(u.byName, name)
			user.remove()
			removed = append(removed, user)
		}
	}
	return removed
}

// Text is the accounts as lines of a file.
func (u *Users) Text() string {
	var text strings.Builder
	for _, user := range u.All() {
		text.WriteString(user.Line() + "\n")
	}
	return text.String()
}

// Line is the account as a line of a file.
func (u *User) Line() string { return "user " + u.name + " " + u.Rules().String() }

// Define makes an account of a `user` line of a configuration: what the default
// user was before is forgotten.
func (u *Users) Define(name string, rules []string) error {
	if hasSpaces(name) {
		return RuleError("Spaces not allowed in ACL usernames")
	}
	merged, err := mergeSelectors(rules)
	if err != nil {
		return err
	}
	if name == DefaultName {
		merged = append([]string{"reset"}, merged...)
	}
	err = u.Set(name, merged)
	var refused *SetError
	if errors.As(err, &refused) {
		return fmt.Errorf("Error loading ACL rule '%s' for the user named '%s': %s", refused.Rule, name, refused.Cause)
	}
	return err
}

// Load makes the accounts be those of a file, all of them or, with what is wrong
// in which line as an error, none (acl.c ACLLoadFromFile). It returns the
// accounts that are gone: all but the default one, even if one of the same name
// came.
func (u *Users) Load(file, text string) ([]*User, error) {
	next, problems := u.parse(file, text)
	if problems != "" {
		return nil, errors.New(problems + "WARNING: ACL errors detected, no change to the previously active ACL rules was performed")
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	var removed []*User
	for _, user := range u.byName {
		if user != u.standard {
			user.remove()
			removed = append(removed, user)
		}
	}
	rules := defaultRules(u.catalog)
	if given := next[DefaultName]; given != nil {
		rules = given.Rules()
	}
	u.standard.publish(rules)
	next[DefaultName] = u.standard
	u.byName = next
	return removed, nil
}

// parse reads a file of users: lines "user name rule …", nothing else.
func (u *Users) parse(file, text string) (users map[string]*User, problems string) {
	users = map[string]*User{}
	number := 0
	for line := range strings.SplitSeq(cText(text), "\n") {
		number++
		line = strings.Trim(line, " \t\r\n")
		if line == "" {
			continue
		}
		words := strings.Split(line, " ")
		switch {
		case words[0] != "user" || len(words) < 2:
			problems += fmt.Sprintf("%s:%d should start with user keyword followed by the username. ", file, number)
		case hasSpaces(words[1]):
			problems += fmt.Sprintf("'%s:%d: username '%s' contains invalid characters. ", file, number, words[1])
		case users[words[1]] != nil:
			problems += fmt.Sprintf("WARNING: Duplicate user '%s' found on line %d. ", words[1], number)
		default:
			rules, wrong := u.parseRules(fmt.Sprintf("%s:%d", file, number), words[2:])
			problems += wrong
			user := &User{name: words[1]}
			user.publish(rules)
			users[words[1]] = user
		}
	}
	return users, problems
}

// parseRules applies the rules of one line. Of what may be a secret, the first
// problem is told without the rule, since the others may follow from it.
func (u *Users) parseRules(place string, given []string) (rules *Rules, problems string) {
	rules = newRules(u.catalog, u.AllChannels.Load())
	merged, err := mergeSelectors(given)
	if err != nil {
		return rules, place + ": Unmatched parenthesis in selector definition."
	}
	told := false
	for _, rule := range merged {
		rule = strings.Trim(rule, "\t\r\n")
		err := rules.apply(rule, u.AllChannels.Load())
		switch {
		case err == nil:
		case errors.Is(err, ErrUnknown):
			problems += fmt.Sprintf("%s: Error in applying operation '%s': %s. ", place, rule, err)
		case !told:
			problems += fmt.Sprintf("%s: %s. ", place, err)
			told = true
		}
	}
	return rules, problems
}
