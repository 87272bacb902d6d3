// Command load measures Reminis and redis-server side by side, through the
// socket.
//
//	go run ./bench/load                                  all scenarios, Reminis built from this tree
//	go run ./bench/load -scenario set,get -pipeline 16,64 -rounds 9
//	go run ./bench/load -scenario memory -keys 10000000 -record
//	go run ./bench/load -ours ./reminis -peer /usr/bin/redis-server
//
// Servers are programs; each is started with the same redis.conf directives on a
// free port, with its data in a temporary directory. An address (host:port) is
// possible in place of ours for scenarios that need no settings of their own;
// everything in that server is deleted.
//
// # How it measures
//
// Both servers run at the same time, one of them idle. In each round both are
// measured one after the other, in the opposite order every second round, and
// the figure is the median of the rounds' ratios, with its range. So what
// disturbs the machine for longer than a round disturbs both.
//
// Throughput depends on who else is running; processor time per operation and
// bytes per key hardly do. Judge by those.
//
// # Decisions
//
// The load comes from one thread that waits on all its connections at once
// (loop_linux.go): requests are built beforehand, one write per pipeline, and
// replies are counted without being looked into. With pipelines it costs a
// fraction of what a server does, so the server is what is measured; at P=1 the
// kernel's work dominates on both sides.
//
// Rejected: redis-benchmark. Its threads quantise a run to 250 ms, and it builds
// requests while measuring, which makes it the bottleneck from P=16 on.
// Rejected: a goroutine per connection for Linux too (loop_portable.go has it for
// other systems): its scheduler wakes both cores and takes time from the server.
//
// A run is bounded by time, not by a number of operations: both servers are then
// measured through the same disturbances for equally long.
package main
