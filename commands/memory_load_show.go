package commands

import (
	"reminis/commands/reply"
	"reminis/engine/memory"
)

// This file owns the forms of what MEM.LOAD gathered.

func loadShape() reply.Shape {
	text := reply.Nullable(reply.Bulk())
	return reply.Record(
		reply.Field{Key: "profile", Value: reply.ArrayOf(recordShape())},
		reply.Field{Key: "session", Value: reply.ArrayOf(reply.Record(
			reply.Field{Key: "n", Value: reply.Nullable(reply.Int())}, reply.Field{Key: "time", Value: reply.Int()},
			reply.Field{Key: "value", Value: reply.Bulk()}))},
		reply.Field{Key: "semantic", Value: reply.ArrayOf(hitShape())},
		reply.Field{Key: "meta", Value: reply.Record(
			reply.Field{Key: "owner", Value: reply.Bulk()}, reply.Field{Key: "session", Value: text},
			reply.Field{Key: "seq", Value: reply.Int()}, reply.Field{Key: "loaded_at", Value: reply.Int()},
			reply.Field{Key: "tokens", Value: reply.Int()}, reply.Field{Key: "new", Value: reply.Int()})})
}

// showLoaded replies the four parts, of which none is ever missing.
func (l *loading) showLoaded(seq int64, w *reply.Writer) {
	if l.load.format == formatJSON {
		w.Bulk(l.loadedJSON(seq))
		return
	}
	w.Map(4)
	w.BulkString("profile")
	w.Array(len(l.profile))
	for i := range l.profile {
		writeMap(w, l.recordFields(&l.profile[i]))
	}
	w.BulkString("session")
	w.Array(len(l.turns))
	for i := range l.turns {
		writeMap(w, l.turnFields(&l.turns[i]))
	}
	w.BulkString("semantic")
	w.Array(len(l.hits))
	for _, c := range l.hits {
		l.fields = l.appendHit(l.fields[:0], c)
		writeMap(w, l.fields)
	}
	w.BulkString("meta")
	writeMap(w, l.metaFields(seq))
}

func (l *loading) loadedJSON(seq int64) []byte {
	text := append([]byte(nil), `{"profile":[`...)
	for i := range l.profile {
		text = memory.AppendJSON(comma(text, i), l.recordFields(&l.profile[i]))
	}
	text = append(text, `],"session":[`...)
	for i := range l.turns {
		text = memory.AppendJSON(comma(text, i), l.turnFields(&l.turns[i]))
	}
	text = append(text, `],"semantic":[`...)
	for i, c := range l.hits {
		l.fields = l.appendHit(l.fields[:0], c)
		text = memory.AppendJSON(comma(text, i), l.fields)
	}
	text = append(text, `],"meta":`...)
	return append(memory.AppendJSON(text, l.metaFields(seq)), '}')
}

// comma appends what stands before an element of an array.
func comma(text []byte, place int) []byte {
	if place > 0 {
		return append(text, ',')
	}
	return text
}

func (l *loading) recordFields(s *loaded) []memory.Field {
	decodeShown(l.tx, s.stored, &l.record)
	l.fields = memory.AppendRecordFields(l.fields[:0], s.stored.Key, &l.record, s.stored.DeadlineMs)
	return l.fields
}

// turnFields are those of a turn; one that is no item of a list has no number.
func (l *loading) turnFields(s *loaded) []memory.Field {
	decodeShown(l.tx, s.stored, &l.record)
	l.fields = memory.AppendTurnFields(l.fields[:0], int64(s.stored.Item), s.timeMs, l.record.Value, l.record.Text)
	return l.fields
}

func (l *loading) metaFields(seq int64) []memory.Field {
	l.fields = memory.AppendLoadFields(l.fields[:0], &memory.Load{Owner: l.load.owner, Session: l.load.session, Seq: seq,
		LoadedAtMs: l.tx.NowMs(), Tokens: l.load.budget - int64(l.left), New: !l.known})
	return l.fields
}
