// Package commands is what each command is and does: one declaration per
// command, its handler below it.
//
// A declaration (Declaration and its grammar) is the only place where a
// command's name, arguments, flags and reply are written. Arity, parsing, syntax
// errors, COMMAND INFO and DOCS, ACL categories, key positions, locks, the
// command reference and generated test input derive from it.
//
// The way of a command: Session.Execute finds it in the Table, admits it
// (existence, arity, authentication, MULTI), locks what its keys or its Lock
// say, parses its arguments into a params struct, and runs its handler in an
// engine transaction. The handler checks, then emits effects, and either writes
// one reply or returns an error, which the dispatcher turns into one. A command
// that may run long or read from disk is Offload: it runs on a worker while its
// session is parked. Of some commands only some lines are (MEM.GET … AT): a
// handler of those takes its own locks where none are held, and none inside EXEC.
// Other lines read so little that a worker would cost more (MEM.LOAD of an owner
// with a thousand records): they run at once (briefly).
//
// A blocking command that finds nothing returns a wait in the place of an error
// (blocking.go): its keys, its deadline, and what it answers when its time is over.
// The session is then blocked, and whoever changes one of the keys runs the same
// handler again, inside its own transaction; there, Tx.Woken is the key. Inside
// EXEC it does not wait.
//
// Handlers of data commands get a transaction, params and a reply writer, and
// nothing else: no session, no clock, no locks. Handlers on the session
// (CLIENT, CONFIG, EXEC) get the session.
//
// EXEC runs its queue in one transaction, which is one batch of the journal: it
// happens whole or not at all, also over a crash. Its locks are the union of
// what the queue and the watched keys need, or all shards when a command in it
// cannot say.
//
// # While the data is read
//
// Sessions exist before the data does (loading.go): clients wait for LOADING and INFO's
// loading:1, not for a port. Until EndLoading only commands with the flag Loading run.
// They leave the data alone, and what they bring about that depends on it is put off:
// room for maxmemory, the changes that CLIENT TRACKING is told, the libraries of
// functions.
//
// # Scripts
//
// A script is one transaction, as EXEC is. Its calls go through a session of its own
// (scriptRun) and through callInside, as those of EXEC do; what stands against them is
// admit's in scripting_run.go. A script whose text names its keys locks their shards,
// any other all (scripting_locks.go). One that may run long is run beside its driver
// (scripting_overdue.go); an EXEC that has one stalls meanwhile (scripting_exec.go). Who
// would wait for the locks of either is put off instead (engine's stall.go), so that a
// driver can always be told SCRIPT KILL. Libraries of functions are facets of the server, by their
// code; each state that runs their functions has loaded them by itself.
//
// # Rights
//
// What a user may do is package acl's; what a line touches is found here, in one
// place (rights.go), before a command runs, and again in EXEC. Keys and channels
// come from the grammar's specs. What an option names (SHARED scope) a command
// says itself (naming), for specs look for words, and a word may be somebody's
// tag. Of a command on records, an argument that cannot be a key is a scope: an
// owner, too. A denial of a record or scope is an event of the server's; alike
// ones within a minute are two (rights_audit.go). The options of a command need
// the rights that its flags say: MEM.FORGET SCOPE needs a pattern for writing.
//
// MEM.GRANT scope TO user widens what the user may read, never write, and with
// @memory's commands only; MEM.REVOKE scope FROM user ends exactly that grant. Who
// grants must be able to read the scope. A grant holds in all databases, as
// patterns do, and is to a name: it outlives the user. With FIELDS it is for lines
// that show records through the transaction's Lens and find them by nothing that
// is not shown (projecting): MEM.GET, MEM.MGET, MEM.RECALL without QUERY,
// VECTOR, FILTER and TAGS, and MEM.LOAD without QUERY and VECTOR, since whoever may search what he may not read finds it out word
// by word. Of the record such a line shows the granted members where they stand,
// kind, version, times and confidence; a text, which has no members, is null.
//
// # Memory records
//
// Where the contract of the MEM commands leaves a choice:
//
//   - MEM.SET replaces everything but kind, pin, schema and creation; a change of kind
//     begins with the new kind's default TTL. A deadline set by EXPIRE, EX and
//     their kin stays over later writes and does not slide.
//   - TIME is what the record's created and updated times say; an event's time,
//     and so AT, is always the server's, or a client could write into the past.
//   - A record that was forgotten or has expired begins again with version 1 when
//     it is written; MEM.ROLLBACK goes on with the version after its last.
//     VERSION n is the newest retained version of that number.
//   - A MEM.PATCH that changes nothing makes no version, no event and leaves no
//     ID. An ID stands for all of a command but ID, TIME and RETURN.
//   - MEM.FORGET SCOPE is one change for each owner in the scope, and its ID is
//     kept by each of them. Locking all owners of a product at once would stop
//     the server for as long as it has records.
//   - MEM.APPLY runs each command as the one that does it alone: upsert is MEM.SET,
//     patch MEM.PATCH … MERGE, append MEM.APPEND, delete MEM.FORGET. So one key may
//     be in it several times, and a command_id is the same change either way. What
//     an append's payload holds, if it is an array, are the items; anything else is
//     one. A delete of what is not there is unchanged and aborts nothing; a version
//     that does not stand aborts. The index of APPLYABORT counts from 0; its reason
//     has the code of the error, unless that is ERR. A member that is null is
//     absent, but for payload. BY, REASON, TIME and a deadline on the line are for
//     every command that does not say its own; IFVERSION is of one key, so only a
//     member. The line's ID is of all: its repetition gives every STATUS again,
//     duplicated, also of those commands that had an ID of their own. It leaves one
//     row, and one for each command that has a version. A command_id that was done
//     before is duplicated by itself, and the others happen. The right to write is
//     needed for the whole owner, since a line's JSON is no place to look for keys.
//   - One write leaves one event. MEM.AUDIT's operation change is not an event of
//     its own but stands for every event by which an older value was replaced.
//   - The scope * also shows the server's own events (FLUSHALL's reset).
//   - Cursors name a place (a key; a batch and how much of it was shown), so that
//     nothing is kept for them and they outlive restarts.
//   - MEM.RECALL over several owners compares shares of what each index could
//     score at most. It asks an index for few hits and for more while one not
//     seen could still be among the best, so that its result is exact. Only turns
//     and parts of texts (session, semantic) lend each other relevance. Pinned
//     records are preferred where a BUDGET is filled, and only there.
//   - A session is the segment behind the owner, as soon as a working or session
//     record is in it; MEM.SESSION OPEN makes one that has none yet, which counts
//     for two hours. Its last activity is that of its records, as TIME has it, and
//     falls back to that of what is left after a restart. CLOSE and MERGE leave
//     profiles and facts where they are. OPEN … REUSE changes nothing: a page that
//     is refreshed does not keep a session alive.
//   - A record's schema is named without a version and is the newest; it stays
//     until SCHEMA names another or NONE. The policy's SCHEMA is for records that
//     have none of their own. A TEXT is checked as a JSON string. A write is first
//     filled, then redacted, then checked: a schema describes what is stored.
//   - Reads of what stands migrate, reads of the past do not. Where a migration
//     fails, a read shows the record as it is stored, with the version it has, a
//     patch is refused, and MEM.SET may write it anew. A bulk migration keeps the
//     records' times, so that they grow no younger for recall.
//   - What was revoked is refused and hidden whether consent is required or not;
//     required, it is asked for profile and semantic records. KINDS may name any.
//     MEM.FORGET reaches what is hidden.
//   - Quotas are judged where a write makes an owner's records more, or larger,
//     than a policy of the key allows: an owner that is beyond its quota may still
//     shorten and remove. Bytes are those of the records with keys and metadata, as
//     they stand in memory; history does not count.
//   - AUDIT NONE keeps no event of the writes and reads of records; MEM.HISTORY
//     then does not know which operation made a version. Consent, policies,
//     schemas, erasures, denials and exports leave events in any case.
//   - A read that is audited is an event get of the record's key, with the version
//     that was read; a recall is one event recall for each owner that it searched,
//     with the scope as key, when the policy of that scope or of a record that was
//     found says so. They become events soon after: MEM.AUDIT, MEM.DEBUG and
//     MEM.STATS of an owner see all reads before them, but not inside EXEC.
//   - A QUERY and a VECTOR count alike, each as a share of the best candidate's;
//     who has no vector is judged by text alone, and what only the vector finds has
//     no share of the text. A record's recency halves in an hour (working), a day
//     (session), a month (semantic) or a year (profile), unless HALFLIFE or a policy
//     says otherwise. Of candidates that say the same the better one stays.
//   - FILTER's $ and @ are the value, of an item of a list the item; a text is a
//     JSON string. It sees what a reply may show, so not what is encrypted.
//   - A link ends with the record that it comes from, and leads nowhere once the
//     other one is forgotten, even if a record begins anew under its key. LINK says
//     1 when the link is new or has another weight. EXPAND takes the best TOPK as
//     hits; excludes takes out what stands behind, or is not found at all.
//   - AT of MEM.RECALL and MEM.LOAD builds the owner as it was, without working
//     records, which have no past, and links, so it does not go with EXPAND.
//   - MEM.LOAD sees its owner, and those that it shares, at one moment.
//   - MEM.LOAD spends its budget on the profile (pinned records, then by key), the
//     facts, then turns from the newest on. Its facts are of kind semantic; without
//     a query they are chosen from the 64 newest. Turns are the session's records of
//     kind session, and items of its lists; without SESSION there are none. A
//     session is new while it has no record.
//   - MEM.IMPORT writes the lines of an owner in one change, or none of them. A line
//     without history is a MEM.SET, with one every version of it in turn, with the
//     number, the times and the operation that it had. A version that no longer
//     stood passes consent and redaction but no schema and no quota, which are for
//     what stands, and has no deadline if that has passed. Times of events are
//     always this server's, so AT knows nothing from before the import. Over a
//     record that is here otherwise a history begins anew: that one is forgotten.
//     A list comes back as an array; the next MEM.APPEND makes it a list again.
//   - DUMP of a record is that of a string, its value, and carries the record as it
//     stands, without history, where a Redis does not look. RESTORE makes it a record
//     again, at version 1, under a key that may be one; over a key of another type it
//     is WRONGTYPE, with REPLACE too.
//   - MEM.DIFF's text is a JSON string; a version that never was makes it null.
//
// Rejected: MEM.ROLLBACK under the key's lock from the start, which would read
// the disk with a shard locked; it reads a view and looks again under the lock.
//
// # Snapshots
//
// SAVE and BGSAVE write a file in Redis's format: all plain keys, and the libraries of
// functions. With a store its keys are the rows of a checkpoint that is made first
// (snapshot_write.go); nobody waits for more than that checkpoint's end. FLUSHALL ends a
// snapshot that is being written, as in Redis. A Loader takes a file over, at a start or
// for DEBUG RELOAD, some keys in one change.
//
// Rejected: memory records in it, as strings that a Redis could read, or sealed for
// ourselves. Their owner's data would then be in a file that MEM.ERASE does not know,
// in the clear, or unreadable to whoever the file is for. They have BACKUP and
// MEM.EXPORT.
//
// Save points write files where somebody gave them: there may be a backup that copies
// the file. Rejected: to do so at the usual ones, too. The store has the same data, each
// file costs as much as all data is large, and a start would not look at it.
//
// Rejected: a consistent BGSAVE of a pure cache. It would need each change to keep what
// it replaces until that is written; who wants one moment there has SAVE.
//
// # Pub/sub
//
// A publisher hands a message to the subscribers' connections itself, through
// Peer.Push, as MONITOR does; the one queue in front of a connection's output is
// bounded by client-output-buffer-limit. The message is encoded once for each
// protocol. It is handed over under a lock of its channel, so that all subscribers
// of a channel see one order; there is no order between channels of different
// publishers, where Redis, being one thread, has some order.
//
// A session that listens takes what was pushed in front of each reply. So whoever
// knows the answer of a PUBLISH knows that a subscriber reads the message before
// the answer to anything it sends later, nothing is heard of a channel once
// UNSUBSCRIBE is answered, and a session's own message comes before its answer, all
// as in Redis. Inside EXEC, Redis 7.0 puts messages between the parts of EXEC's
// reply, which is not RESP3; here they follow the reply, as in Redis 7.2.
//
// Keyspace events are published by whoever commits, when its locks are released
// (engine.Event), so that they are heard before the command is answered. A
// session that listens to its own events reads them behind the answer; Redis puts
// most of them in front, and those of a transaction into EXEC's reply. A record
// tells of itself in class d (mem.set, mem.patch, mem.append, mem.forget,
// mem.expired) and, as any key, of its end and its deadline (del, expired, expire).
//
// Rejected: a goroutine or a channel for each subscriber, which costs memory for
// each and would still need the bounded queue; one lock for all channels, which
// all loops would wait for.
//
// # Other servers
//
// MIGRATE speaks to another server beside the loops and holds no lock meanwhile: what
// was sent is compared with what is there before it is deleted (migrate_move.go says
// how, and what else was thought of). CLUSTER, MODULE and the commands of replication
// answer as those of a Redis that is alone, so that clients which look find what they
// know.
//
// # Alternatives
//
// What commands ask of the process around them (configuration, other clients,
// figures, the store) are interfaces in core.go, which package server and the
// program satisfy: handlers never see sockets or files.
//
// Commands are timed with one reading of the clock each, shared by runs of fast
// ones; INFO, SLOWLOG and LATENCY are made of these times. What no log may show
// of a command line, its declaration says (Secret). Commands of Redis that are
// refused for now are declared as Unavailable, so that nothing else happens
// under their name.
//
// The rejected alternative is a hand-written parser per command with the facts
// about it in a separate table: measured in other servers, the same fact is
// then written in up to 21 places.
package commands
