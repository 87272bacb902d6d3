package commands

import (
	"reminis/commands/acl"
	"reminis/commands/grammar"
	"reminis/commands/reply"
)

// This file owns the log of denials: what is noted of one, and ACL LOG.

const (
	// denialsDefault is acllog-max-len's default.
	denialsDefault = 128
	// denialObjectMax bounds what is kept of a key, a name or a scope.
	denialObjectMax = 1 << 10
	// denialsShown is how many entries ACL LOG shows unless told otherwise.
	denialsShown = 10
)

// noteDenial notes that user was denied something because of object.
func (s *Session) noteDenial(reason acl.Denial, object []byte, user string) {
	context := "toplevel"
	switch {
	case s.script != nil:
		context = "lua"
	case s.multi.open || s.tx != nil:
		context = "multi"
	}
	s.Peer.Refresh()
	s.Core.Users.Log.Add(acl.Denied{
		Reason: reason, Context: context, TimeMs: s.Core.Engine.NowMs(), Client: string(s.Peer.AppendLine(nil)),
		Object: string(object[:min(len(object), denialObjectMax)]), User: user[:min(len(user), denialObjectMax)],
	}, int(s.Core.DenialsMax.Load()))
}

type aclLogParams struct {
	reset bool
	count int64
	extra [][]byte
}

func aclLogCommand() *Command {
	return onSession(Declaration{
		Name: "log", Since: "6.0.0", Complexity: "O(N) with N being the number of entries shown.",
		Summary: "List latest events denied because of ACLs in place",
		Flags:   aclFlags | Admin, Reply: reply.OneOf(reply.OK(), reply.ArrayOf(reply.Record(
			reply.Field{Key: "count", Value: reply.Int()}, reply.Field{Key: "reason", Value: reply.Bulk()},
			reply.Field{Key: "context", Value: reply.Bulk()}, reply.Field{Key: "object", Value: reply.Bulk()},
			reply.Field{Key: "username", Value: reply.Bulk()}, reply.Field{Key: "age-seconds", Value: reply.Double()},
			reply.Field{Key: "client-info", Value: reply.Bulk()},
		))),
	}, grammar.Compile[aclLogParams](
		grammar.Opt(grammar.OneOf("operation",
			grammar.Int("count", func(p *aclLogParams) *int64 { return &p.count }).Default(denialsShown),
			grammar.Token("RESET", func(p *aclLogParams) *bool { return &p.reset }),
		)),
		tooMany(func(p *aclLogParams) *[][]byte { return &p.extra }),
	), runACLLog)
}

func runACLLog(s *Session, p *aclLogParams, w *reply.Writer) error {
	log := &s.Core.Users.Log
	switch {
	case len(p.extra) > 0:
		return s.errACLUsage()
	case p.reset:
		log.Reset()
		w.OK()
		return nil
	}
	entries := log.Latest(int(max(p.count, 0)))
	nowMs := s.Core.Engine.NowMs()
	w.Array(len(entries))
	for i := range entries {
		d := &entries[i]
		w.Map(7)
		w.BulkString("count")
		w.Int(d.Count)
		for _, field := range []struct{ name, text string }{
			{"reason", d.Reason.String()}, {"context", d.Context}, {"object", d.Object}, {"username", d.User},
		} {
			w.BulkString(field.name)
			w.BulkString(field.text)
		}
		w.BulkString("age-seconds")
		w.Double(float64(nowMs-d.TimeMs) / 1000)
		w.BulkString("client-info")
		w.BulkString(d.Client)
	}
	return nil
}
