// This file owns the goroutine that makes the journal durable for sessions
// whose replies wait, off the loops. It must not know sessions.

package server

// A syncer coalesces requests: one Sync covers everybody who asked before it
// began.
type syncer struct {
	server *Server
	asked  chan struct{}
}

func newSyncer(s *Server) *syncer {
	return &syncer{server: s, asked: make(chan struct{}, 1)}
}

// ask requests a sync and returns at once. Who waits is woken through the
// gate's Notify, which also covers a sync by somebody else.
func (y *syncer) ask() {
	select {
	case y.asked <- struct{}{}:
	default:
	}
}

func (y *syncer) run() {
	for {
		select {
		case <-y.asked:
			if err := y.server.gate.Sync(); err != nil {
				y.server.gateFailed(err)
			}
		case <-y.server.done:
			return
		}
	}
}

// gateFailed notes that the journal could not be written. The replies that wait
// for it keep waiting; the journal answers new writes itself.
func (s *Server) gateFailed(err error) {
	now := s.now()
	last := s.stats.gateErrorMs.Load()
	if now-last >= sweepIntervalMs && s.stats.gateErrorMs.CompareAndSwap(last, now) {
		s.log.Error("the journal was not written; replies wait", "error", err)
	}
}
