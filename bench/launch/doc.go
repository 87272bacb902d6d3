// Package launch starts the servers that bench compares, and reads what the
// system knows about them: processor time, resident memory, bytes written.
//
// # Decisions
//
// Both servers take redis.conf directives as flags, so one Start serves both and
// a scenario states its settings once.
//
// Processor time is read from /proc/PID/stat, whose unit is 10 ms on Linux: a run
// of a second is exact to a percent, and threads that have ended are counted.
// Rejected: summing /proc/PID/task/*/schedstat, which is finer, but forgets the
// threads that ended; and getrusage of the children, which tells only after the
// server has stopped.
//
// A server is stopped with SIGTERM, as an init system does it, never killed
// first: what a clean stop writes is part of what the restart scenario measures.
package launch
