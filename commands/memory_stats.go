package commands

import (
	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
	"reminis/engine/memory"
)

// This file owns MEM.STATS: what an owner, or the server, has and was asked.

type memStatsParams struct{ owner []byte }

// memStatsCommand: without an owner the figures are those of all databases.
// Records that have expired and are not removed yet are counted. What was asked
// is counted since the server started; CONFIG RESETSTAT begins to count anew for the
// server, not for its owners.
func memStatsCommand() *Command {
	return onData(memoryDeclaration(Declaration{
		Name: "mem.stats", Complexity: "O(1) without an owner O(N), N being the number of owners; with one plus O(E), its retained events",
		Summary: "Count what an owner, or the server, has and was asked",
		Flags:   ReadOnly, Offload: true, Lock: LockNone,
		Reply: reply.MapOf(reply.Bulk(), reply.Int()),
	}), grammar.Compile[memStatsParams](
		grammar.Opt(ownerNode(func(p *memStatsParams) *[]byte { return &p.owner }, grammar.RO|grammar.Access)),
	), runMemStats)
}

// figure is one line of MEM.STATS or MEM.NS STATS.
type figure struct {
	name  string
	value int64
}

func runMemStats(tx *engine.Tx, p *memStatsParams, w *reply.Writer) error {
	if p.owner == nil {
		f := tx.RecordFigures()
		writeFigures(w, append([]figure{{"owners", f.Owners}}, ownerFigures(&f)...))
		return nil
	}
	if err := tx.Layout().ParseOwner(p.owner); err != nil {
		return err
	}
	tx.AuditReads()
	view, ok := tx.OwnerView(p.owner)
	if !ok {
		return ErrNoOwner
	}
	f, _ := tx.OwnerFigures(p.owner)
	events := int64(0)
	err := view.Events(0, ^uint64(0), false, func(uint64, []byte) bool {
		events++
		return true
	})
	if err != nil {
		return err
	}
	writeFigures(w, append(ownerFigures(&f), figure{"links", view.CountLinks()}, figure{"events", events}))
	return nil
}

// ownerFigures are what owners have in common.
func ownerFigures(f *engine.OwnerFigures) []figure {
	list := kindFigures(f.Records)
	return append(list,
		figure{"bytes", f.Bytes}, figure{"versions", f.Versions}, figure{"sessions", f.Sessions},
		figure{"command_ids", f.CommandIDs}, figure{"command_ids_dropped", f.DroppedIDs},
		figure{"waiting_index", f.Unindexed},
		figure{"vectors", f.Vectors}, figure{"embedded", f.Embedded}, figure{"waiting_embedder", f.Unembedded},
		figure{"reads", f.Uses.Reads}, figure{"hits", f.Uses.Hits},
		figure{"recalls", f.Uses.Recalls}, figure{"recall_hits", f.Uses.RecallHits},
		figure{"writes", f.Uses.Writes}, figure{"committed", f.Uses.Committed},
		figure{"denied", f.Uses.Denied}, figure{"erased", f.Uses.Erased},
		figure{"audit_dropped", f.Uses.Unaudited})
}

// kindFigures are the records, and those of each kind.
func kindFigures(records [memory.Semantic + 1]int64) []figure {
	all := figure{"records", 0}
	var list []figure
	for kind := memory.Working; kind <= memory.Semantic; kind++ {
		all.value += records[kind]
		list = append(list, figure{kind.String(), records[kind]})
	}
	return append([]figure{all}, list...)
}

func writeFigures(w *reply.Writer, list []figure) {
	w.Map(len(list))
	for _, f := range list {
		w.BulkString(f.name)
		w.Int(f.value)
	}
}
