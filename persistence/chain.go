package persistence

import (
	"errors"
	"fmt"
	"slices"

	"reminis/engine/effect"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// This file owns finding the journal among the files of its directory: which
// segments it consists of, where it ends, and whether anything is missing or
// damaged. It must not write.

// A chain is the journal as it was found: consecutive segments, each naming the
// one before it.
type chain struct {
	segments []segmentInfo
	endSeq   uint64 // last whole batch; what follows was never durable
	endMs    int64
	// unused are files that are not part of the journal: spares, segments cut
	// off by a crash, segments replaced after a failure.
	unused     []string
	lastNumber uint64 // highest number of any file
}

// foundSegment is a file of the directory.
type foundSegment struct {
	segmentInfo
	header segmentHeader
	err    error // why the header is none
	empty  bool  // nothing was ever written to it
}

func (f *foundSegment) corrupt() error {
	if errors.Is(f.err, ErrNewerFormat) {
		return fmt.Errorf("%s: %w", f.path, f.err)
	}
	return &CorruptError{File: f.path, Offset: 0, Reason: f.err.Error()}
}

// findSegments reads the header of each segment in dir, in order of numbers.
func findSegments(fs vfs.FS, dir string) ([]foundSegment, error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	var found []foundSegment
	for _, name := range names {
		number, ok := segmentNumber(name)
		if !ok {
			continue
		}
		f := foundSegment{segmentInfo: segmentInfo{number: number, path: fs.PathJoin(dir, name)}}
		head, err := readSegment(fs, f.path, segmentHeaderBytes, nil)
		if err != nil {
			return nil, err
		}
		f.empty = allZero(head)
		f.header, f.err = decodeSegmentHeader(head)
		if f.err == nil && f.header.number != number {
			f.err = fmt.Errorf("header says it is segment %d", f.header.number)
		}
		f.firstSeq, f.timeMs = f.header.firstSeq, f.header.timeMs
		found = append(found, f)
	}
	slices.SortFunc(found, func(a, b foundSegment) int { return int(int64(a.number) - int64(b.number)) })
	return found, nil
}

// findChain finds the journal from the batch after the checkpoint on, and
// verifies every batch of it. Each error names the file.
func findChain(fs vfs.FS, dir string, storeID, checkpoint uint64) (*chain, error) {
	found, err := findSegments(fs, dir)
	if err != nil {
		return nil, err
	}
	c := &chain{}
	head := -1
	for i := range found {
		f := &found[i]
		c.lastNumber = f.number
		switch {
		case f.empty:
		case f.err == nil && f.header.storeID != storeID:
			return nil, &CorruptError{File: f.path, Offset: 16, Reason: "the segment belongs to another store"}
		case f.err == nil:
			head = i
		case errors.Is(f.err, ErrNewerFormat):
			return nil, f.corrupt()
		}
	}
	if head < 0 {
		return nil, &CorruptError{File: dir, Offset: -1, Reason: "the journal is missing: no segment is there"}
	}
	for i := head + 1; i < len(found); i++ {
		if !found[i].empty {
			return nil, found[i].corrupt()
		}
	}
	used, cutOff, err := followBack(found, head, checkpoint)
	if err != nil {
		return nil, err
	}
	for _, i := range used {
		c.segments = append(c.segments, found[i].segmentInfo)
	}
	if err := c.verify(fs, checkpoint, found); err != nil {
		return nil, err
	}
	if err := c.judgeCutOff(fs, found, cutOff); err != nil {
		return nil, err
	}
	for i := range found {
		if !slices.ContainsFunc(c.segments, func(s segmentInfo) bool { return s.number == found[i].number }) {
			c.unused = append(c.unused, found[i].path)
		}
	}
	return c, nil
}

// followBack returns the segments from the one that holds checkpoint+1 to head.
// A segment that was begun but never synced may be empty after a crash; it and
// what follows it are cutOff, and the one before it is the head.
func followBack(found []foundSegment, head int, checkpoint uint64) (used, cutOff []int, err error) {
	used = []int{head}
	for found[used[0]].firstSeq > checkpoint+1 {
		f := &found[used[0]]
		i := slices.IndexFunc(found, func(o foundSegment) bool { return o.number == f.header.previous })
		if i < 0 {
			return nil, nil, &CorruptError{File: f.path, Offset: 32, Reason: fmt.Sprintf(
				"the journal before batch %d is missing: there is no %s, and the last checkpoint is at batch %d",
				f.firstSeq, segmentName(f.header.previous), checkpoint)}
		}
		if found[i].empty {
			cutOff = append(append([]int{i}, used...), cutOff...)
			before := i - 1
			for before >= 0 && found[before].err != nil {
				before--
			}
			if before < 0 {
				return nil, nil, found[i].corrupt()
			}
			used = []int{before}
			continue
		}
		if found[i].err != nil {
			return nil, nil, found[i].corrupt()
		}
		if found[i].number >= f.number || found[i].firstSeq > f.firstSeq {
			return nil, nil, &CorruptError{File: f.path, Offset: 24, Reason: fmt.Sprintf("the segment before it, %s, is newer", found[i].path)}
		}
		used = slices.Insert(used, 0, i)
	}
	return used, cutOff, nil
}

// judgeCutOff verifies that nothing in the segments that were cut off says that
// more than the chain was durable.
func (c *chain) judgeCutOff(fs vfs.FS, found []foundSegment, cutOff []int) error {
	for _, i := range cutOff {
		f := &found[i]
		if f.empty {
			continue
		}
		data, err := readSegment(fs, f.path, -1, nil)
		if err != nil {
			return err
		}
		scan, err := scanUntil(data, f.path, ^uint64(0))
		if err != nil {
			return err
		}
		if scan.durable > c.endSeq {
			return &CorruptError{File: found[cutOff[0]].path, Offset: 0, Reason: fmt.Sprintf(
				"the segment is empty, and %s says that batch %d was durable", f.path, scan.durable)}
		}
	}
	return nil
}

// verify reads every segment and finds where the journal ends.
func (c *chain) verify(fs vfs.FS, checkpoint uint64, found []foundSegment) error {
	var buf []byte
	for i := range c.segments {
		s := &c.segments[i]
		data, err := readSegment(fs, s.path, -1, buf)
		if err != nil {
			return err
		}
		buf = data
		limit := ^uint64(0) // first batch that the next segment replaces
		if i+1 < len(c.segments) {
			limit = c.segments[i+1].firstSeq
		}
		scan, err := scanUntil(data, s.path, limit)
		if err != nil {
			return err
		}
		s.sizeBytes = int64(scan.at)
		c.endSeq, c.endMs = scan.seq-1, scan.timeMs
		if scan.seq == limit {
			continue
		}
		if err := c.judge(fs, i, &scan, checkpoint); err != nil {
			return err
		}
		goesOn := func(f foundSegment) bool { return f.number == scan.sealedFor }
		if i+1 == len(c.segments) && scan.sealedFor != 0 && !slices.ContainsFunc(found, goesOn) {
			return &CorruptError{File: s.path, Offset: int64(scan.at), Reason: fmt.Sprintf(
				"the journal goes on with batch %d in %s, which is missing", scan.seq, segmentName(scan.sealedFor))}
		}
		c.segments = c.segments[:i+1]
		return nil
	}
	return nil
}

// judge decides whether the journal may end in segment i where the scan did: it
// may where all that follows was never durable.
func (c *chain) judge(fs vfs.FS, i int, scan *segmentScan, checkpoint uint64) error {
	s := &c.segments[i]
	if reason := scan.damage(); reason != "" {
		return &CorruptError{File: s.path, Offset: int64(scan.at), Reason: reason}
	}
	if checkpoint >= scan.seq {
		return &CorruptError{File: s.path, Offset: int64(scan.at), Reason: fmt.Sprintf(
			"%s, and the checkpoint is at batch %d", scan.why(), checkpoint)}
	}
	for _, later := range c.segments[i+1:] {
		data, err := readSegment(fs, later.path, -1, nil)
		if err != nil {
			return err
		}
		after, err := scanUntil(data, later.path, ^uint64(0))
		if err != nil {
			return err
		}
		if after.durable >= scan.seq {
			return &CorruptError{File: s.path, Offset: int64(scan.at), Reason: fmt.Sprintf(
				"%s, and %s says that batch %d was durable", scan.why(), later.path, scan.seq)}
		}
		lost := scan.cutOff || allZero(scan.data[scan.at:]) || missesSector(scan.data, scan.at, len(scan.data))
		if after.seq > later.firstSeq && !lost {
			return &CorruptError{File: s.path, Offset: int64(scan.at), Reason: fmt.Sprintf(
				"%s, and %s goes on with batch %d", scan.why(), later.path, later.firstSeq)}
		}
	}
	return nil
}

// scanUntil reads every batch of a segment below limit, effects included.
func scanUntil(data []byte, path string, limit uint64) (segmentScan, error) {
	_, scan, err := newSegmentScan(data)
	if err != nil {
		return scan, &CorruptError{File: path, Offset: 0, Reason: err.Error()}
	}
	var r effect.Reader
	for scan.seq < limit {
		at := scan.at
		ok, err := scan.next(&r)
		if err == nil && ok {
			err = verifyBatch(r)
		}
		if err != nil {
			return scan, &CorruptError{File: path, Offset: int64(at), Reason: err.Error()}
		}
		if !ok {
			break
		}
	}
	return scan, nil
}

// verifyBatch reads every effect of a batch.
func verifyBatch(r effect.Reader) error {
	var e effect.Effect
	for {
		ok, err := r.Next(&e)
		if err != nil {
			return fmt.Errorf("batch %d: %w", r.Seq, err)
		}
		if !ok {
			return nil
		}
	}
}

// replay hands the batches from < seq ≤ to of the segments to visit, in order.
// It returns a CorruptError when one of them is not there. held counts what it reads
// into.
func replay(fs vfs.FS, segments []segmentInfo, from, to uint64, held *heldGauge, visit func(*effect.Reader) error) error {
	var buf []byte
	defer func() { held.add(-int64(cap(buf))) }()
	next := from + 1
	for i, s := range segments {
		limit := to + 1
		if i+1 < len(segments) {
			limit = min(limit, segments[i+1].firstSeq)
		}
		if next >= limit || next > to {
			continue
		}
		expected := max(0, s.sizeBytes-int64(cap(buf)))
		held.add(expected) // before it is there, so that it is never found uncounted
		data, err := readSegment(fs, s.path, s.sizeBytes, buf)
		held.add(int64(cap(data)-cap(buf)) - expected)
		buf = data
		if err != nil {
			return err
		}
		if err := replaySegment(data, s.path, next, limit, visit); err != nil {
			return err
		}
		next = limit
	}
	if next <= to {
		return fmt.Errorf("the journal ends at batch %d, batch %d is wanted", next-1, to)
	}
	return nil
}

// replaySegment visits the batches next ≤ seq < limit of one segment.
func replaySegment(data []byte, path string, next, limit uint64, visit func(*effect.Reader) error) error {
	_, scan, err := newSegmentScan(data)
	if err != nil {
		return &CorruptError{File: path, Offset: 0, Reason: err.Error()}
	}
	if scan.seq > next {
		return &CorruptError{File: path, Offset: 40, Reason: fmt.Sprintf("it begins with batch %d, batch %d is wanted", scan.seq, next)}
	}
	var r effect.Reader
	for scan.seq < limit {
		at := scan.at
		ok, err := scan.next(&r)
		if err != nil {
			return &CorruptError{File: path, Offset: int64(at), Reason: err.Error()}
		}
		if !ok {
			return &CorruptError{File: path, Offset: int64(at), Reason: scan.why()}
		}
		if r.Seq < next {
			continue
		}
		if err := visit(&r); err != nil {
			return err
		}
	}
	return nil
}
