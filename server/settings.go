// This file owns the typed settings that the network side reads on its hot
// path. It must not know directive names or texts; the table fills it.

package server

// Settings is one consistent set of values. It is never changed once
// published: CONFIG SET publishes another.
type Settings struct {
	// Port is the TCP port, 0 for none. Bind lists addresses; one that begins
	// with '-' may be missing on this host.
	Port int
	Bind []string
	// UnixSocket is a path, "" for none, with permission bits (0: as umask has it).
	UnixSocket           string
	UnixSocketPermission int
	// TCPBacklog is what listen(2) is asked for; the Go runtime takes the
	// system's maximum instead. TCPKeepAliveSeconds is 0 for none.
	TCPKeepAliveSeconds int
	MaxClients          int
	ProtectedMode       bool
	// RequirePass is "" when no password is needed.
	RequirePass string
	// IdleTimeoutSeconds closes idle normal clients; 0 never.
	IdleTimeoutSeconds int64
	// BulkMaxBytes is proto-max-bulk-len, QueryBufferMaxBytes
	// client-query-buffer-limit.
	BulkMaxBytes        int
	QueryBufferMaxBytes int64
	OutputLimits        [classCount]OutputLimit
	// IOThreads is the number of event loops; 0 uses a goroutine per connection.
	IOThreads int
}
