package commands

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"reminis/commands/acl"
	"reminis/commands/geohash"
	"reminis/commands/grammar"
	"reminis/commands/lua"
	"reminis/commands/reply"
	"reminis/engine/memory"
)

// This file owns the texts of all errors that commands answer, byte for byte
// those of Redis 7.0.15 where Redis has them. It must not know who returns them.

// Error is an error for the client: its first word is a stable code.
type Error string

func (e Error) Error() string { return string(e) }

// The errors, in the order of precedence in which Redis's processCommand and the
// handlers find them.
const (
	ErrNoAuth      Error = "NOAUTH Authentication required."
	ErrWrongPass   Error = "WRONGPASS invalid username-password pair or user is disabled."
	ErrNoPassword  Error = "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"
	ErrSyntax      Error = "ERR syntax error"
	ErrNotInteger  Error = "ERR value is not an integer or out of range"
	ErrNotFloat    Error = "ERR value is not a valid float"
	ErrOutOfRange  Error = "ERR value is out of range"
	ErrNotPositive Error = "ERR value is out of range, must be positive"
	ErrHashInteger Error = "ERR hash value is not an integer"
	ErrHashFloat   Error = "ERR hash value is not a float"
	// errOutputLimit closes the client that it is the answer for; nobody reads it.
	errOutputLimit   Error = "ERR the reply exceeds the client's output buffer limit"
	ErrReplyTooLong  Error = "ERR the reply would exceed 512 MB"
	ErrNoSuchKey     Error = "ERR no such key"
	ErrOverflow      Error = "ERR increment or decrement would overflow"
	ErrFloatNaN      Error = "ERR increment would produce NaN or Infinity"
	ErrStringTooLong Error = "ERR string exceeds maximum allowed size (proto-max-bulk-len)"
	ErrOffset        Error = "ERR offset is out of range"
	ErrSameObject    Error = "ERR source and destination objects are the same"
	ErrDBIndex       Error = "ERR DB index is out of range"
	ErrInvalidCursor Error = "ERR invalid cursor"

	errSortBy      Error = "ERR BY option of SORT denied due to insufficient ACL permissions."
	errSortGet     Error = "ERR GET option of SORT denied due to insufficient ACL permissions."
	errSortScore   Error = "ERR One or more scores can't be converted into double"
	errIndexRange  Error = "ERR index out of range"
	errGeoRadius   Error = "ERR need numeric radius"
	errGeoNegative Error = "ERR radius cannot be negative"
	errGeoWidth    Error = "ERR need numeric width"
	errGeoHeight   Error = "ERR need numeric height"
	errGeoBox      Error = "ERR height or width cannot be negative"
	errGeoUnit     Error = "ERR unsupported unit provided. please use M, KM, FT, MI"
	errGeoMember   Error = "ERR could not decode requested zset member"
	errGeoCount    Error = "ERR COUNT must be > 0"
	errGeoAny      Error = "ERR the ANY argument requires COUNT argument"

	errScoreNaN    Error = "ERR resulting score is not a number (NaN)"
	errScoreRange  Error = "ERR min or max is not a float"
	errMemberRange Error = "ERR min or max not valid string range item"

	errBusyKey    Error = "BUSYKEY Target key name already exists."
	errInvalidTTL Error = "ERR Invalid TTL value, must be >= 0"
	errDumpFooter Error = "ERR DUMP payload version or checksum are wrong"
	errDumpFormat Error = "ERR Bad data format"
	errNotLFU     Error = "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust."
	errIsLFU      Error = "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust."

	errTimeoutFloat      Error = "ERR timeout is not a float or out of range"
	errTimeoutInteger    Error = "ERR timeout is not an integer or out of range"
	errTimeoutNegative   Error = "ERR timeout is negative"
	errRedirectTwice     Error = "ERR A client can only redirect to a single other client"
	errRedirectGone      Error = "ERR The client ID you want redirect to does not exist"
	errPrefixNoBroadcast Error = "ERR PREFIX option requires BCAST mode to be enabled"
	errBroadcastSwitch   Error = "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode."
	errOptBroadcast      Error = "ERR OPTIN and OPTOUT are not compatible with BCAST"
	errOptBoth           Error = "ERR You can't specify both OPTIN mode and OPTOUT mode"
	errOptSwitch         Error = "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode."
	errCachingMode       Error = "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled"
	errCachingYes        Error = "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode."
	errCachingNo         Error = "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode."
	errUnblocked         Error = "UNBLOCKED client unblocked via CLIENT UNBLOCK"

	ErrDecrOverflow     Error = "ERR decrement would overflow"
	ErrBitOffset        Error = "ERR bit offset is not an integer or out of range"
	ErrBitValue         Error = "ERR bit is not an integer or out of range"
	ErrBitPosBit        Error = "ERR The bit argument must be 1 or 0."
	ErrBitOpNot         Error = "ERR BITOP NOT must be called with a single source key."
	ErrBitFieldType     Error = "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is."
	ErrBitFieldOverflow Error = "ERR Invalid OVERFLOW type specified"
	ErrBitFieldReadOnly Error = "ERR BITFIELD_RO only supports the GET subcommand"
	ErrLCSType          Error = "ERR The specified keys must contain string values"
	ErrLCSLenAndIdx     Error = "ERR If you want both the length and indexes, please just use IDX."
	ErrLCSTooLong       Error = "ERR String too long for LCS"
	ErrLCSMemory        Error = "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len"

	errNotHLL          Error = "WRONGTYPE Key is not a valid HyperLogLog string value."
	errCorruptHLL      Error = "INVALIDOBJ Corrupted HLL object detected"
	errNoHLL           Error = "ERR The specified key does not exist"
	errNotSparse       Error = "ERR HLL encoding is not sparse"
	errStreamID        Error = "ERR Invalid stream ID specified as stream command argument"
	errIntervalStart   Error = "ERR invalid start ID for the interval"
	errIntervalEnd     Error = "ERR invalid end ID for the interval"
	errTrimTwice       Error = "ERR syntax error, MAXLEN and MINID options at the same time are not compatible"
	errTrimLength      Error = "ERR The MAXLEN argument must be >= 0."
	errTrimLimit       Error = "ERR The LIMIT argument must be >= 0."
	errTrimLimitAlone  Error = "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy"
	errTrimStrategy    Error = "ERR syntax error, XTRIM must be called with a trimming strategy"
	errTrimLimitExact  Error = "ERR syntax error, LIMIT cannot be used without the special ~ option"
	errEntryZero       Error = "ERR The ID specified in XADD must be greater than 0-0"
	errEntryOld        Error = "ERR The ID specified in XADD is equal or smaller than the target stream top item"
	errEntryTooLarge   Error = "ERR Elements are too large to be stored"
	errStreamExhausted Error = "ERR The stream has exhausted the last possible ID, unable to add more items"
	errAddedNegative   Error = "ERR entries_added must be positive"
	errSetIDDeleted    Error = "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id"
	errSetIDOld        Error = "ERR The ID specified in XSETID is smaller than the target stream top item"
	errSetIDAdded      Error = "ERR The entries_added specified in XSETID is smaller than the target stream length"
	errReadUnbalanced  Error = "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified."
	errReadGroup       Error = "ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead."
	errReadNoAck       Error = "ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead."
	errReadNoGroup     Error = "ERR Missing GROUP option for XREADGROUP"
	errReadLast        Error = "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID would just return an empty result set."
	errReadNew         Error = "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option."
	errStreamGone      Error = "UNBLOCKED the stream key no longer exists"
	errGroupGone       Error = "NOGROUP the consumer group this client was blocked on no longer exists"
	errGroupNoKey      Error = "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically."
	errEntriesRead     Error = "ERR value for ENTRIESREAD must be positive or -1"
	errBusyGroup       Error = "BUSYGROUP Consumer Group name already exists"
	errClaimCount      Error = "ERR COUNT must be > 0"
	errClaimMemory     Error = "ERR Insufficient memory, failed allocating transient memory, COUNT too high."

	errClientName     Error = "ERR Client names cannot contain spaces, newlines or special characters."
	errNoSuchClient   Error = "ERR No such client"
	errHelloNoAuth    Error = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time"
	errDebugDisabled  Error = "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can run it from a local connection, otherwise you need to set this option in the configuration file, and then restart the server."
	errProtocolType   Error = "ERR Wrong protocol type name. Please use one of the following: string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false"
	errResp2          Error = "ERR RESP2 is not supported by this command"
	errInvalidCommand Error = "ERR Invalid command specified"
	errNoKeyArguments Error = "ERR The command has no key arguments"
	errKeysArity      Error = "ERR Invalid number of arguments specified for command"
	errKeysArguments  Error = "ERR Invalid arguments specified for command"

	errSaveUsers   Error = "ERR There was an error trying to save the ACLs. Please check the server logs for more information"
	errDefaultUser Error = "ERR The 'default' user cannot be removed"
	errNoACLFile   Error = "ERR This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in order to store users in the Redis configuration."

	errMonitorInMulti Error = "ERR MONITOR isn't allowed for DENY BLOCKING client"

	errNoShutdown       Error = "ERR No shutdown in progress."
	errNoCluster        Error = "ERR This instance has cluster support disabled"
	errModulesForbidden Error = "ERR MODULE command not allowed. If the enable-module-command option is set to \"local\", you can run it from a local connection, otherwise you need to set this option in the configuration file, and then restart the server."
	errModuleLoad       Error = "ERR Error loading the extension. Please check the server logs."
	errModuleUnload     Error = "ERR Error unloading module: no such module with that name"
	errMigrateKey       Error = "ERR When using MIGRATE KEYS option, the key argument must be set to the empty string"
	errMigrateConnect   Error = "IOERR error or timeout connecting to the client"
	errMigrateWrite     Error = "IOERR error or timeout writing to target instance"
	errMigrateRead      Error = "IOERR error or timeout reading to target instance"
	errNoReplication    Error = "ERR replication is not supported yet"
	errFailoverReplicas Error = "ERR FAILOVER requires connected replicas."
	errFailoverNone     Error = "ERR No failover in progress."
	errPrimaryPort      Error = "ERR Invalid master port"
	errNotFlag          Error = "ERR value is out of range, value must between 0 and 1"
	errUnanswered       Error = "ERR this option is not answered, so it cannot be inside MULTI or a script"

	errShutdown   Error = "ERR Errors trying to SHUTDOWN. Check logs."
	errSaving     Error = "ERR Background save already in progress"
	errNoSnapshot Error = "ERR this server has no file for snapshots (directive dbfilename)"
	errRewriting  Error = "ERR Background append only file rewriting already in progress"

	errReloadOption  Error = "ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options."
	errReloadFile    Error = "ERR Error trying to load the RDB dump, check server logs."
	errReloadSave    Error = "ERR Error trying to save the RDB dump, check server logs."
	errReloadRecords Error = "ERR DEBUG RELOAD from a snapshot would lose memory records, which it does not have"

	errNoStore Error = "ERR this server keeps nothing on disk (appendonly no, no save points)"

	ErrNoHistory    Error = "NOHISTORY a working record has no history"
	ErrNoVersion    Error = "ERR no such version"
	ErrNoOwner      Error = "ERR no such owner"
	ErrDebugRecords Error = "ERR the owner has more than 10000 records, limit mem-debug-records; MEM.EXPORT shows them all"
	ErrMergeSelf    Error = "ERR a session cannot be merged into itself"
	ErrVersionGone  Error = "ERR the version that this command id made is no longer retained"
	ErrTextPatch    Error = "ERR the value is text, a patch needs JSON"
	ErrTextPath     Error = "ERR the value is text, a path needs JSON"
	ErrValidity     Error = "ERR a record's validity must begin before it ends"
	ErrConflict     Error = "CONFLICT what stands is newer than this change"

	ErrSupersedesSelf    Error = "ERR a record cannot supersede itself"
	ErrSupersedesOwner   Error = "ERR a record can supersede only one of its owner's"
	ErrSupersedesMissing Error = "ERR there is no record to supersede"
	ErrSupersedesNever   Error = "ERR the validity of the record to supersede begins no earlier than that of this one"

	ErrMaxLen        Error = "ERR MAXLEN is not from 1 on"
	ErrFormat        Error = "ERR FORMAT '{argument}' is not known"
	ErrForgetVersion Error = "ERR IFVERSION needs exactly one key"
	ErrForgetRecord  Error = "ERR RETURN RECORD has nothing to show after MEM.FORGET"
	ErrApplyVersion  Error = "ERR IFVERSION is of one key; MEM.APPLY takes it as the member ifversion of a command"
	ErrApplyReturn   Error = "ERR MEM.APPLY replies with an array of STATUS, RETURN takes nothing else"
	ErrApplyOwner    Error = "ERR the key is not one of the owner's"
	ErrRollbackRace  Error = "ERR the key kept changing while its history was read"
	ErrImportLine    Error = "ERR the line is not one that MEM.EXPORT gave"
	ErrVerifyAlone   Error = "ERR VERIFY takes no other option"
	ErrTimelineOnly  Error = "ERR TZ needs FORMAT TIMELINE"
	ErrDiffTimeline  Error = "ERR WITHDIFF does not go with FORMAT TIMELINE"
	ErrExplainPrompt Error = "ERR EXPLAIN does not go with FORMAT PROMPT"
	ErrNoSession     Error = "ERR no such session"
	ErrExpand        Error = "ERR EXPAND is not from 1 to 3, limit mem-recall-expand"
	ErrExpandAt      Error = "ERR EXPAND does not go with AT: links have no past"
	ErrLoadTurns     Error = "ERR TURNS is not from 0 to 1000, limit mem-load-turns"
	ErrLoadTopK      Error = "ERR TOPK is not from 0 to 1000, limit mem-recall-topk"
	ErrLinkOwner     Error = "ERR a link leads to a record of the same owner"
	ErrLinkSelf      Error = "ERR a record cannot be linked to itself"
	ErrLinkWorking   Error = "ERR a working record has no links"
	ErrLinkWeight    Error = "ERR WEIGHT is a number from 0 to 1"
	ErrSchemaVersion Error = "ERR a schema's version is a number from 1"
	ErrWeights       Error = "ERR WEIGHTS are three numbers from 0, not all 0"

	errGrantUser Error = "ERR a user is granted by a name without spaces"
	errGrantPast Error = "ERR UNTIL has passed already"

	ErrNestedMulti    Error = "ERR MULTI calls can not be nested"
	ErrNoMulti        Error = "ERR Command not allowed inside a transaction"
	ErrExecNoMulti    Error = "ERR EXEC without MULTI"
	ErrDiscardNoMulti Error = "ERR DISCARD without MULTI"
	ErrWatchInMulti   Error = "ERR WATCH inside MULTI is not allowed"
	ErrExecAbort      Error = "EXECABORT Transaction discarded because of previous errors."
	ErrOOM            Error = "OOM command not allowed when used memory > 'maxmemory'."
	ErrLoading        Error = "LOADING Redis is loading the dataset in memory"
)

func errRewriteAll(err error) error {
	return Error("ERR CONFIG-REWRITE-FORCE-ALL failed: " + err.Error())
}

// The errors of rename-command, which are for the configuration.
const (
	ErrRenameUnknown Error = "No such command in rename-command"
	ErrRenameTaken   Error = "Target command name already exists"
)

// The errors of scripts. Those that a script gets from a command that does not run
// have no code of their own in Redis (script.c scriptCall).
const (
	errNoScript          Error = "NOSCRIPT No matching script. Please use EVAL."
	errNoDebugger        Error = "ERR this server has no debugger for scripts"
	errShebang           Error = "ERR Invalid script shebang"
	errShebangEngine     Error = "ERR Invalid engine in script shebang"
	errScriptCommand     Error = "ERR Unknown Redis command called from script"
	errScriptArity       Error = "ERR Wrong number of args calling Redis command from script"
	errScriptRefused     Error = "ERR This Redis command is not allowed from script"
	errScriptReadOnly    Error = "ERR Write commands are not allowed from read-only scripts."
	errScriptWriteFlag   Error = "ERR Can not execute a script with write flag using *_ro command."
	errNoReplicas        Error = "NOREPLICAS Not enough good replicas to write."
	errScriptOOM         Error = "OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'"
	errScriptDenied            = "ERR The user executing the script can't "
	errScriptBeyondLocks Error = "ERR the script reached a key that its text does not name; it was stopped"
)

// The errors of functions (functions.c, function_lua.c).
const (
	errNoFunction         Error = "ERR Function not found"
	errNoFunctions        Error = "ERR No functions registered"
	errNoLibrary          Error = "ERR Library not found"
	errLibraryLine        Error = "ERR Missing library metadata"
	errLibraryLineInvalid Error = "ERR Invalid library metadata"
	errLibraryNameTwice   Error = "ERR Invalid metadata value, name argument was given multiple times"
	errLibraryUnnamed     Error = "ERR Library name was not given"
	errDumpNoFunction     Error = "ERR given type is not a function"
	errDumpFunctions      Error = "ERR failed loading the given functions payload"
)

func errLibraryValue(word []byte) error {
	return Error("ERR Invalid metadata value given: " + string(word))
}

func errEngineNotFound(name []byte) error {
	return Error("ERR Engine '" + string(name) + "' not found")
}

func errLibraryExists(name string) error { return Error("ERR Library '" + name + "' already exists") }

func errRestoreExists(name string) error { return Error("ERR Library " + name + " already exists") }

func errFunctionExists(name string) error { return Error("ERR Function " + name + " already exists") }

// The errors of what runs too long (script.c scriptKill, server.c).
const (
	errBusyScript   Error = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
	errBusyFunction Error = "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE."
	errNotBusy      Error = "NOTBUSY No scripts in execution right now."
	errPutOff       Error = "ERR the command is executed again later" // nobody reads it
	errUnkillable   Error = "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command."

	scriptKilledText = "Script killed by user with SCRIPT KILL..."
)

func errCompileScript(cause error) error {
	return Error("ERR Error compiling script (new function): " + cause.Error())
}

func errShebangOther(engine []byte) error {
	return Error("ERR Unexpected engine in script shebang: " + string(engine))
}

func errShebangOption(word []byte) error {
	return Error("ERR Unknown lua shebang option: " + string(word))
}

func errShebangFlag(word string) error {
	return Error("ERR Unexpected flag in script shebang: " + word)
}

// errDeniedScript says what the user of a script may not do (acl.c
// getAclErrorMessage).
func errDeniedScript(denial acl.Denial) error {
	switch denial {
	case acl.DeniedKey:
		return Error(errScriptDenied + "access at least one of the keys mentioned in the command arguments")
	case acl.DeniedChannel:
		return Error(errScriptDenied + "publish to the channel mentioned in the command")
	case acl.DeniedScope:
		return Error(errScriptDenied + "access all of one of the scopes mentioned in the command arguments")
	}
	return Error(errScriptDenied + "run this command or subcommand")
}

// errScript is the error that ended a script: where, if that is known (script_lua.c
// luaCallFunction).
func errScript(failed *lua.Error, name string) Error {
	if failed.Line == 0 {
		return Error(failed.Text)
	}
	return Error(fmt.Sprintf("%s script: %s, on %s:%d.", failed.Text, name, failed.Source, failed.Line))
}

// errUnknownCommand quotes the arguments as Redis does: at most 128 bytes of
// each and in all (server.c processCommand).
func errUnknownCommand(argv [][]byte) error {
	var args strings.Builder
	for _, a := range argv[1:] {
		if args.Len() >= 128 {
			break
		}
		a = a[:min(len(a), 128-args.Len())]
		fmt.Fprintf(&args, "'%s' ", upToNul(a))
	}
	name := argv[0]
	return Error(fmt.Sprintf("ERR unknown command '%s', with args beginning with: %s", upToNul(name[:min(len(name), 128)]), args.String()))
}

// upToNul is an argument as C's %s prints it.
func upToNul(a []byte) []byte {
	for i, c := range a {
		if c == 0 {
			return a[:i]
		}
	}
	return a
}

func errUnknownSubcommand(c *Command, word []byte) error {
	return Error(fmt.Sprintf("ERR unknown subcommand '%s'. Try %s HELP.", upToNul(word[:min(len(word), 128)]), strings.ToUpper(c.Name)))
}

// errPFDebug names what is no subcommand of PFDEBUG.
func errPFDebug(word []byte) error {
	return Error("ERR Unknown PFDEBUG subcommand '" + string(upToNul(word)) + "'")
}

// errSelfTest says what PFSELFTEST has found.
func errSelfTest(err error) error { return Error("TESTFAILED " + err.Error()) }

// errHelloOption names the word of HELLO that is none.
func errHelloOption(word []byte) error {
	return Error("ERR Syntax error in HELLO option '" + string(upToNul(word)) + "'")
}

func errACLCategory(word []byte) error {
	return Error("ERR Unknown category '" + string(upToNul(word[:min(len(word), 128)])) + "'")
}

// errDenied says what the user may not do with c (server.c processCommand).
func errDenied(denial acl.Denial, c *Command) error {
	switch denial {
	case acl.DeniedKey:
		return Error("NOPERM this user has no permissions to access one of the keys used as arguments")
	case acl.DeniedChannel:
		return Error("NOPERM this user has no permissions to access one of the channels used as arguments")
	case acl.DeniedScope:
		return Error("NOPERM this user has no permissions to access all of one of the scopes used as arguments")
	}
	return Error("NOPERM this user has no permissions to run the '" + c.FullName() + "' command")
}

// errDeniedNow says so of a command that was allowed when it was queued (multi.c
// execCommand).
func errDeniedNow(denial acl.Denial) error {
	reason := "no permission to execute the command or subcommand"
	switch denial {
	case acl.DeniedKey:
		reason = "no permission to touch the specified keys"
	case acl.DeniedChannel:
		reason = "no permission to access one of the channels used as arguments"
	case acl.DeniedScope:
		reason = "no permission to access all of one of the scopes used as arguments"
	}
	return Error("NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This command is no longer allowed for the following reason: " + reason)
}

// deniedText is what ACL DRYRUN answers of c for a user who may not run it with
// object.
func deniedText(denial acl.Denial, c *Command, object []byte) string {
	const start = "This user has no permissions to "
	if denial == acl.DeniedCommand {
		return start + "run the '" + c.FullName() + "' command"
	}
	return start + "access the '" + string(upToNul(object)) + "' " + denial.String()
}

func errNoSuchUser(name []byte) error {
	return Error("ERR No such user '" + string(upToNul(name)) + "'")
}

func errUserNotFound(name []byte) error {
	return Error("ERR User '" + string(upToNul(name)) + "' not found")
}

func errCommandNotFound(name []byte) error {
	return Error("ERR Command '" + string(upToNul(name)) + "' not found")
}

// errUserRules is an error of package acl, or of the file of users.
func errUserRules(err error) error { return Error("ERR " + err.Error()) }

func errClientAttribute(name string) error {
	return Error("ERR " + name + " cannot contain spaces, newlines or special characters.")
}

func errPrefixKnown(added, known string) error {
	return Error(fmt.Sprintf("ERR Prefix '%s' overlaps with an existing prefix '%s'. Prefixes for a single client must not overlap.", added, known))
}

func errPrefixTwice(one, other string) error {
	return Error(fmt.Sprintf("ERR Prefix '%s' overlaps with another provided prefix '%s'. Prefixes for a single client must not overlap.", one, other))
}

// errUsage is the answer of containers that parse their subcommands themselves
// (networking.c addReplySubcommandSyntaxError).
func errUsage(c string, word []byte) error {
	return Error(fmt.Sprintf("ERR unknown subcommand or wrong number of arguments for '%s'. Try %s HELP.", upToNul(word[:min(len(word), 128)]), c))
}

// errSubcommand is errUsage of the subcommand that runs: its handler does not know
// the word as it was typed.
const errSubcommand Error = "ERR unknown subcommand or wrong number of arguments"

func errNoGroup(group, key []byte) error {
	return Error(fmt.Sprintf("NOGROUP No such consumer group '%s' for key name '%s'", upToNul(group), upToNul(key)))
}

func errNoKeyOrGroup(key, group []byte) error {
	return Error(fmt.Sprintf("NOGROUP No such key '%s' or consumer group '%s'", upToNul(key), upToNul(group)))
}

func errNoReadGroup(key, group []byte) error {
	return Error(errNoKeyOrGroup(key, group).Error() + " in XREADGROUP with GROUP option")
}

// errClaimOption names the word of XCLAIM that is no option.
func errClaimOption(word []byte) *grammar.Error {
	return grammar.Fail(grammar.Other, "ERR Unrecognized XCLAIM option '"+string(word)+"'")
}

// errSubscribed is the error of what a subscribed client may not say in RESP2
// (server.c processCommand).
func errSubscribed(c *Command) error {
	return Error("ERR Can't execute '" + c.FullName() + "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context")
}

// The errors of schemas name a version as name@version.

func errSchemaExists(label string) error {
	return Error("ERR schema " + label + " exists and is another one; versions do not change")
}

func errSchemaOlder(label, newest string) error {
	return Error("ERR schema " + label + " is older than " + newest + "; versions ascend")
}

func errSchemaBetween(label string) error {
	return Error("ERR schema " + label + " is between others, values pass through it; only the oldest and the newest version can go")
}

func errNoSchema(name []byte) error {
	return Error("ERR schema " + string(memory.Preview(nil, name, 64)) + " does not exist")
}

// errVersionStands is why a command does not happen that named a version, 0 for
// none, when another stands.
func errVersionStands(stands, named uint64, exists bool) error {
	if !exists {
		return Error(fmt.Sprintf("ERR there is no such record, ifversion is %d", named))
	}
	return Error(fmt.Sprintf("ERR version %d stands, ifversion is %d", stands, named))
}

// errNoConsent is why a record of an owner is not written.
func errNoConsent(owner []byte, kind memory.Kind, state memory.ConsentState) error {
	what := "has not consented to "
	if state == memory.ConsentRevoked {
		what = "has withdrawn consent to "
	}
	return Error("NOCONSENT " + string(owner) + " " + what + kind.String() + " records")
}

func errArity(c *Command) error {
	return Error("ERR wrong number of arguments for '" + c.FullName() + "' command")
}

// errExpireTime is the error for a deadline that cannot be; it names the command
// that asked for it.
func errExpireTime() error {
	return grammar.Fail(grammar.Other, "invalid expire time in '{command}' command")
}

// fromGrammar turns a parse error into the client's text.
func fromGrammar(c *Command, err *grammar.Error, argv [][]byte) Error {
	if text := err.Format(c.FullName(), argv); text != "" {
		if code, _, ok := strings.Cut(text, " "); ok && code == strings.ToUpper(code) && len(code) > 2 {
			return Error(text)
		}
		return Error("ERR " + text)
	}
	switch err.Kind {
	case grammar.Arity:
		return Error("ERR wrong number of arguments for '" + c.FullName() + "' command")
	case grammar.NotInteger:
		return ErrNotInteger
	case grammar.NotFloat:
		return ErrNotFloat
	case grammar.OutOfRange:
		return Error(fmt.Sprintf("ERR value is out of range, value must between %d and %d", err.Min, err.Max))
	case grammar.NotPositive:
		return ErrNotPositive
	}
	return ErrSyntax
}

// errText is what the client reads of err: errors without a code get ERR.
func errText(c *Command, err error, argv [][]byte) string {
	var parse *grammar.Error
	if errors.As(err, &parse) {
		return string(fromGrammar(c, parse, argv))
	}
	return err.Error()
}

// errExecAborted is why EXEC did not run its queue.
func errExecAborted(cause error) error {
	return Error("EXECABORT Transaction discarded because of: " + strings.TrimPrefix(cause.Error(), "ERR "))
}

// errGeoPoint names a point that is out of range (geo.c extractLongLatOrReply).
func errGeoPoint(p geohash.Point) error {
	number := func(x float64) string {
		if math.IsInf(x, 0) {
			return string(reply.AppendDouble(nil, x))
		}
		return strconv.FormatFloat(x, 'f', 6, 64)
	}
	return Error("ERR invalid longitude,latitude pair " + number(p.Longitude) + "," + number(p.Latitude))
}

// errGeoStore is why a search that stores cannot show more than members.
func errGeoStore(what string) error {
	return Error("ERR " + what + " is not compatible with WITHDIST, WITHHASH and WITHCOORD options")
}

// errReadBlock is why a script cannot wait for a stream (t_stream.c xreadCommand).
func errReadBlock(word []byte) error {
	return Error("ERR " + string(upToNul(word)) + " command is not allowed with BLOCK option from scripts")
}

// errGeoOneOf is what a search says once. Redis ends it with the command's name as
// it was given (geo.c georadiusGeneric), which the session knows.
type errGeoOneOf string

func (what errGeoOneOf) Error() string { return string(what.by(nil)) }

func (what errGeoOneOf) by(name []byte) Error {
	return Error("ERR exactly one of " + string(what) + " can be specified for " + string(name))
}

func errReplConfOption(option string) Error {
	return Error("ERR Unrecognized REPLCONF option: " + option)
}

func errReplConfFilter(word string) Error {
	return Error("ERR Unsupported rdb-filter-only option: " + word)
}

func errNoSamples(event string) Error {
	return Error("ERR No samples available for event '" + event + "'")
}

func errTarget(line string) Error { return Error("ERR Target instance replied with error: " + line) }
