// Package commands is what each command is and does: one declaration per
// command, its handler below it.
//
// A declaration (Declaration and its grammar) is the only place where a
// command's name, arguments, flags and reply are written. Arity, parsing, syntax
// errors, COMMAND INFO and DOCS, ACL categories, key positions, locks, the
// command reference and generated test input derive from it.
//
// The way of a command: Session.Execute finds it in the Table, admits it
// (existence, arity, authentication, MULTI), locks what its keys or its Lock
// say, parses its arguments into a params struct, and runs its handler in an
// engine transaction. The handler checks, then emits effects, and either writes
// one reply or returns an error, which the dispatcher turns into one. A command
// that may run long or read from disk is Offload: it runs on a worker while its
// session is parked.
//
// Handlers of data commands get a transaction, params and a reply writer, and
// nothing else: no session, no clock, no locks. Handlers on the session
// (CLIENT, CONFIG, EXEC) get the session.
//
// EXEC runs its queue in one transaction, which is one batch of the journal: it
// happens whole or not at all, also over a crash. Its locks are the union of
// what the queue and the watched keys need, or all shards when a command in it
// cannot say.
//
// The rejected alternative is a hand-written parser per command with the facts
// about it in a separate table: measured in other servers, the same fact is
// then written in up to 21 places.
package commands
