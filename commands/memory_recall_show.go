package commands

import (
	"time"

	"reminis/commands/reply"
	"reminis/engine/memory"
	"reminis/engine/recall"
)

// This file owns the forms in which the hits of a recall are shown.

// tokens is what a candidate costs in the reply: its line of the prompt, or its
// value.
func (r *recalling) tokens(c *candidate) int {
	decodeShown(r.tx, c.stored, &r.record)
	if r.params.format == recallPrompt {
		return recall.Estimate(r.promptLine(nil, c))
	}
	return recall.Estimate(r.record.Value)
}

func (r *recalling) show(chosen []*candidate, w *reply.Writer) error {
	switch r.params.format {
	case recallPrompt:
		text := []byte(memory.PromptHeader)
		for _, c := range chosen {
			decodeShown(r.tx, c.stored, &r.record)
			text = r.promptLine(text, c)
		}
		w.Verbatim("txt", string(text))
	case recallJSON:
		object := memory.JSONObject{Text: []byte{'['}}
		for i, c := range chosen {
			object.Text = comma(object.Text, i)
			h := r.hit(c)
			memory.VisitHit(&h, object.Field)
			object.Close()
		}
		w.Bulk(append(object.Text, ']'))
	default:
		w.Array(len(chosen))
		for _, c := range chosen {
			r.writeHit(w, c)
		}
	}
	return nil
}

// promptLine appends the line of a candidate, whose record is decoded.
func (r *recalling) promptLine(dst []byte, c *candidate) []byte {
	rec, key := &r.record, c.stored.Key
	return memory.AppendPromptItem(dst, &memory.PromptItem{
		TimeMs: rec.UpdatedMs, Kind: rec.Kind, Name: key[r.tx.Layout().OwnerLen(key)+1:],
		Confidence: rec.Confidence, Value: rec.Value, Text: rec.Text}, time.UTC)
}

func (r *recalling) writeHit(w *reply.Writer, c *candidate) {
	h := r.hit(c)
	count := memory.HitFieldCount
	if h.Explain != nil {
		count++
	}
	w.Map(count)
	memory.VisitHit(&h, func(f memory.Field) { writeNamed(w, &f) })
}

func (r *recalling) hit(c *candidate) memory.Hit {
	rec := &r.record
	decodeShown(r.tx, c.stored, rec)
	h := memory.Hit{Key: c.stored.Key, Item: int64(c.stored.Item), Value: rec.Value, Text: rec.Text, Kind: rec.Kind,
		TimeMs: rec.UpdatedMs, Source: rec.Source, Score: c.score.Total}
	if r.params.explain {
		h.Explain = r.explain(c)
	}
	return h
}

// explain shows every part of a score, and how many candidates were looked at.
func (r *recalling) explain(c *candidate) []memory.Field {
	double := func(name string, value float64) memory.Field {
		return memory.Field{Name: name, Kind: memory.FieldDouble, Double: value}
	}
	return []memory.Field{
		double("relevance", c.score.Relevance), double("recency", c.score.Recency), double("confidence", c.score.Confidence),
		double("text", c.hit.Own), double("neighbour", c.hit.Lent),
		double("vector", c.cosine), double("linked", c.linked),
		{Name: "tier", Kind: memory.FieldText, Bytes: []byte([...]string{"session", "own", "shared"}[c.tier])},
		{Name: "tokens", Kind: memory.FieldInteger, Integer: int64(c.tokens)},
		{Name: "scanned", Kind: memory.FieldInteger, Integer: int64(r.scanned)},
		{Name: "collapsed", Kind: memory.FieldInteger, Integer: int64(r.collapsed)},
	}
}
