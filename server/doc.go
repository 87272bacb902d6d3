// Package server owns sockets and sessions: it listens, reads requests, has
// them executed in batches and writes the replies. What a command means is
// behind Handler and Executor; what makes a reply durable is behind Gate.
package server
