package acl

// This file owns what can be wrong with a rule, in the words of Redis 7.0.15
// (acl.c ACLSetUserStringError).

// RuleError says why a rule was refused.
type RuleError string

func (e RuleError) Error() string { return string(e) }

const (
	// ErrUnknown is for a command or category that there is not.
	ErrUnknown RuleError = "Unknown command or category name in ACL"
	// ErrSyntax is for what is no rule, and for patterns with spaces.
	ErrSyntax RuleError = "Syntax error"
	// ErrAllKeys and ErrAllChannels are for patterns behind the one that matches all.
	ErrAllKeys     RuleError = "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns"
	ErrAllChannels RuleError = "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels"
	// ErrNoPassword is for the removal of a password that is not there.
	ErrNoPassword RuleError = "The password you are trying to remove from the user does not exist"
	// ErrHash is for a hash that is not one of SHA-256.
	ErrHash RuleError = "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters"
	// ErrFirstArg is for +command|subcommand|argument.
	ErrFirstArg RuleError = "Allowing first-arg of a subcommand is not supported"
	// ErrDuplicate is for a user that a file defines twice.
	ErrDuplicate RuleError = "Duplicate user found. A user can only be defined once in config files"
)

// SetError is a rule that was refused, as ACL SETUSER tells it.
type SetError struct {
	Rule  string
	Cause RuleError
}

func (e *SetError) Error() string {
	return "Error in ACL SETUSER modifier '" + cText(e.Rule) + "': " + string(e.Cause)
}

// OpenError is a selector that does not end.
type OpenError struct{ Rule string }

func (e *OpenError) Error() string {
	return "Unmatched parenthesis in acl selector starting at '" + cText(e.Rule) + "'."
}
