// Package resp is the client side of the Redis protocol for everything under
// bench: it builds command lines and parses replies of RESP2 and RESP3.
//
// # Decisions
//
// RESP2 scalars are parsed by redcon's ReadNextRESP, which answers 0 for "not
// yet" and for "never"; the two are told apart here, because a comparison that
// waits for the rest of a broken reply reports a timeout instead of the break.
// Aggregates and RESP3 are parsed here: redcon knows neither RESP3 nor arrays
// that hold RESP3.
//
// A Reply keeps the raw bytes beside the parsed form. The byte comparison needs
// the former, everything that looks into a reply needs the latter.
//
// Rejected: a client library. Each hides some of the bytes (which nil it was,
// whether a map came as a map), and bytes are what is measured here.
package resp
