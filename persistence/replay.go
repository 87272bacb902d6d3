package persistence

import (
	"errors"
	"fmt"
	"os"

	"reminis/engine/effect"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// This file owns the way to an earlier state of a store that is not in use. It
// never writes, and must not know who takes what it finds.

// Replayed says which state Replay handed over.
type Replayed struct {
	Seq    uint64 // of the last batch that it contains
	EndSeq uint64 // of the last batch of the store
	// RecordsOnly says that the moment is before the last checkpoint: the rows
	// have lost what strings, hashes and facets were then, but records have a
	// history.
	RecordsOnly bool
	// Incomplete counts the records whose history no longer reaches back to the
	// moment: what they were is not known, and they are not handed over.
	Incomplete int
}

// Replay hands the state of the store in dir after batch untilSeq to into; 0 is
// the last one. From the last checkpoint on that is the rows and the journal's
// batches, before it the records as their history tells. The database of a
// record is then the number of its owner's space. It returns ErrNotStore,
// ErrLocked, ErrImporting or ErrNewerFormat when the store cannot be read.
func Replay(fs vfs.FS, dir string, untilSeq uint64, into Restorer) (done Replayed, err error) {
	fs = readOnlyFS{fs}
	l := layoutOf(fs, dir)
	storeID, err := l.readFormat()
	if errors.Is(err, os.ErrNotExist) {
		return done, fmt.Errorf("%w in %s", ErrNotStore, dir)
	} else if err != nil {
		return done, err
	}
	if err := l.refuseImporting(); err != nil {
		return done, err
	}
	lock, err := l.lockQuietly()
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	rows, err := openRows(l.fs, l.rows, true, Options{}.withDefaults())
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, rows.close()) }()
	state, err := rows.state()
	if err != nil {
		return done, err
	}
	found, err := findChain(l.fs, l.journal, storeID, state.seq)
	if err != nil {
		return done, err
	}
	if untilSeq == 0 {
		untilSeq = found.endSeq
	}
	if untilSeq > found.endSeq {
		return done, fmt.Errorf("the store ends at batch %d, batch %d is wanted", found.endSeq, untilSeq)
	}
	done = Replayed{Seq: untilSeq, EndSeq: found.endSeq, RecordsOnly: untilSeq < state.seq}
	if done.RecordsOnly {
		done.Incomplete, err = replayHistory(rows, &state, untilSeq, into)
		return done, err
	}
	r := restoring{rows: rows, into: into, state: state, known: newCollectionSet()}
	into.Spaces(state.spaceOf())
	if err := r.run(rows, 1); err != nil {
		return done, err
	}
	return done, replay(l.fs, found.segments, state.seq, untilSeq, new(heldGauge), into.Batch)
}

// replayHistory hands over the changes of each record up to a batch, in order,
// for records whose history begins early enough.
func replayHistory(rows *rowStore, state *stateValue, untilSeq uint64, into Restorer) (incomplete int, err error) {
	r := restoring{rows: rows, into: into, state: *state, known: newCollectionSet()}
	// Facets are those of the checkpoint: owners' keys are among them.
	if err := r.facets(prefixSpan(prefixFacet)); err != nil {
		return 0, err
	}
	var last []byte
	skip := false
	err = rows.scan(prefixSpan(prefixHistory), func(row, value []byte) (bool, error) {
		space, key, place, ok := cutNamed(row)
		seq, _, placed := cutPlace(place)
		e := effect.Effect{Key: key, DB: space}
		timeMs, err := decodeHistory(value, &e)
		if err != nil || !ok || !placed {
			return false, badRow(row, errRow)
		}
		if name := row[:len(row)-placeBytes]; string(name) != string(last) {
			last = append(last[:0], name...)
			count, err := prunedBefore(rows, space, key)
			if err != nil {
				return false, err
			}
			if skip = count >= untilSeq; skip {
				incomplete++
			}
		}
		if skip || seq > untilSeq {
			return true, nil
		}
		return true, into.Row(&e, seq, timeMs)
	})
	return incomplete, err
}

// prunedBefore is the sequence of the last change of a record that is no longer
// kept.
func prunedBefore(rows *rowStore, space uint32, key []byte) (uint64, error) {
	value, ok, err := rows.read(appendNamedRow(nil, prefixCount, space, key))
	if err != nil || !ok {
		return 0, err
	}
	count, err := decodeCount(value)
	return count.prunedSeq, err
}
