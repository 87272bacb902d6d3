package commands

import (
	"reminis/commands/grammar"
	"reminis/commands/reply"
)

// This file owns the commands of Redis Cluster on a server that is not part of
// one: as in Redis, each is refused before its arguments are looked at.

// outsideCluster declares a command that only a node of a cluster runs.
func outsideCluster(d Declaration, nodes ...grammar.Node) *Command {
	return refused(d, withoutParsing(nodes...), errNoCluster)
}

// refused declares a command whose arguments nobody looks at, since it is
// always answered with reason.
func refused(d Declaration, g *grammar.Grammar, reason Error) *Command {
	d.Unavailable = reason
	return &Command{Declaration: d, full: d.Name, grammar: &g.Shape, session: func(*Session, [][]byte, *reply.Writer) error {
		return reason
	}}
}

// withoutParsing is the grammar of arguments that are documented and not parsed.
func withoutParsing(nodes ...grammar.Node) *grammar.Grammar {
	return grammar.Compile[noParams](nodes...)
}

func clusterCommands() []*Command {
	const complexity = "O(1)"
	return []*Command{
		clusterCommand(),
		outsideCluster(Declaration{
			Name: "asking", Family: Cluster, Since: "3.0.0", Complexity: complexity,
			Summary: "Sent by cluster clients after an -ASK redirect", Categories: []string{"connection"}, Flags: Fast,
		}),
		outsideCluster(Declaration{
			Name: "readonly", Family: Cluster, Since: "3.0.0", Complexity: complexity,
			Summary:    "Enables read queries for a connection to a cluster replica node",
			Categories: []string{"connection"}, Flags: Loading | Stale | Fast,
		}),
		outsideCluster(Declaration{
			Name: "readwrite", Family: Cluster, Since: "3.0.0", Complexity: complexity,
			Summary:    "Disables read queries for a connection to a cluster replica node",
			Categories: []string{"connection"}, Flags: Loading | Stale | Fast,
		}),
	}
}

func clusterCommand() *Command {
	subs := append(clusterReads(), clusterSlotChanges()...)
	return container(Declaration{
		Name: "cluster", Family: Cluster, Since: "3.0.0", Complexity: "Depends on subcommand.",
		Summary: "A container for cluster commands",
	}, append(subs, clusterNodeChanges()...)...)
}

// clusterWord and clusterNumber document one argument.
func clusterWord(name string) grammar.Node   { return grammar.Bytes[*noParams](name, nil) }
func clusterNumber(name string) grammar.Node { return grammar.Int[*noParams](name, nil) }

// clusterReads are the subcommands that tell of the cluster.
func clusterReads() []*Command {
	changing := []string{nondeterministicOutput}
	const perNode = "O(N) where N is the total number of Cluster nodes"
	return []*Command{
		outsideCluster(Declaration{
			Name: "count-failure-reports", Since: "3.0.0", Complexity: "O(N) where N is the number of failure reports",
			Summary: "Return the number of failure reports active for a given node", Flags: Admin | Stale, Tips: changing,
		}, clusterWord("node-id")),
		outsideCluster(Declaration{
			Name: "countkeysinslot", Since: "3.0.0", Complexity: "O(1)",
			Summary: "Return the number of local keys in the specified hash slot", Flags: Stale,
		}, clusterNumber("slot")),
		outsideCluster(Declaration{
			Name: "getkeysinslot", Since: "3.0.0", Complexity: "O(log(N)) where N is the number of requested keys",
			Summary: "Return local key names in the specified hash slot", Flags: Stale, Tips: changing,
		}, clusterNumber("slot"), clusterNumber("count")),
		outsideCluster(Declaration{
			Name: "help", Since: "5.0.0", Complexity: "O(1)",
			Summary: "Show helpful text about the different subcommands", Flags: Loading | Stale,
		}),
		outsideCluster(Declaration{
			Name: "info", Since: "3.0.0", Complexity: "O(1)",
			Summary: "Provides info about Redis Cluster node state", Flags: Stale, Tips: changing,
		}),
		outsideCluster(Declaration{
			Name: "keyslot", Since: "3.0.0", Complexity: "O(N) where N is the number of bytes in the key",
			Summary: "Returns the hash slot of the specified key", Flags: Stale,
		}, clusterWord("key")),
		outsideCluster(Declaration{
			Name: "links", Since: "7.0.0", Complexity: perNode,
			Summary: "Returns a list of all TCP links to and from peer nodes in cluster", Flags: Stale, Tips: changing,
		}),
		outsideCluster(Declaration{
			Name: "myid", Since: "3.0.0", Complexity: "O(1)", Summary: "Return the node id", Flags: Stale,
		}),
		outsideCluster(Declaration{
			Name: "nodes", Since: "3.0.0", Complexity: perNode,
			Summary: "Get Cluster config for the node", Flags: Stale, Tips: changing,
		}),
		outsideCluster(Declaration{
			Name: "replicas", Since: "5.0.0", Complexity: "O(1)",
			Summary: "List replica nodes of the specified master node", Flags: Admin | Stale, Tips: changing,
		}, clusterWord("node-id")),
		outsideCluster(Declaration{
			Name: "shards", Since: "7.0.0", Complexity: "O(N) where N is the total number of cluster nodes",
			Summary: "Get array of cluster slots to node mappings", Flags: Stale, Tips: changing,
		}),
		outsideCluster(Declaration{
			Name: "slaves", Since: "3.0.0", Complexity: "O(1)", DeprecatedSince: "5.0.0", ReplacedBy: "`CLUSTER REPLICAS`",
			Summary: "List replica nodes of the specified master node", Flags: Admin | Stale, Tips: changing,
		}, clusterWord("node-id")),
		outsideCluster(Declaration{
			Name: "slots", Since: "3.0.0", Complexity: perNode, DeprecatedSince: "7.0.0", ReplacedBy: "`CLUSTER SHARDS`",
			Summary: "Get array of Cluster slot to node mappings", Flags: Stale, Tips: changing,
			History: []Change{{"4.0.0", "Added node IDs."}, {"7.0.0", "Added additional networking metadata field."}},
		}),
	}
}

// clusterChangeFlags are those of the subcommands that change the cluster.
const clusterChangeFlags = NoAsyncLoading | Admin | Stale

// clusterSlotChanges are the subcommands that say which node has which slots.
func clusterSlotChanges() []*Command {
	slots := func() grammar.Node { return grammar.Rest[*noParams]("slot", nil).Typed(grammar.TypeInteger) }
	ranges := func(d Declaration) *Command {
		d.Since, d.Flags = "7.0.0", clusterChangeFlags
		d.Complexity = "O(N) where N is the total number of the slots between the start slot and end slot arguments."
		g := withoutParsing(grammar.Block("start-slot_end-slot", clusterNumber("start-slot"), clusterNumber("end-slot")).Multiple())
		return refused(d, g.WithArity(-3, "there may be any number of ranges"), errNoCluster)
	}
	perSlot := "O(N) where N is the total number of hash slot arguments"
	return []*Command{
		outsideCluster(Declaration{
			Name: "addslots", Since: "3.0.0", Complexity: perSlot,
			Summary: "Assign new hash slots to receiving node", Flags: clusterChangeFlags,
		}, slots()),
		ranges(Declaration{Name: "addslotsrange", Summary: "Assign new hash slots to receiving node"}),
		outsideCluster(Declaration{
			Name: "delslots", Since: "3.0.0", Complexity: perSlot,
			Summary: "Set hash slots as unbound in receiving node", Flags: clusterChangeFlags,
		}, slots()),
		ranges(Declaration{Name: "delslotsrange", Summary: "Set hash slots as unbound in receiving node"}),
		outsideCluster(Declaration{
			Name: "flushslots", Since: "3.0.0", Complexity: "O(1)",
			Summary: "Delete a node's own slots information", Flags: clusterChangeFlags,
		}),
		outsideCluster(Declaration{
			Name: "setslot", Since: "3.0.0", Complexity: "O(1)",
			Summary: "Bind a hash slot to a specific node", Flags: clusterChangeFlags,
		}, clusterNumber("slot"), grammar.OneOf("subcommand",
			clusterWord("node-id").After("IMPORTING"), clusterWord("node-id").After("MIGRATING"), clusterWord("node-id").After("NODE"),
			grammar.Token[*noParams]("STABLE", nil),
		)),
	}
}

// clusterNodeChanges are the subcommands that change who is in the cluster, and
// as what.
func clusterNodeChanges() []*Command {
	word := func(word string) grammar.Node { return grammar.Token[*noParams](word, nil) }
	return []*Command{
		outsideCluster(Declaration{
			Name: "bumpepoch", Since: "3.0.0", Complexity: "O(1)",
			Summary: "Advance the cluster config epoch", Flags: clusterChangeFlags, Tips: []string{nondeterministicOutput},
		}),
		outsideCluster(Declaration{
			Name: "failover", Since: "3.0.0", Complexity: "O(1)",
			Summary: "Forces a replica to perform a manual failover of its master.", Flags: clusterChangeFlags,
		}, grammar.Opt(grammar.OneOf("options", word("FORCE"), word("TAKEOVER")))),
		outsideCluster(Declaration{
			Name: "forget", Since: "3.0.0", Complexity: "O(1)",
			Summary: "Remove a node from the nodes table", Flags: clusterChangeFlags,
		}, clusterWord("node-id")),
		outsideCluster(Declaration{
			Name: "meet", Since: "3.0.0", Complexity: "O(1)",
			Summary: "Force a node cluster to handshake with another node", Flags: clusterChangeFlags,
			History: []Change{{"4.0.0", "Added the optional `cluster_bus_port` argument."}},
		}, clusterWord("ip"), clusterNumber("port"), grammar.Opt(clusterNumber("cluster_bus_port")).Since("4.0.0")),
		outsideCluster(Declaration{
			Name: "replicate", Since: "3.0.0", Complexity: "O(1)",
			Summary: "Reconfigure a node as a replica of the specified master node", Flags: clusterChangeFlags,
		}, clusterWord("node-id")),
		outsideCluster(Declaration{
			Name: "reset", Since: "3.0.0",
			Complexity: "O(N) where N is the number of known nodes. The command may execute a FLUSHALL as a side effect.",
			Summary:    "Reset a Redis Cluster node", Flags: Admin | NoScript | Stale,
		}, grammar.Opt(grammar.OneOf("hard_soft", word("HARD"), word("SOFT")))),
		outsideCluster(Declaration{
			Name: "saveconfig", Since: "3.0.0", Complexity: "O(1)",
			Summary: "Forces the node to save cluster state on disk", Flags: clusterChangeFlags,
		}),
		outsideCluster(Declaration{
			Name: "set-config-epoch", Since: "3.0.0", Complexity: "O(1)",
			Summary: "Set the configuration epoch in a new node", Flags: clusterChangeFlags,
		}, clusterNumber("config-epoch")),
	}
}
