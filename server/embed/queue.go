// This file owns the jobs that wait for vectors. It must not know which embedder
// makes them, nor what a record is.

package embed

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Embedder answers one vector per text, in order, nil for a text that has none.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Job is a record that wants a vector.
type Job struct {
	Database int
	Owner    string
	ID       uint64 // of the document within its owner
	Text     string
}

// Result is what became of a job.
type Result struct {
	Job    Job
	Vector []float32 // nil if the text has none
	Err    error     // why the text gets no vector where others do, or nil
}

// Queue has texts embedded, oldest first. All methods but Run may be called from
// any goroutine.
type Queue struct {
	embedder Embedder
	done     func(Result)
	pause    func(ctx context.Context, d time.Duration) error

	mu        sync.Mutex // held briefly, never while embedding or calling back
	jobs      []Job      // that wait, those in work first
	sizeBytes int        // of their texts and owners
	missed    uint64
	wake      chan struct{} // has one element after an offer
}

// NewQueue answers an empty queue. done is called by Run, one result after the
// other, in the order of the offers; while it runs its job still counts as
// waiting.
func NewQueue(embedder Embedder, done func(Result)) *Queue {
	return &Queue{embedder: embedder, done: done, pause: pause, wake: make(chan struct{}, 1)}
}

// Offer takes a job and answers whether there was room for it. If not, those that
// wait stay, and Missed grows.
func (q *Queue) Offer(job Job) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.jobs) >= QueueJobsMax || q.sizeBytes+job.sizeBytes() > QueueBytesMax {
		q.missed++
		return false
	}
	q.jobs = append(q.jobs, job)
	q.sizeBytes += job.sizeBytes()
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return true
}

func (j *Job) sizeBytes() int { return len(j.Text) + len(j.Owner) }

// Waiting is the number of jobs without a result.
func (q *Queue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.jobs)
}

// WaitingOf is the number of an owner's jobs without a result.
func (q *Queue) WaitingOf(database int, owner string) (jobs int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range q.jobs {
		if q.jobs[i].Database == database && q.jobs[i].Owner == owner {
			jobs++
		}
	}
	return jobs
}

// Missed is how many offers were refused since the start: when it has grown there
// are records without a vector that no job is for.
func (q *Queue) Missed() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.missed
}

// Run works until ctx ends. What waits then still waits.
func (q *Queue) Run(ctx context.Context) {
	failures := 0 // since the last success
	for ctx.Err() == nil {
		batch := q.next()
		if len(batch) == 0 {
			select {
			case <-q.wake:
			case <-ctx.Done():
			}
			continue
		}
		if q.work(ctx, batch, failures >= batchFailuresMax) {
			failures = 0
			continue
		}
		// The service is away: the jobs stay, and it is asked ever more rarely.
		_ = q.pause(ctx, min(pauseFirst<<failures, pauseMax)) // an error ends the loop too
		failures = min(failures+1, pauseDoublings)
	}
}

// next answers the oldest jobs, which go on waiting.
func (q *Queue) next() []Job {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]Job(nil), q.jobs[:min(len(q.jobs), batchTexts)]...)
}

// work embeds the oldest jobs, hands out results, and tells whether there are any.
// Whether a failure is one text's is found out text by text, at once if the
// service says so, or if batches failed too often: it is, if a later text has an
// answer.
func (q *Queue) work(ctx context.Context, batch []Job, isSuspect bool) bool {
	vectors, err := q.embed(ctx, batch)
	if err == nil {
		for i, job := range batch {
			q.finish(Result{Job: job, Vector: vectors[i]})
		}
		return true
	}
	if !isSuspect && !errors.Is(err, ErrRefused) {
		return false
	}
	results := make([]Result, len(batch))
	known, failures := 0, 0 // results before known are final; failures since
	for i := 0; i < len(batch) && failures < singleFailuresMax; i++ {
		vectors, err := q.embed(ctx, batch[i:i+1])
		results[i] = Result{Job: batch[i], Err: err}
		if err == nil {
			results[i].Vector = vectors[0]
		}
		if err == nil || errors.Is(err, ErrRefused) {
			known, failures = i+1, 0
		} else {
			failures++
		}
	}
	for _, result := range results[:known] {
		q.finish(result)
	}
	return known > 0
}

func (q *Queue) embed(ctx context.Context, batch []Job) ([][]float32, error) {
	texts := make([]string, len(batch))
	for i := range batch {
		texts[i] = batch[i].Text
	}
	return q.embedder.Embed(ctx, texts)
}

// finish hands out the result of the oldest job, then takes the job off.
func (q *Queue) finish(result Result) {
	q.done(result)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sizeBytes -= q.jobs[0].sizeBytes()
	q.jobs[0] = Job{} // its text is free before the array is
	q.jobs = q.jobs[1:]
}
