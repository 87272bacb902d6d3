package engine

// This file owns the user errors that the engine itself finds. commands/errors.go
// owns every other text.

// Error is an error for the client: a stable code and a text.
type Error string

func (e Error) Error() string { return string(e) }

const (
	// ErrLagging is returned by a Journal's Ready while too much waits for the
	// disk; it passes by itself. A client sees it only after write-timeout-ms.
	ErrLagging Error = "MISCONF The disk lags behind: too many changes wait to be written. Try again."
	// ErrWrongType is returned when a key holds another type than asked for.
	ErrWrongType Error = "WRONGTYPE Operation against a key holding the wrong kind of value"
	// ErrRecordMove is returned when a memory record would change its owner or
	// its database.
	ErrRecordMove Error = "ERR a memory record cannot leave its owner or its database"
	// ErrSealed is returned when stored bytes of a record do not open with its
	// owner's key: they were changed where they are stored.
	ErrSealed Error = "ERR what is stored of the record was changed: it does not open with its owner's key"
	// ErrNotMemoryKey is returned when a key cannot name a memory record.
	ErrNotMemoryKey Error = "ERR not a memory key"
)

// ErrJournal is what a Journal's Ready returns while nothing can be written:
// reads go on, and nothing acknowledged is lost.
func ErrJournal(cause error) Error {
	return Error("MISCONF Errors writing to the journal: " + cause.Error())
}

// errDestroy is why an owner was not erased: its key is still there, or may be.
func errDestroy(cause error) Error {
	return Error("ERR nothing was erased, the owner's key could not be destroyed; try again: " + cause.Error())
}

// errPurge is why an erasure is not at its end: what was erased is gone from
// memory and, with its owner's key, unreadable, but not from every file.
func errPurge(cause error) Error {
	return Error("ERR erased from memory, but not yet from every file; try again: " + cause.Error())
}
