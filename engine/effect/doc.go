// Package effect defines what can happen to the data: a closed, numbered,
// append-only list of kinds of change, the Batch that makes several of them one
// atomic commit, and the binary form that the journal stores.
//
// An effect is a result, not an intention: it carries the value that stands
// afterwards, the position that was written, the absolute deadline, the id that
// was drawn. So applying a batch needs no clock, no random source and no
// knowledge of commands, and replaying it gives the same state as running it.
// That is why recovery, checkpoints and (later) replication can share it.
//
// The rejected alternative is to log command lines, as Redis does: every
// command with a relative time, a random choice or a conditional result then
// needs a hand-written rewrite of its arguments.
//
// The package is a leaf: it knows neither the engine nor the store.
package effect
