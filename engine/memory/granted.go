//go:build !open_scopes

package memory

// This file owns which scopes a user may read. The tag open_scopes takes the
// check away, for the test that proves that isolation rests on it.

import "bytes"

// GrantedBy says whether a user whose read pattern is pattern may read the
// whole scope: the pattern must be of the form L*, L without glob characters,
// and the scope's literal part, a namespace's with its closing colon, must
// begin with L. Anything else is refused: a scope is never cut down to what is
// allowed.
func (s Scope) GrantedBy(pattern []byte) bool {
	literal, whole := globLiteral(pattern)
	if whole || literal != len(pattern)-1 || pattern[literal] != '*' {
		return false
	}
	granted := pattern[:literal]
	own := s.Literal()
	if bytes.HasPrefix(own, granted) {
		return true
	}
	return !s.glob && len(granted) == len(own)+1 && granted[len(own)] == ':' && bytes.HasPrefix(granted, own)
}
