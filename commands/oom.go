package commands

// This file owns what maxmemory means for commands: room is made before one runs,
// and one that adds data is refused where there is none.

// admitMemory makes room, or refuses what would add data over maxmemory; for EXEC,
// a queue that would, and what would make a queue longer (server.c processCommand).
func (s *Session) admitMemory(c *Command, argv [][]byte) error {
	// Room is made by who takes locks, and a script that is overdue may hold them.
	if s.Core.overdue.count.Load() > 0 || s.Core.MakeRoom() {
		return nil
	}
	if s.multi.open && !c.is(Immediate) || s.flags(c, argv)&DenyOOM != 0 {
		return ErrOOM
	}
	return nil
}
