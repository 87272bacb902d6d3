package embed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fake is an embedder whose answers depend on the text: "refused" is refused,
// "poison" fails, all fail while down is set. The others have a vector.
type fake struct {
	mu      sync.Mutex
	down    bool
	batches []int
}

var errDown = errors.New("down")

func (f *fake) Embed(_ context.Context, texts []string) ([][]float32, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batches = append(f.batches, len(texts))
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		switch {
		case f.down || strings.HasPrefix(text, "poison"):
			return nil, errDown
		case strings.HasPrefix(text, "refused"):
			return nil, fmt.Errorf("%w: too long", ErrRefused)
		case text != "":
			vectors[i] = []float32{float32(len(text))}
		}
	}
	return vectors, nil
}

// trial is a queue at work, until its jobs are done.
type trial struct {
	*Queue
	fake    *fake
	results []Result
	pauses  []time.Duration
	onPause func(n int) // called at the n-th pause
}

func newTrial() *trial {
	b := &trial{fake: &fake{}, onPause: func(int) {}}
	b.Queue = NewQueue(b.fake, func(r Result) { b.results = append(b.results, r) })
	b.pause = func(ctx context.Context, d time.Duration) error {
		b.pauses = append(b.pauses, d)
		b.onPause(len(b.pauses))
		return ctx.Err()
	}
	return b
}

func (b *trial) offer(t *testing.T, texts ...string) {
	t.Helper()
	for i, text := range texts {
		if !b.Offer(Job{Database: 1, Owner: "a:b", ID: uint64(i), Text: text}) {
			t.Fatalf("%q was refused", text)
		}
	}
}

// run works until n results are there.
func (b *trial) run(t *testing.T, n int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := b.done
	b.done = func(r Result) {
		done(r)
		if len(b.results) == n {
			cancel()
		}
	}
	b.Run(ctx)
	b.done = done
	if len(b.results) != n {
		t.Fatalf("%d results, want %d", len(b.results), n)
	}
}

// outcome is the results as text: what was embedded, and what became of it.
func (b *trial) outcome() []string {
	var lines []string
	for _, r := range b.results {
		lines = append(lines, fmt.Sprintf("%s %v %v", r.Job.Text, r.Vector, r.Err))
	}
	return lines
}

func TestQueue(t *testing.T) {
	b := newTrial()
	b.offer(t, "a", "", "ccc")
	if of := []int{b.WaitingOf(1, "a:b"), b.WaitingOf(0, "a:b"), b.WaitingOf(1, "a:c")}; !slices.Equal(of, []int{3, 0, 0}) {
		t.Errorf("of the owner, its namesake elsewhere and another, there wait %v", of)
	}
	if b.Waiting() != 3 || b.Missed() != 0 {
		t.Errorf("%d wait, %d missed", b.Waiting(), b.Missed())
	}
	b.run(t, 3)
	if want := []string{"a [1] <nil>", " [] <nil>", "ccc [3] <nil>"}; !slices.Equal(b.outcome(), want) {
		t.Errorf("%q, want %q", b.outcome(), want)
	}
	if first := b.results[2].Job; first.Owner != "a:b" || first.Database != 1 || first.ID != 2 {
		t.Errorf("the result is for %+v", first)
	}
	if b.Waiting() != 0 || !slices.Equal(b.fake.batches, []int{3}) {
		t.Errorf("%d wait after batches of %v", b.Waiting(), b.fake.batches)
	}
}

// TestQueueWakes offers to a queue that waits for work, from other goroutines.
func TestQueueWakes(t *testing.T) {
	const offerers, each = 4, 100
	var results sync.WaitGroup
	results.Add(offerers * each)
	q := NewQueue(&fake{}, func(Result) { results.Done() })
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { q.Run(ctx) })
	for range offerers {
		running.Go(func() {
			for i := range each {
				q.Offer(Job{ID: uint64(i), Text: "x"})
				q.Waiting()
			}
		})
	}
	results.Wait()
	cancel()
	running.Wait()
	if q.Waiting() != 0 {
		t.Errorf("%d wait", q.Waiting())
	}
}

func TestQueueBatches(t *testing.T) {
	b := newTrial()
	b.offer(t, slices.Repeat([]string{"x"}, 2*batchTexts+3)...)
	b.run(t, 2*batchTexts+3)
	if !slices.Equal(b.fake.batches, []int{batchTexts, batchTexts, 3}) {
		t.Errorf("batches of %v", b.fake.batches)
	}
}

// TestQueueFull refuses and counts what does not fit, and keeps what waits.
func TestQueueFull(t *testing.T) {
	b := newTrial()
	b.offer(t, slices.Repeat([]string{"x"}, QueueJobsMax)...)
	if b.Offer(Job{Text: "late"}) || b.Missed() != 1 || b.Waiting() != QueueJobsMax {
		t.Errorf("%d wait, %d missed", b.Waiting(), b.Missed())
	}

	b = newTrial()
	half := strings.Repeat("y", QueueBytesMax/2-10)
	b.offer(t, half, half)
	if b.Offer(Job{Text: half}) || b.Missed() != 1 {
		t.Errorf("%d wait, %d missed", b.Waiting(), b.Missed())
	}
	b.run(t, 2)
	if !b.Offer(Job{Text: half}) {
		t.Error("there is room again, but not for this")
	}
}

// TestQueueServiceAway keeps jobs while the service is down, and asks ever more
// rarely.
func TestQueueServiceAway(t *testing.T) {
	b := newTrial()
	b.fake.down = true
	b.offer(t, "a", "bb")
	b.onPause = func(n int) {
		if b.Waiting() != 2 || len(b.results) > 0 {
			t.Errorf("pause %d: %d wait, results %v", n, b.Waiting(), b.results)
		}
		b.fake.down = n < 12
	}
	b.run(t, 2)
	if want := []string{"a [1] <nil>", "bb [2] <nil>"}; !slices.Equal(b.outcome(), want) {
		t.Errorf("%q, want %q", b.outcome(), want)
	}
	if len(b.pauses) != 12 || b.pauses[0] != pauseFirst || b.pauses[1] != 2*pauseFirst || b.pauses[11] != pauseMax {
		t.Errorf("paused %v", b.pauses)
	}
}

func TestQueueRefused(t *testing.T) {
	b := newTrial()
	b.offer(t, "a", "refused", "ccc")
	b.run(t, 3)
	want := []string{"a [1] <nil>", "refused [] embedding service refused a text: too long", "ccc [3] <nil>"}
	if !slices.Equal(b.outcome(), want) || len(b.pauses) > 0 {
		t.Errorf("%q after %v, want %q", b.outcome(), b.pauses, want)
	}
}

// TestQueuePoison gives up texts that fail where others do not, and keeps what
// failed last: perhaps the service went away.
func TestQueuePoison(t *testing.T) {
	b := newTrial()
	b.offer(t, "poison", "a", "poison", "poison", "bb", "poison")
	b.run(t, 5)
	want := []string{"poison [] down", "a [1] <nil>", "poison [] down", "poison [] down", "bb [2] <nil>"}
	if !slices.Equal(b.outcome(), want) || len(b.pauses) != batchFailuresMax || b.Waiting() != 1 {
		t.Errorf("%q after %v, %d wait; want %q", b.outcome(), b.pauses, b.Waiting(), want)
	}
	b.offer(t, "ccc")
	b.run(t, 7)
	if got := b.outcome()[5:]; !slices.Equal(got, []string{"poison [] down", "ccc [3] <nil>"}) || b.Waiting() != 0 {
		t.Errorf("%q, %d wait", got, b.Waiting())
	}
}

// TestQueueStops leaves what waits when its context ends.
func TestQueueStops(t *testing.T) {
	b := newTrial()
	b.fake.down = true
	b.offer(t, "a")
	ctx, cancel := context.WithCancel(t.Context())
	b.onPause = func(n int) {
		if n == 2 {
			cancel()
		}
	}
	b.Run(ctx)
	if b.Waiting() != 1 || len(b.results) > 0 {
		t.Errorf("%d wait, results %v", b.Waiting(), b.results)
	}
}
