package engine

import (
	"fmt"
	"testing"
)

// TestKeyspace: the counts are exact, the mean is near.
func TestKeyspace(t *testing.T) {
	e := Open(Options{})
	tx := e.Begin()
	tx.LockAll()
	for i := range 2000 {
		deadline := int64(0)
		if i%2 == 0 {
			deadline = tx.NowMs() + int64(i)*1000
		}
		tx.SetString(fmt.Appendf(nil, "key:%d", i), []byte("v"), deadline)
	}
	keys, withDeadline, mean := tx.Keyspace()
	tx.Commit()
	// Key 0's deadline is this very moment, and has not passed.
	if keys != 2000 || withDeadline != 1000 {
		t.Errorf("%d keys, %d with a deadline", keys, withDeadline)
	}
	if mean < 900_000 || mean > 1_100_000 {
		t.Errorf("mean %d ms, want about 999,000", mean)
	}
	tx.DB = 1
	tx.LockAll()
	if keys, withDeadline, mean = tx.Keyspace(); keys != 0 || withDeadline != 0 || mean != 0 {
		t.Errorf("empty: %d %d %d", keys, withDeadline, mean)
	}
	tx.Commit()
	tx.Done()
}
