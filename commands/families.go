package commands

// This file owns the list of families: the one place that a new family is added
// to.

// DefaultTable is every command of this server.
func DefaultTable() *Table {
	return NewTable(
		keyCommands(),
		stringCommands(),
		bitCommands(),
		hashCommands(),
		listCommands(),
		sortedSetCommands(),
		geoCommands(),
		setCommands(),
		hyperLogLogCommands(),
		streamCommands(),
		databaseCommands(),
		transactionCommands(),
		connectionCommands(),
		messagingCommands(),
		serverCommands(),
		replicationCommands(),
		clusterCommands(),
		scriptingCommands(),
		memoryCommands(),
	)
}
