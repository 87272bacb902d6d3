package commands

import (
	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns MEM.NS: what is in a namespace.

func memNSCommand() *Command {
	return container(memoryDeclaration(Declaration{
		Name: "mem.ns", Complexity: "Depends on subcommand.",
		Summary: "A container for commands on namespaces of memory records",
	}), memNSListCommand(), memNSTreeCommand(), memNSStatsCommand(), memNSCountCommand(), helpCommand("mem.ns",
		"COUNT <scope>",
		"    Count the records in a scope.",
		"LIST <scope> [CURSOR <cursor>]",
		"    List the keys of the records in a scope.",
		"STATS <scope>",
		"    Count the records in a scope by kind, and their bytes and versions.",
		"TREE <scope> [CURSOR <cursor>]",
		"    List the namespaces in a scope with the numbers of their records.",
	))
}

type memNSParams struct {
	scope  []byte
	cursor []byte
}

// namespacePage is how many keys one MEM.NS LIST replies.
const namespacePage = 1000

// memNSListCommand: the cursor is the last key of the page, 0 at the start and at
// the end; what stands throughout the listing is listed once.
func memNSListCommand() *Command {
	return onData(memoryDeclaration(Declaration{
		Name: "list", Complexity: "O(log(N)+K) where N is the number of records and K that of the keys of a page",
		Summary: "List the keys of the records in a scope",
		Flags:   ReadOnly, Offload: true, Lock: LockNone,
		Reply: reply.Tuple(reply.Bulk(), reply.ArrayOf(reply.Bulk())),
	}), grammar.Compile[memNSParams](
		scopeNode("scope", func(p *memNSParams) *[]byte { return &p.scope }),
		grammar.Options(
			grammar.Bytes("cursor", func(p *memNSParams) *[]byte { return &p.cursor }).After("CURSOR").Sample("0"),
		),
	), runMemNSList)
}

func runMemNSList(tx *engine.Tx, p *memNSParams, w *reply.Writer) error {
	scope, err := tx.Layout().ParseScope(p.scope)
	if err != nil {
		return err
	}
	var after []byte
	owner := ""
	if len(p.cursor) > 0 && string(p.cursor) != "0" {
		key, err := tx.Layout().ParseKey(p.cursor)
		if err != nil {
			return ErrInvalidCursor
		}
		after, owner = key.Text, string(key.Owner())
	}
	var keys [][]byte
	for _, name := range ownersIn(tx, scope) {
		view, ok := tx.OwnerView([]byte(name))
		if name < owner || !ok {
			continue
		}
		if name > owner {
			after = nil
		}
		eachRecord(view, scope, after, func(s engine.Stored, _ uint64) bool {
			if string(s.Key) != string(after) {
				keys = append(keys, s.Key)
			}
			return len(keys) <= namespacePage
		})
		if len(keys) > namespacePage {
			break
		}
	}
	w.Array(2)
	if len(keys) > namespacePage {
		keys = keys[:namespacePage]
		w.Bulk(keys[namespacePage-1])
	} else {
		w.BulkString("0")
	}
	w.Array(len(keys))
	for _, key := range keys {
		w.Bulk(key)
	}
	return nil
}

func memNSCountCommand() *Command {
	return onData(memoryDeclaration(Declaration{
		Name: "count", Complexity: "O(log(N)+K) where N is the number of records and K that of those counted",
		Summary: "Count the records in a scope",
		Flags:   ReadOnly, Offload: true, Lock: LockNone,
		Reply: reply.Int(),
	}), grammar.Compile[memNSParams](
		scopeNode("scope", func(p *memNSParams) *[]byte { return &p.scope }),
	), runMemNSCount)
}

func runMemNSCount(tx *engine.Tx, p *memNSParams, w *reply.Writer) error {
	scope, err := tx.Layout().ParseScope(p.scope)
	if err != nil {
		return err
	}
	count := int64(0)
	for _, name := range ownersIn(tx, scope) {
		if view, ok := tx.OwnerView([]byte(name)); ok {
			eachRecord(view, scope, nil, func(engine.Stored, uint64) bool {
				count++
				return true
			})
		}
	}
	w.Int(count)
	return nil
}
