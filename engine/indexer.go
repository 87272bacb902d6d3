package engine

import "sync"

// This file owns the indexing of records in the background. Writes only leave a
// record to be indexed; a recall that comes first does it itself.

// indexer builds the indexes of owners that have enough to index.
type indexer struct {
	queue chan *Owner
	stop  chan struct{}
	done  sync.WaitGroup
}

// indexQueueMax bounds the owners that wait. One that finds no room is queued
// by a later write, or indexed by a recall.
const indexQueueMax = 1024

func (x *indexer) open() {
	x.queue = make(chan *Owner, indexQueueMax)
	x.stop = make(chan struct{})
}

// indexRun is how many records of an owner wait before they are worth a build.
const indexRun = 64

// offer notes that a record of owner, which is locked, waits to be indexed.
func (x *indexer) offer(owner *Owner) {
	if owner.unindexed++; owner.unindexed < indexRun {
		return
	}
	select {
	case x.queue <- owner:
		owner.unindexed = 0
	default:
	}
}

// RunIndexer indexes what was recovered, then what is written, until
// StopIndexer.
func (e *Engine) RunIndexer() {
	x := &e.indexer
	x.done.Go(func() {
		for db := range e.nDB {
			for _, owner := range e.owners.under(e.owners.space(db), "") {
				select {
				case <-x.stop:
					return
				default:
					owner.build()
				}
			}
		}
		for {
			select {
			case <-x.stop:
				return
			case owner := <-x.queue:
				owner.build()
			}
		}
	})
}

// build indexes what waits. The indexes are read under the owner's lock, because a
// flush replaces them, and built outside of it.
func (o *Owner) build() {
	o.mu.Lock()
	index, vectors := o.index, o.vectors
	o.mu.Unlock()
	if index.NeedsBuild() {
		index.Build()
	}
	if vectors != nil && vectors.NeedsBuild() {
		vectors.Build()
	}
}

// An owner is small while all that it has can be read, and what waits to be indexed
// be indexed, in some hundred microseconds.
const (
	smallDocs         = 2000
	smallBytes        = 512 << 10
	smallWaiting      = 16
	smallWaitingBytes = 16 << 10
)

// IsSmall says whether an owner is small. One that is not there is.
func (e *Engine) IsSmall(db int, name []byte) bool {
	owner := e.owners.find(e.owners.space(db), name)
	if owner == nil {
		return true
	}
	owner.mu.Lock()
	docs, bytes, index := owner.docs.Len(), owner.tally.bytes, owner.index
	owner.mu.Unlock()
	if docs > smallDocs || bytes > smallBytes {
		return false
	}
	waiting, waitingBytes := index.Waiting()
	return waiting <= smallWaiting && waitingBytes <= smallWaitingBytes
}

// StopIndexer ends RunIndexer and waits for it.
func (e *Engine) StopIndexer() {
	close(e.indexer.stop)
	e.indexer.done.Wait()
}
