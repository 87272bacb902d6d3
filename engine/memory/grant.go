package memory

// This file owns grants: what a user may read beyond its own patterns, and what
// of it. It knows neither users nor where grants are kept.

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
)

// Grant lets a user read a scope, whole or some members of its values.
type Grant struct {
	User  string
	Scope Scope
	// Members are what may be seen of a value; none: the whole record.
	Members []MemberPath
	// UntilMs is when the grant ends; 0 never.
	UntilMs int64
}

// MemberPath leads from a value to a member: $.a.b.
type MemberPath struct {
	text  string
	names []string
}

// String is the path as it was given.
func (p MemberPath) String() string { return p.text }

// ParseMemberPath reads $.name.name: of RFC 9535 the paths that lead to one
// member by names without quotes.
func ParseMemberPath(text []byte) (MemberPath, error) {
	rest, ok := strings.CutPrefix(string(text), "$.")
	if size := limitPath(); len(text) > size.Default {
		return MemberPath{}, errTooLarge("path", len(text), size)
	}
	names := strings.Split(rest, ".")
	if !ok || slices.ContainsFunc(names, func(name string) bool {
		return name == "" || strings.ContainsAny(name, " \t\r\n*[]()'\"\\$@?,:")
	}) {
		return MemberPath{}, errMemberPath(text)
	}
	return MemberPath{string(text), names}, nil
}

// CoversKey says whether the key is in the grant's scope.
func (g *Grant) CoversKey(key []byte) bool { return g.Scope.Contains(key) }

// CoversScope says whether everything in a scope is in the grant's; of a grant by
// glob that is known only if it is of the form L*.
func (g *Grant) CoversScope(s Scope) bool {
	if g.Scope.IsGlob() {
		return s.GrantedBy(g.Scope.Text())
	}
	return s.GrantedBy(append(slices.Clone(g.Scope.Text()), ":*"...))
}

// Equal says whether two grants grant the same.
func (g *Grant) Equal(other *Grant) bool {
	return g.User == other.User && string(g.Scope.Text()) == string(other.Scope.Text()) && g.UntilMs == other.UntilMs &&
		slices.EqualFunc(g.Members, other.Members, func(a, b MemberPath) bool { return a.text == b.text })
}

// Encode gives what is kept of a grant beside its user and scope: when it ends,
// then its members, each with its length.
func (g *Grant) Encode() []byte {
	encoded := binary.AppendVarint(nil, g.UntilMs)
	for _, path := range g.Members {
		encoded = append(binary.AppendUvarint(encoded, uint64(len(path.text))), path.text...)
	}
	return encoded
}

// DecodeGrant reads what Encode gave.
func DecodeGrant(user string, scope Scope, encoded []byte) (*Grant, error) {
	until, n := binary.Varint(encoded)
	if n <= 0 {
		return nil, &CorruptError{What: "grant"}
	}
	g := &Grant{User: user, Scope: scope, UntilMs: until}
	for encoded = encoded[n:]; len(encoded) > 0; {
		size, n := binary.Uvarint(encoded)
		if n <= 0 || size > uint64(len(encoded)-n) {
			return nil, &CorruptError{What: "grant"}
		}
		path, err := ParseMemberPath(encoded[n : n+int(size)])
		if err != nil {
			return nil, err
		}
		g.Members, encoded = append(g.Members, path), encoded[n+int(size):]
	}
	return g, nil
}

// GrantSet is all grants of a server. It never changes; nil is none.
type GrantSet struct {
	byUser map[string][]*Grant // in order of scope
	count  int
}

// Len is the number of grants.
func (s *GrantSet) Len() int {
	if s == nil {
		return 0
	}
	return s.count
}

// Of are the grants to a user.
func (s *GrantSet) Of(user string) []*Grant {
	if s == nil {
		return nil
	}
	return s.byUser[user]
}

// Find is the grant of exactly this scope to a user, nil when there is none.
func (s *GrantSet) Find(user string, scope []byte) *Grant {
	for _, g := range s.Of(user) {
		if string(g.Scope.Text()) == string(scope) {
			return g
		}
	}
	return nil
}

// With is the set after a grant, which replaces that of the same user and scope.
func (s *GrantSet) With(g *Grant) *GrantSet {
	next := s.Without(g.User, g.Scope.Text())
	list := append(slices.Clone(next.byUser[g.User]), g)
	slices.SortFunc(list, func(a, b *Grant) int { return strings.Compare(string(a.Scope.Text()), string(b.Scope.Text())) })
	next.byUser[g.User] = list
	next.count++
	return next
}

// Without is the set without the grant of a scope to a user.
func (s *GrantSet) Without(user string, scope []byte) *GrantSet {
	next := &GrantSet{byUser: map[string][]*Grant{}, count: s.Len()}
	if s != nil {
		next.byUser = maps.Clone(s.byUser)
	}
	if s.Find(user, scope) == nil {
		return next
	}
	next.count--
	next.byUser[user] = slices.DeleteFunc(slices.Clone(next.byUser[user]), func(g *Grant) bool { return string(g.Scope.Text()) == string(scope) })
	if len(next.byUser[user]) == 0 {
		delete(next.byUser, user)
	}
	return next
}

// Lens is what a reader may see of records, some of which it reads by grants of
// members only. A nil Lens shows everything.
type Lens struct {
	// Own says which keys the reader may read without a grant.
	Own    func(key []byte) bool
	Grants []*Grant
}

// Apply takes out of a record what the reader may not see: of the value all but
// the granted members, and of the rest what tells of the value. What is not
// granted at all, and what has no members, text and items of lists, becomes null.
func (l *Lens) Apply(key []byte, r *Record, isItem bool) {
	if l == nil || l.Own(key) {
		return
	}
	var paths [][]string
	for _, g := range l.Grants {
		if !g.CoversKey(key) {
			continue
		}
		if len(g.Members) == 0 {
			return
		}
		for _, path := range g.Members {
			paths = append(paths, path.names)
		}
	}
	value := []byte("null")
	if !r.Text && !isItem && len(paths) > 0 {
		value = Project(r.Value, paths)
	}
	r.Value, r.Text = value, false
	r.Anchor, r.Vector, r.Meta, r.Tags, r.Source = nil, nil, nil, nil, nil
	r.Operator, r.Trace, r.Reason = nil, nil, nil
}

// Project gives a valid JSON value with nothing but the members that the paths
// lead to, where they stood; null when it is no object.
func Project(value []byte, paths [][]string) []byte {
	root := newNode(value)
	if root.kind() != '{' {
		return []byte("null")
	}
	if dst, ok := root.project(nil, paths, newWork("grant", limitPathWork())); ok {
		return dst
	}
	return []byte("{}")
}

// project appends what the paths lead to, if they lead to anything.
func (n *node) project(dst []byte, paths [][]string, w *work) ([]byte, bool) {
	if slices.ContainsFunc(paths, func(path []string) bool { return len(path) == 0 }) {
		return n.append(dst), true
	}
	parts, err := n.open(w)
	if err != nil || parts == nil || !parts.object {
		return dst, false
	}
	start := len(dst)
	dst = append(dst, '{')
	for i := range parts.members {
		m := &parts.members[i]
		var tails [][]string
		for _, path := range paths {
			if !m.gone && path[0] == m.name {
				tails = append(tails, path[1:])
			}
		}
		if tails == nil {
			continue
		}
		mark := len(dst)
		if mark > start+1 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, m.text...), ':')
		inner, ok := m.value.project(dst, tails, w)
		if dst = inner; !ok {
			dst = dst[:mark]
		}
	}
	if len(dst) == start+1 {
		return dst[:start], false
	}
	return append(dst, '}'), true
}
