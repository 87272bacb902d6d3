package engine

import "reminis/engine/table"

// This file owns the 24 bits by which an entry remembers how it was used: for
// LRU policies the time of the last access in seconds modulo 2^24 (evict.c
// LRU_CLOCK), for LFU policies 16 bits of minutes and 8 bits of a logarithmic
// counter.

const (
	accessMask = 1<<24 - 1
	// lfuInitial is the counter of a new key (evict.c LFU_INIT_VAL): not 0, or
	// it would be evicted before it can be used.
	lfuInitial = 5
	// lfuLogFactor and lfuDecayMinutes are Redis's defaults of lfu-log-factor
	// and lfu-decay-time.
	lfuLogFactor    = 10
	lfuDecayMinutes = 1
)

func (tx *Tx) lruClock() uint32 { return uint32(tx.now/1000) & accessMask }

func (tx *Tx) lfuMinutes() uint32 { return uint32(tx.now/60000) & 0xffff }

func (tx *Tx) initAccess(x table.Entry) {
	if tx.e.Limits.LFU.Load() {
		x.SetAccess(tx.lfuMinutes()<<8 | lfuInitial)
		return
	}
	x.SetAccess(tx.lruClock())
}

// touchAccess notes an access. It writes only when something changes: most
// accesses of a hot key fall into one second.
func (tx *Tx) touchAccess(x table.Entry) {
	if tx.e.Limits.LFU.Load() {
		tx.touchFrequency(x)
		return
	}
	if now := tx.lruClock(); x.Access() != now {
		x.SetAccess(now)
	}
}

// touchFrequency decays, then increments with probability
// 1/((counter-initial)*factor+1) (evict.c LFULogIncr).
func (tx *Tx) touchFrequency(x table.Entry) {
	counter := tx.frequency(x)
	if counter < 255 {
		base := uint64(0)
		if counter > lfuInitial {
			base = uint64(counter - lfuInitial)
		}
		if tx.draw()%(base*lfuLogFactor+1) == 0 {
			counter++
		}
	}
	x.SetAccess(tx.lfuMinutes()<<8 | counter)
}

func (tx *Tx) frequency(x table.Entry) uint32 {
	counter := x.Access() & 255
	elapsed := (tx.lfuMinutes() - x.Access()>>8) & 0xffff
	if periods := elapsed / lfuDecayMinutes; periods >= counter {
		return 0
	} else {
		return counter - periods
	}
}

// IdleSeconds is how long key was not accessed; ok says whether it exists.
func (tx *Tx) IdleSeconds(key []byte) (idle int64, ok bool) {
	_, _, x, ok := tx.find(tx.DB, key)
	if !ok {
		return 0, false
	}
	return int64((tx.lruClock() - x.Access()) & accessMask), true
}

// Frequency is the logarithmic access counter of key; ok says whether it exists.
func (tx *Tx) Frequency(key []byte) (counter int64, ok bool) {
	_, _, x, ok := tx.find(tx.DB, key)
	if !ok {
		return 0, false
	}
	return int64(tx.frequency(x)), true
}

// SetIdleSeconds makes key look as if last accessed so long ago (RESTORE
// IDLETIME).
func (tx *Tx) SetIdleSeconds(key []byte, seconds int64) {
	if _, _, x, ok := tx.find(tx.DB, key); ok {
		x.SetAccess(uint32(int64(tx.lruClock())-seconds) & accessMask)
	}
}

// SetFrequency sets the access counter of key, 0 to 255 (RESTORE FREQ).
func (tx *Tx) SetFrequency(key []byte, counter uint8) {
	if _, _, x, ok := tx.find(tx.DB, key); ok {
		x.SetAccess(tx.lfuMinutes()<<8 | uint32(counter))
	}
}
