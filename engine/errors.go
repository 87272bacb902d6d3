package engine

// This file owns the user errors that the engine itself finds. commands/errors.go
// owns every other text.

// Error is an error for the client: a stable code and a text.
type Error string

func (e Error) Error() string { return string(e) }

const (
	// ErrWrongType is returned when a key holds another type than asked for.
	ErrWrongType Error = "WRONGTYPE Operation against a key holding the wrong kind of value"
	// ErrRecordMove is returned when a memory record would change its owner or
	// its database.
	ErrRecordMove Error = "ERR a memory record cannot leave its owner or its database"
	// ErrNotMemoryKey is returned when a key cannot name a memory record.
	ErrNotMemoryKey Error = "ERR not a memory key"
)
