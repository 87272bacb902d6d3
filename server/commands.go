// This file owns the joint between connections and the command processor. It
// must not know any command.

package server

import "reminis/commands"

// Commands makes every connection a session of core.
func Commands(core *commands.Core) Handler { return commandHandler{core} }

type commandHandler struct{ core *commands.Core }

func (h commandHandler) Open(c Conn) Executor {
	x := &commandExecutor{info: c.Info(), shown: shownState{multi: -1}}
	x.session = h.core.NewSession(commandPeer{c, x})
	return x
}

func (h commandHandler) Guarded() bool { return !h.core.Users.Default().Rules().NoPass() }

// commandPeer is a connection as its command session sees it.
type commandPeer struct {
	Conn
	executor *commandExecutor
}

func (p commandPeer) Refresh() { p.executor.show() }

// commandExecutor is a command session as a connection's driver sees it.
type commandExecutor struct {
	session *commands.Session
	info    *Info
	shown   shownState
}

// shownState is what CLIENT LIST was last told, so that telling it again costs
// a comparison.
type shownState struct {
	command    *commands.Command
	db, multi  int
	proto      int // 0 before all was shown once
	name, user string
	library    Library
	tracking   bool
	keep       bool
	monitor    bool
	// channels, patterns and shards count subscriptions.
	channels, patterns, shards int
}

var actionOf = [...]Action{
	commands.Continue:        Continue,
	commands.CloseAfterReply: CloseAfterReply,
	commands.CloseNow:        CloseNow,
	commands.Park:            Park,
	commands.Block:           Block,
	commands.Retry:           Retry,
	commands.Postpone:        Postpone,
}

func (x *commandExecutor) Execute(out []byte, argv [][]byte) ([]byte, Action) {
	out, next := x.session.Execute(out, argv)
	x.show()
	return out, actionOf[next]
}

// show keeps the session's part of the client registry current. It allocates
// only when a name changes.
func (x *commandExecutor) show() {
	s, shown := x.session, &x.shown
	if s.LastCommand != shown.command {
		shown.command = s.LastCommand
		x.info.Command.Store(s.LastCommand.FullNameRef())
	}
	if s.Steady() && shown.proto != 0 {
		return
	}
	if s.DB != shown.db {
		shown.db = s.DB
		x.info.Database.Store(int32(s.DB))
	}
	if multi := s.InMulti(); multi != shown.multi {
		shown.multi = multi
		x.info.MultiCommands.Store(int32(multi))
		x.info.Set(FlagMulti, multi >= 0)
	}
	keep(&x.info.MultiBytes, s.QueuedBytes())
	keep(&x.info.ArgumentBytes, s.WaitingBytes())
	if s.Monitoring != shown.monitor {
		shown.monitor = s.Monitoring
		x.info.Set(FlagMonitor, s.Monitoring)
	}
	if channels, patterns, shards := s.Subscriptions(); channels != shown.channels || patterns != shown.patterns || shards != shown.shards {
		shown.channels, shown.patterns, shown.shards = channels, patterns, shards
		x.info.Channels.Store(int32(channels))
		x.info.Patterns.Store(int32(patterns))
		x.info.ShardChannels.Store(int32(shards))
		x.info.Set(FlagPubSub, channels+patterns+shards > 0)
	}
	if on, broadcast, broken, redirect := s.Tracking(); on || shown.tracking {
		shown.tracking = on
		x.info.Set(FlagTracking, on)
		x.info.Set(FlagTrackingBroadcast, broadcast)
		x.info.Set(FlagTrackingBroken, broken)
		x.info.Redirect.Store(redirect)
	}
	if s.NoEvict != shown.keep {
		shown.keep = s.NoEvict
		x.info.Set(FlagNoEvict, s.NoEvict)
	}
	if s.Proto != shown.proto {
		shown.proto = s.Proto
		x.info.Protocol.Store(int32(s.Proto))
	}
	if s.Name != shown.name {
		name := s.Name
		shown.name = name
		x.info.Name.Store(&name)
	}
	if s.LibName != shown.library.Name || s.LibVersion != shown.library.Version {
		library := Library{s.LibName, s.LibVersion}
		shown.library = library
		x.info.Library.Store(&library)
	}
	if s.User() != shown.user {
		user := s.User()
		shown.user = user
		x.info.User.Store(&user)
	}
}

func (x *commandExecutor) Prefetch(argv [][]byte, phase int) bool {
	return x.session.Prefetch(argv, phase)
}
func (x *commandExecutor) EndBatch()          { x.session.EndBatch() }
func (x *commandExecutor) HeldBytes() int64   { return x.session.HeldBytes() }
func (x *commandExecutor) Shrink()            { x.session.Shrink() }
func (x *commandExecutor) GateSeq() uint64    { return x.session.GateSeq() }
func (x *commandExecutor) AuthRequired() bool { return x.session.AuthRequired() }
func (x *commandExecutor) Close()             { x.session.Close() }
