// Package persistence keeps what the engine has: it is the only package that
// knows files and Pebble. It takes batches of effects and gives them back.
//
// A batch goes to a journal; in the background checkpoints turn the journal
// into rows of a Pebble store, after which the older segments go.
package persistence
