package commands

import (
	"math"

	"reminis/commands/grammar"
	"reminis/commands/reply"
	"reminis/engine"
)

// This file owns MEMORY USAGE: what keys cost. Memory records are elsewhere.

func memoryUsageCommand() *Command {
	return container(Declaration{
		Name: "memory", Family: Server, Since: "4.0.0", Complexity: "Depends on subcommand.",
		Summary: "A container for memory diagnostics commands",
	},
		usageCommand(), memoryStatsCommand(), memoryDoctorCommand(), memoryMallocStatsCommand(), memoryPurgeCommand(),
		usageHelp(),
	)
}

type usageParams struct {
	key   []byte
	count int64
}

func usageCommand() *Command {
	return onData(Declaration{
		Name: "usage", Since: "4.0.0", Complexity: "O(N) where N is the number of samples.",
		Summary: "Estimate the memory usage of a key",
		Flags:   ReadOnly,
		Reply:   reply.Nullable(reply.Int()),
	}, grammar.Compile[usageParams](
		grammar.Key("key", func(p *usageParams) *[]byte { return &p.key }, grammar.RO),
		grammar.Options(
			// Every value's size is known whole: there is nothing to sample.
			grammar.Int("count", func(p *usageParams) *int64 { return &p.count }).After("SAMPLES").
				Range(0, math.MaxInt64).FailAs(grammar.OutOfRange, grammar.Syntax),
		),
	), runUsage)
}

func runUsage(tx *engine.Tx, p *usageParams, w *reply.Writer) error {
	sizeBytes, ok := tx.UsageBytes(p.key)
	if !ok {
		w.Null()
		return nil
	}
	w.Int(sizeBytes)
	return nil
}

func usageHelp() *Command {
	c := helpCommand("memory",
		"DOCTOR", "    Return memory problems reports.",
		"MALLOC-STATS", "    Return internal statistics report from the memory allocator.",
		"PURGE", "    Attempt to purge dirty pages for reclamation by the allocator.",
		"STATS", "    Return information about the memory usage of the server.",
		"USAGE <key> [SAMPLES <count>]", "    Return memory in bytes used by <key> and its value. Values are counted", "    whole: <count> is accepted and changes nothing.")
	c.Since = "4.0.0"
	return c
}
