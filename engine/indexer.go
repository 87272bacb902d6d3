package engine

import (
	"sync"

	"reminis/engine/memory"
	"reminis/engine/recall"
)

// This file owns when documents come into the indexes of their owners. A write
// leaves its document where it is, in the owner's tree: numbers ascend, so those
// that wait are those after the last indexed one. What is overwritten before
// anybody looks for it is never indexed. Who makes a view hands over what waits;
// so does the background, which then analyses the texts.

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

// indexRun is how many documents of an owner wait before they are worth a build.
const indexRun = 64

// worthBuilding says whether the background should index what waits of the owner:
// with few documents an index takes twice as much memory as they do, and a recall
// makes it in a moment.
func (o *Owner) worthBuilding() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.waiting+o.unbuilt >= indexRun
}

// offer has the background index what waits of owner, which is locked, if that is
// worth it.
func (x *indexer) offer(owner *Owner) {
	if owner.queued || owner.waiting+owner.unbuilt < indexRun {
		return
	}
	select {
	case x.queue <- owner:
		owner.queued = true
	default:
	}
}

// wait notes that an item, which is in the owner's trees, is to be found by its
// text as the rules say that hold now. The owner is locked.
func (o *Owner) wait(tx *Tx, it item) {
	o.waiting++
	rules := tx.Rules()
	if tx.restoring {
		// Rows come in no order of their documents; the facets come before them.
		o.waitRules = rules
		return
	}
	if o.waitRules != rules {
		o.indexUpTo(it.doc() - 1)
		o.waitRules, o.waiting = rules, 1
	}
	tx.e.indexer.offer(o)
}

// waits says whether a document waits to be indexed.
func (o *Owner) waits(it item) bool { return it.doc() > o.indexedDoc && !it.isSilent() }

// indexUpTo hands the documents that wait to the index, up to a number. The owner
// is locked.
func (o *Owner) indexUpTo(last uint64) {
	if o.waiting > 0 {
		d := &documents{owner: o, rules: o.waitRules}
		o.docs.Ascend(o.indexedDoc+1, func(doc uint64, it item) bool {
			if doc > last {
				return false
			}
			o.indexOne(d, it)
			return true
		})
		o.waiting = 0
	}
	o.indexedDoc = max(o.indexedDoc, last)
}

func (o *Owner) indexOne(d *documents, it item) {
	if !it.isSilent() {
		o.index.Add(d.of(it))
	}
}

// documents reads items of an owner as recall indexes them, by some rules.
type documents struct {
	owner  *Owner
	rules  *Rules
	record memory.Record
	head   item // of the list whose item was read last
}

// of is an item as recall indexes it: found by its anchor, beside its neighbours in
// time within its session when it is a turn or part of a longer text. A profile
// record stands for itself. Its class is its kind; items of lists are of none (0),
// since an append may change the kind of their list.
func (d *documents) of(it item) recall.Doc {
	if it.isPart() {
		if d.head == nil || string(d.head.key()) != string(it.recordKey()) {
			d.head, _ = d.owner.records.Get(newItem(it.recordKey(), 0, 0, nil))
		}
		content, key := it.content(), it.recordKey()
		return recall.Doc{ID: it.doc(), Text: string(itemAnchor(d.rules.Policies().Resolve(key), &content)), Order: content.TimeMs, Group: d.owner.groupOf(key, d.head.kind())}
	}
	mustDecode(it.record(), &d.record)
	return recall.Doc{ID: it.doc(), Text: string(d.rules.Policies().Resolve(it.key()).AppendAnchor(nil, &d.record)), Order: d.record.CreatedMs, Group: d.owner.groupOf(it.key(), it.kind()), Class: uint8(it.kind())}
}

// RunIndexer indexes what was recovered, then what is written, until
// StopIndexer.
func (e *Engine) RunIndexer() {
	x := &e.indexer
	e.placeVectors()
	x.done.Go(func() {
		for db := range e.nDB {
			for _, owner := range e.owners.under(e.owners.space(db), "") {
				select {
				case <-x.stop:
					return
				default:
					if owner.worthBuilding() {
						owner.build()
					}
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
	o.indexUpTo(o.lastDoc)
	o.queued, o.unbuilt = false, 0
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
	defer owner.mu.Unlock()
	if owner.docs.Len() > smallDocs || owner.tally.bytes > smallBytes || owner.waiting > smallWaiting {
		return false
	}
	owner.indexUpTo(owner.lastDoc)
	waiting, waitingBytes := owner.index.Waiting()
	return waiting <= smallWaiting && waitingBytes <= smallWaitingBytes
}

// StopIndexer ends RunIndexer and waits for it.
func (e *Engine) StopIndexer() {
	close(e.indexer.stop)
	e.indexer.done.Wait()
}
