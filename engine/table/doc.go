// Package table is a hash table of byte records that the garbage collector
// does not see.
package table
