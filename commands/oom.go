package commands

// This file owns what maxmemory means for commands: room is made before one runs,
// and one that adds data is refused where there is none.

// admitMemory makes room, or refuses what would add data over maxmemory; for EXEC,
// a queue that would (server.c processCommand).
func (s *Session) admitMemory(c *Command) error {
	// Room is made by who takes locks, and a script that is overdue may hold them.
	if s.Core.overdue.count.Load() > 0 || s.Core.Engine.MakeRoom() {
		return nil
	}
	if c.is(DenyOOM) {
		return ErrOOM
	}
	if c.is(Executes) {
		for i := range s.multi.queue {
			if s.multi.queue[i].command.is(DenyOOM) {
				return ErrOOM
			}
		}
	}
	return nil
}
