package persistence

import (
	"errors"
	"fmt"
)

// This file owns the errors that callers tell apart. The words that a client
// reads are not here.

var (
	// ErrNewerFormat is returned when a store was written by a later version.
	ErrNewerFormat = errors.New("the store was written by a newer version")
	// ErrLocked is returned by Open and Check when another process has the store.
	ErrLocked = errors.New("the store is in use")
	// ErrImporting is returned by Open, Check and Replay for a store that was not
	// filled to its end; see BeginImport.
	ErrImporting = errors.New("the store was not imported to its end")
	// ErrNotStore is returned by Check for a directory that holds no store.
	ErrNotStore = errors.New("no store")
	// ErrDiskFailed is returned by Ready, Flush and Sync while the journal
	// cannot be written: the disk failed or is full. Nothing that was accepted
	// is lost; it is written again as soon as the disk answers.
	ErrDiskFailed = errors.New("the journal cannot be written")
	// ErrLagging is returned by Ready while more than Options.PendingBytes wait
	// for the disk, or more than the space that is reserved for them.
	ErrLagging = errors.New("the disk lags behind")
	// ErrClosed is returned by every method after Close.
	ErrClosed = errors.New("the store is closed")
	// ErrRowsFailed is returned by what needs the row store after its manifest
	// could not be written. The journal goes on; a restart recovers all.
	ErrRowsFailed = errors.New("the row store failed; restart to recover it from the journal")
)

// A CorruptError names what is damaged. Nothing damaged is ever skipped.
type CorruptError struct {
	File   string
	Offset int64 // -1: the whole file
	Reason string
}

func (e *CorruptError) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Reason)
	}
	return fmt.Sprintf("%s: offset %d: %s", e.File, e.Offset, e.Reason)
}
