// Package acl is what a user may do: accounts, the rules that describe them in
// Redis's words, and the judgement of a command line. It is pure: it knows
// neither sessions nor replies, and reads no file.
//
//   - A Catalog says which commands and categories rules may name.
//   - Rules are everything about one account: flags, passwords, and selectors,
//     of which the first is the root. They never change once they are published;
//     a modification is made on a copy, which replaces them when every rule of it
//     was good (acl.c ACLStringSetUser).
//   - A User is what a session keeps: a name and a pointer to its Rules, so that a
//     change is seen by every session with its next command, and a pointer that is
//     nil as long as the user may do anything, so that such a user's commands pay
//     one load and one comparison.
//   - Users are the accounts by name, Log the denials.
//
// # Judgement
//
// A Line is a command with all that it touches: keys, channels, and scopes. One
// selector must allow the whole line; what several selectors allow does not add
// up. Of several denials that of the last kind, and of these the last in the
// line, is the one to tell (acl.c ACLCheckAllUserCommandPerm).
//
// A scope is read whole or not at all: it is allowed if a pattern of the needed
// right has the form L* and the scope's literal part begins with L
// (memory.Scope.GrantedBy). Redis has nothing like it; an exact answer to "does
// this glob contain that glob" would be neither short nor cheap, and cutting the
// scope down to what is allowed would answer another question than was asked.
//
// # Alternatives
//
// Rejected: a bit for each command and user in a table of their own, read under a
// lock; a lock on every command of every restricted user. Rejected, too: judging
// the text of rules as it stands, without compiling it into sets: a command of a
// user with categories would search names.
//
// As in Redis, users that were made by ACL SETUSER last until the server stops:
// they are kept by ACL SAVE in the aclfile, or by whoever writes `user` lines.
package acl
