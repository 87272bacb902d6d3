// Package lua runs scripts as Redis does: Lua 5.1 with Redis's libraries, in a
// sandbox whose tables cannot be changed. It knows the language and the replies
// of commands; what commands are, and what a script may do with them, is its
// Host's business.
//
// # Compiling
//
// Compile parses a script, repairs what gopher-lua does otherwise than PUC Lua
// (rewrite.go), finds out what the script can touch (analyse.go) and compiles it.
// A Script is never changed, so that all states share it. Scripts of frameworks declare
// dozens of functions and use some; those are made once for each state (lift.go).
//
// # Running
//
// A State is an interpreter with its libraries. Making one takes tens of
// microseconds, so states are kept; since no script can change a library or a
// global, nothing of one run is left for the next. Run gives a script its keys and
// arguments and writes what it returns as a reply. A state is for one goroutine at
// a time.
//
// # The sandbox
//
// gopher-lua has no read-only tables. What scripts see of a library is therefore
// an empty table that reads from the real one and refuses writes (sandbox.go); the
// functions that go around metatables (next, rawget, …) know them. That would make
// redis.call two look-ups with a metatable each, so the rewriter puts a name of the
// environment that no script can spell in the place of a library's member.
//
// # The repairs
//
// Numbers become strings by "%.14g" and strings become numbers as strtod reads
// them: `..` is a call of a function of ours, arithmetic on strings goes through
// the metatable of strings, and number literals are written anew. The libraries
// string, table and math are our own; so are patterns.
//
// Rejected: a patched copy of gopher-lua in this repository. It is ten thousand
// lines that somebody else keeps well.
package lua
