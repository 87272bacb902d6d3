package main

// This file owns the command lines: one template per command, grouped by family.
// It must not know how replies are compared.

// family is a group of commands that a run can be narrowed to.
type family struct {
	name      string
	weight    int // how often its lines come, in relation to the others'
	templates []string
}

// families returns all families.
func families() []family { return append(dataFamilies(), sessionFamilies()...) }

// dataFamilies are those about what is stored.
func dataFamilies() []family {
	return []family{
		{"strings", 10, []string{
			"SET key value", "SET key value",
			"SET key value [NX|XX] [GET] [EX seconds|PX ms|EXAT unix|PXAT unixms|KEEPTTL]",
			"GET key", "GET key", "GETDEL key", "GETSET key value", "SETNX key value",
			"GETEX key [EX seconds|PX ms|EXAT unix|PXAT unixms|PERSIST]",
			"SETEX key seconds value", "PSETEX key ms value",
			"MSET (key value)...", "MSETNX (key value)...", "MGET key...",
			"APPEND key value", "STRLEN key", "GETRANGE key index index", "SUBSTR key index index",
			"SETRANGE key offset value",
			"INCR key", "DECR key", "INCRBY key int", "DECRBY key int", "INCRBYFLOAT key float",
		}},
		{"bits", 5, []string{
			"SETBIT key bitoffset bit", "GETBIT key bitoffset",
			"BITCOUNT key [index index [BYTE|BIT]]",
			"BITPOS key bit [index [index [BYTE|BIT]]]",
			"BITOP (AND|OR|XOR|NOT) key key...", "BITOP NOT key key",
			"BITFIELD key (GET encoding bitindex|SET encoding bitindex int|INCRBY encoding bitindex int|OVERFLOW (WRAP|SAT|FAIL|NOSUCH))...",
			"BITFIELD key OVERFLOW (WRAP|SAT|FAIL) INCRBY encoding bitindex int GET encoding bitindex",
			"BITFIELD_RO key (GET encoding bitindex)...", "BITFIELD_RO key SET encoding bitindex int",
			"SET key value",
		}},
		{"lcs", 1, []string{
			"LCS key key [LEN] [IDX] [MINMATCHLEN minmatch] [WITHMATCHLEN]",
			"LCS key key IDX [MINMATCHLEN minmatch] [WITHMATCHLEN]",
			"MSET key value key value",
		}},
		{"keys", 6, []string{
			"DEL key...", "UNLINK key...", "EXISTS key...", "TOUCH key...", "TYPE key", "TYPE key",
			"RENAME key key", "RENAMENX key key",
			"COPY key key [DB db] [REPLACE]", "COPY key key [REPLACE]", "MOVE key db",
			"RANDOMKEY", "KEYS pattern", "DBSIZE", "SET key value",
		}},
		{"expire", 6, []string{
			"EXPIRE key seconds [NX|XX|GT|LT]", "PEXPIRE key ms [NX|XX|GT|LT]",
			"EXPIREAT key unix [NX|XX|GT|LT]", "PEXPIREAT key unixms [NX|XX|GT|LT]",
			"EXPIRE key seconds [NX] [XX] [GT] [LT] [word]",
			"TTL key", "PTTL key", "EXPIRETIME key", "PEXPIRETIME key", "PERSIST key",
			"SET key value",
		}},
		{"hashes", 10, []string{
			"HSET key (field value)...", "HSET key (field value)...", "HMSET key (field value)...", "HSETNX key field value",
			"HSET key manyfields",
			"HGET key field", "HMGET key field...", "HGETALL key", "HKEYS key", "HVALS key", "HLEN key",
			"HDEL key field...", "HEXISTS key field", "HSTRLEN key field",
			"HINCRBY key field int", "HINCRBYFLOAT key field float",
			"HRANDFIELD key [count [WITHVALUES]]",
		}},
		{"sets", 10, []string{
			"SADD key member...", "SADD key member...", "SADD key small...", "SADD key manymembers", "SREM key member...",
			"SMOVE key key member", "SISMEMBER key member", "SMISMEMBER key member...", "SCARD key", "SMEMBERS key",
			"SRANDMEMBER key [count]", "SRANDMEMBER key count",
			"SINTER key...", "SUNION key...", "SDIFF key...", "SDIFF key key...",
			"SINTERSTORE key key...", "SUNIONSTORE key key...", "SDIFFSTORE key key...", "SDIFFSTORE key key key key",
			"SINTERCARD 2 key key [LIMIT small]", "SINTERCARD small key... [LIMIT small]",
		}},
		{"lists", 10, []string{
			"RPUSH key value...", "RPUSH key member...", "LPUSH key value...", "RPUSH key manymembers", "LPUSHX key value...", "RPUSHX key value...",
			"LPOP key [small]", "RPOP key [small]", "LLEN key", "LINDEX key index", "LRANGE key index index", "LRANGE key 0 -1",
			"LSET key index value", "LSET key index member", "LINSERT key (BEFORE|AFTER) member value", "LREM key small member", "LTRIM key index index", "LTRIM key 0 -2",
			"LPOS key member [RANK small] [COUNT small] [MAXLEN small]", "LMOVE key key (LEFT|RIGHT) (LEFT|RIGHT)", "RPOPLPUSH key key",
			"LMPOP 2 key key (LEFT|RIGHT) [COUNT small]", "LMPOP small key... (LEFT|RIGHT) [COUNT small]",
		}},
		{"sorts", 4, []string{
			"RPUSH key weight...", "RPUSH key small...", "RPUSH key member...", "SADD key small...", "SADD key member...", "MSET key weight key value",
			"HSET key field weight", "DEL key",
			"SORT key [BY sortpattern] [LIMIT small small] [GET sortpattern...] [ASC|DESC] [ALPHA] [STORE key]",
			"SORT_RO key [BY sortpattern] [LIMIT small small] [GET sortpattern] [ASC|DESC] [ALPHA]",
			"SORT key [ALPHA] [DESC]", "SORT key BY sortpattern GET sortpattern", "SORT key ALPHA STORE key",
		}},
		{"pops", 1, []string{
			"SPOP key 1000", "SPOP key 1000", "SPOP key 0", "SPOP key -1", "SPOP key word", "SPOP key 1 word",
		}},
		{"hyperloglogs", 4, []string{
			"PFADD key [value...]", "PFADD key value...", "PFADD key manymembers", "PFCOUNT key", "PFCOUNT key...",
			"PFMERGE key [key...]", "PFMERGE key key...", "PFDEBUG (DECODE|ENCODING|TODENSE|GETREG|word) key", "GET key",
		}},
		streamFamily(),
		sortedSetFamily(),
		geoFamily(),
	}
}

// sessionFamilies are those about transactions, iteration and the connection.
func sessionFamilies() []family {
	return []family{
		{"multi", 2, []string{
			"MULTI", "MULTI", "MULTI", "EXEC", "DISCARD", "WATCH key...", "WATCH key...", "UNWATCH",
		}},
		{"scan", 2, []string{
			"SCAN cursor [MATCH pattern] [COUNT scancount] [TYPE type]", "SCAN 0", "SCAN 0 COUNT 1000", "ZSCAN key cursor [MATCH pattern] [COUNT scancount]", "ZSCAN key 0",
			"SSCAN key cursor [MATCH pattern] [COUNT scancount]", "SSCAN key 0",
			"HSCAN key cursor [MATCH pattern] [COUNT scancount]", "HSCAN key 0", "SCAN cursor word",
		}},
		{"object", 2, []string{
			"OBJECT ENCODING key", "OBJECT ENCODING key", "OBJECT ENCODING key", "OBJECT REFCOUNT key",
			"OBJECT IDLETIME key", "OBJECT FREQ key", "OBJECT HELP", "OBJECT word [key]",
		}},
		{"dump", 2, []string{
			"DUMP key", "RESTORE key restorettl payload [REPLACE] [ABSTTL] [IDLETIME small] [FREQ small]",
			"RESTORE key 0 payload REPLACE",
		}},
		{"connection", 2, []string{
			"PING [value]", "ECHO value", "SELECT db", "SELECT 0", "TIME", "AUTH word [word]",
			"HELLO [protocol [AUTH (DEFAULT|word) word] [SETNAME name]]",
			"CLIENT ID", "CLIENT GETNAME", "CLIENT SETNAME name", "CLIENT INFO", "CLIENT LIST [TYPE (NORMAL|word)|ID clientid...]",
			"CLIENT NO-EVICT (ON|OFF|word)", "CLIENT KILL address", "CLIENT KILL (ID clientid|TYPE (PUBSUB|word)|ADDR address|SKIPME (YES|NO|word) ID clientid|word word)",
			"CLIENT word [word]", "CLIENT",
			"COMMAND COUNT", "COMMAND GETKEYS (GET key|MSET (key value)...|SET key|BITOP AND key key...|unknown key|PING)",
			"COMMAND INFO (GET|SET|HSET|MSET|EXPIRE|HGETALL|BITOP|SCAN|DEL|unknown)",
			"COMMAND word [word]", "CONFIG GET setting", "CONFIG SET word value", "CONFIG word", "INFO [section]",
			"unknown [value...]",
		}},
		{"rare", 1, []string{
			"FLUSHDB [SYNC|ASYNC|word]", "SWAPDB db db", "RESET", "QUIT", "SELECT 0", "SELECT 0", "DBSIZE",
		}},
	}
}
