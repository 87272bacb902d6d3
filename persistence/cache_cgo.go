//go:build cgo

package persistence

// cacheInHeap says whether Pebble's cache is in Go's heap: it is in C's in a program
// that has one.
const cacheInHeap = false
