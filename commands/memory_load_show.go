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
	put := func(f memory.Field) { writeNamed(w, &f) }
	for i := range l.profile {
		w.Map(memory.RecordFieldCount)
		l.visitRecord(&l.profile[i], put)
	}
	w.BulkString("session")
	w.Array(len(l.turns))
	for i := range l.turns {
		w.Map(memory.TurnFieldCount)
		l.visitTurn(&l.turns[i], put)
	}
	w.BulkString("semantic")
	w.Array(len(l.hits))
	for _, c := range l.hits {
		l.writeHit(w, c)
	}
	w.BulkString("meta")
	writeMap(w, l.metaFields(seq))
}

func (l *loading) loadedJSON(seq int64) []byte {
	object := memory.JSONObject{Text: append(make([]byte, 0, 4096), `{"profile":[`...)}
	for i := range l.profile {
		object.Text = comma(object.Text, i)
		l.visitRecord(&l.profile[i], object.Field)
		object.Close()
	}
	object.Text = append(object.Text, `],"session":[`...)
	for i := range l.turns {
		object.Text = comma(object.Text, i)
		l.visitTurn(&l.turns[i], object.Field)
		object.Close()
	}
	object.Text = append(object.Text, `],"semantic":[`...)
	for i, c := range l.hits {
		object.Text = comma(object.Text, i)
		h := l.hit(c)
		memory.VisitHit(&h, object.Field)
		object.Close()
	}
	text := append(object.Text, `],"meta":`...)
	return append(memory.AppendJSON(text, l.metaFields(seq)), '}')
}

// comma appends what stands before an element of an array.
func comma(text []byte, place int) []byte {
	if place > 0 {
		return append(text, ',')
	}
	return text
}

func (l *loading) visitRecord(s *loaded, visit func(memory.Field)) {
	decodeShown(l.tx, s.stored, &l.record)
	memory.VisitRecord(s.stored.Key, &l.record, s.stored.DeadlineMs, visit)
}

// visitTurn gives the fields of a turn; one that is no item of a list has no number.
func (l *loading) visitTurn(s *loaded, visit func(memory.Field)) {
	memory.VisitTurn(int64(s.stored.Item), s.timeMs, s.value, s.text, visit)
}

func (l *loading) metaFields(seq int64) []memory.Field {
	l.fields = memory.AppendLoadFields(l.fields[:0], &memory.Load{Owner: l.load.owner, Session: l.load.session, Seq: seq,
		LoadedAtMs: l.tx.NowMs(), Tokens: l.load.budget - int64(l.left), New: !l.known})
	return l.fields
}
