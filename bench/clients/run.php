<?php
// Runs Debian's php-redis, unmodified, against a server:
//
//	php run.php PORT
//
// The exit status is 0 only if all passed.
function same($have, $want) {
    if ($have !== $want) {
        echo "FAIL php-redis: ", var_export($have, true), " is not ", var_export($want, true), "\n", (new Exception)->getTraceAsString(), "\n";
        exit(1);
    }
}

$r = new Redis();
$r->connect('127.0.0.1', (int)$argv[1]);
$r->select(5);
$r->flushDB();
same($r->set('k', 'v', ['nx', 'ex' => 100]), true);
same($r->get('k'), 'v');
same($r->multi()->incr('n')->hSet('h', 'a', '1')->lPush('l', 'x', 'y')->exec(), [1, 1, 2]);
same($r->pipeline()->sAdd('s', 'a')->zAdd('z', 1.5, 'm')->exec(), [1, 1]);
same($r->zRange('z', 0, -1, true), ['m' => 1.5]);
same($r->eval('return redis.call("incrby", KEYS[1], ARGV[1])', ['n', 5], 1), 6);
// A reliable queue as Laravel has it: reserve and release by scripts.
$pop = <<<LUA
local job = redis.call('lpop', KEYS[1])
if job ~= false then
    local reserved = cjson.decode(job)
    reserved['attempts'] = reserved['attempts'] + 1
    job = cjson.encode(reserved)
    redis.call('zadd', KEYS[2], ARGV[1], job)
    redis.call('lpop', KEYS[3])
end
return job
LUA;
$r->rPush('queues:default', json_encode(['id' => 'a', 'attempts' => 0]));
same(json_decode($r->eval($pop, ['queues:default', 'queues:default:reserved', 'queues:default:notify', 60], 3), true)['attempts'], 1);
same($r->zCard('queues:default:reserved'), 1);
$r->setOption(Redis::OPT_SCAN, Redis::SCAN_RETRY);
$found = [];
$cursor = null;
while (($keys = $r->scan($cursor, 'queues:*')) !== false) {
    $found = array_merge($found, $keys);
}
same($found, ['queues:default:reserved']);
ini_set('session.save_handler', 'redis');
ini_set('session.save_path', 'tcp://127.0.0.1:' . $argv[1] . '?database=5');
session_start();
$_SESSION['user'] = 'ada';
session_write_close();
same(count($r->keys('PHPREDIS_SESSION:*')), 1);
echo "ok   php-redis ", phpversion('redis'), "\n";
