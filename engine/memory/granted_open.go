//go:build open_scopes

package memory

// GrantedBy grants everything: a server without the check, which the test of
// isolation must tell from one that has it.
func (s Scope) GrantedBy([]byte) bool { return true }
