package engine

// This file owns figures of whole databases, as INFO shows them. It must not
// know INFO.

// ttlSamples is how many deadlines of each shard the mean is taken of.
const ttlSamples = 4

// Keyspace counts the keys of the transaction's database and those with a
// deadline, expired ones not yet removed included, and estimates from a few
// deadlines of each shard how many milliseconds the latter have left in the mean.
func (tx *Tx) Keyspace() (keys, withDeadline int, meanTTLMs int64) {
	weighted := 0.0
	for i := range tx.e.shards {
		tx.within(i, func(s *shard) {
			ks := s.space(tx.DB)
			if ks == nil {
				return
			}
			keys += ks.keys.Len()
			n := ks.deadlines.entries
			withDeadline += n
			weighted += ks.meanLeftMs(tx.now) * float64(n)
		})
	}
	if withDeadline > 0 {
		meanTTLMs = int64(weighted / float64(withDeadline))
	}
	return keys, withDeadline, meanTTLMs
}

// meanLeftMs is the mean of what some deadlines have left, chosen at equal
// distances in their order.
func (ks *keyspace) meanLeftMs(nowMs int64) float64 {
	items := ks.deadlines.tree
	n := items.Len()
	samples := min(n, ttlSamples)
	sum := 0.0
	for i := range samples {
		at, _ := items.GetAt((2*i + 1) * n / (2 * samples))
		if x, ok := ks.keys.GetHash(at.hash, at.covers); ok {
			at.ms = x.DeadlineMs()
		}
		sum += float64(max(0, at.ms-nowMs))
	}
	return sum / float64(max(1, samples))
}
