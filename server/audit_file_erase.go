// This file owns taking out of the audit file what was erased: it is written anew,
// without what those lines said, and takes its name. It must not know what a line
// says.
//
// Files that were rotated away have other names and are out of reach: whoever
// rotates them has to delete them.

package server

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"time"
)

// auditEraseTime is how long Erase waits for a file that takes no more.
const auditEraseTime = 30 * time.Second

// AuditCut says what is left of a line: all of it or, when it is erased, what it
// appends to dst, which may be nothing.
type AuditCut func(dst, line []byte) (kept []byte, erased bool)

// Erase takes out of the file what cut says, also of the lines that still wait,
// and returns when that is done or has failed. What failed is owed: it counts as
// Unerased, and is tried again with the next erasure.
func (f *AuditFile) Erase(cut AuditCut) {
	f.owedMu.Lock()
	f.owed = append(f.owed, cut)
	f.owedMu.Unlock()
	timer := time.NewTimer(auditEraseTime)
	defer timer.Stop()
	done := make(chan struct{})
	select {
	case f.erase <- done:
	case <-f.ended:
		return
	case <-timer.C:
		f.log.Warn("the audit file takes no more, what was erased is still in it", "path", f.path)
		return
	}
	select {
	case <-done:
	case <-timer.C:
		f.log.Warn("the audit file is still being written anew without what was erased", "path", f.path)
	}
}

// Unerased is how many erasures the file still lacks.
func (f *AuditFile) Unerased() int64 {
	f.owedMu.Lock()
	defer f.owedMu.Unlock()
	return int64(len(f.owed))
}

// cutOwed writes the file anew without what is owed.
func (f *AuditFile) cutOwed() {
	f.owedMu.Lock()
	owed := f.owed
	f.owedMu.Unlock()
	err := f.rewrite(owed)
	for errors.Is(err, errAuditRotated) {
		err = f.rewrite(owed)
	}
	if err != nil {
		f.fail("erasing from the audit file", err)
		return
	}
	f.owedMu.Lock()
	f.owed = f.owed[len(owed):]
	f.owedMu.Unlock()
}

// errAuditRotated says that another file has the name meanwhile.
var errAuditRotated = errors.New("the audit file was rotated")

// rewrite replaces the file by what the cuts leave of it, if they change it.
func (f *AuditFile) rewrite(cuts []AuditCut) error {
	from, err := os.Open(f.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // it was only read
	own, err := from.Stat()
	switch {
	case err != nil:
		return err
	case !own.Mode().IsRegular():
		return errors.New("it is no regular file")
	}
	return replaceFile(f.path, func(to io.Writer) error {
		erased, err := copyLines(to, from, cuts)
		if err != nil {
			return err
		}
		if !erased {
			return errKeepFile
		}
		if now, err := os.Stat(f.path); err != nil || !os.SameFile(own, now) {
			return errAuditRotated
		}
		return nil
	})
}

// copyLines copies what cuts leave of each line, and says whether that is anything
// else than it was.
func copyLines(to io.Writer, from io.Reader, cuts []AuditCut) (erased bool, err error) {
	in, out := bufio.NewReaderSize(from, auditWriteBytes), bufio.NewWriterSize(to, auditWriteBytes)
	for end := error(nil); end == nil; {
		var line []byte
		if line, end = in.ReadBytes('\n'); end != nil && end != io.EOF {
			return erased, end
		}
		text, whole := bytes.CutSuffix(line, []byte{'\n'})
		gone := false
		for _, cut := range cuts {
			if kept, changed := cut(nil, text); changed {
				erased, gone, text = true, len(kept) == 0, kept
			}
		}
		if whole && !gone {
			text = append(text, '\n')
		}
		if _, err := out.Write(text); err != nil {
			return erased, err
		}
	}
	return erased, out.Flush()
}
