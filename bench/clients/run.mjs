// Runs clients and frameworks from npm, unmodified, against a server:
//
//	node run.mjs PORT [name…]
//
// Each check is one library doing what it is for. The exit status is 0 only if all
// passed.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'

const port = Number(process.argv[2])
const wanted = process.argv.slice(3)
const url = `redis://127.0.0.1:${port}`
const checks = {}

checks['ioredis'] = async () => {
  const { default: Redis } = await import('ioredis')
  const redis = new Redis(port)
  const other = new Redis(port)
  await redis.flushall()
  assert.equal(await redis.set('k', 'v', 'EX', 100), 'OK')
  assert.equal(await redis.get('k'), 'v')
  assert.deepEqual(await redis.pipeline().incr('n').incr('n').lpush('l', 'a', 'b').exec(), [[null, 1], [null, 2], [null, 2]])
  assert.deepEqual(await redis.multi().hset('h', { a: 1, b: 2 }).hgetall('h').exec(), [[null, 2], [null, { a: '1', b: '2' }]])
  redis.defineCommand('twice', { numberOfKeys: 1, lua: 'return redis.call("incrby", KEYS[1], ARGV[1] * 2)' })
  assert.equal(await redis.twice('n', 5), 12)
  const popped = other.blpop('queue', 5)
  await redis.rpush('queue', 'job')
  assert.deepEqual(await popped, ['queue', 'job'])
  await redis.zadd('z', 1, 'a', 2, 'b')
  assert.deepEqual(await redis.zrange('z', 0, -1, 'WITHSCORES'), ['a', '1', 'b', '2'])
  const id = await redis.xadd('s', '*', 'f', 'v')
  assert.deepEqual(await redis.xread('COUNT', 1, 'STREAMS', 's', '0'), [['s', [[id, ['f', 'v']]]]])
  const heard = new Promise(resolve => other.on('pmessage', (_, channel, message) => resolve([channel, message])))
  await other.psubscribe('news.*')
  await redis.publish('news.today', 'hello')
  assert.deepEqual(await heard, ['news.today', 'hello'])
  let seen = []
  for await (const keys of redis.scanStream({ match: '*', count: 2 })) seen.push(...keys)
  assert.deepEqual([...new Set(seen)].sort(), ['h', 'k', 'l', 'n', 's', 'z'])
  redis.disconnect()
  other.disconnect()
}

checks['redis (RESP3, client side caching)'] = async () => {
  const { createClient } = await import('redis')
  const client = createClient({ url, RESP: 3 })
  await client.connect()
  const other = client.duplicate()
  await other.connect()
  await client.flushAll()
  await client.hSet('h', { a: '1' })
  assert.deepEqual({ ...(await client.hGetAll('h')) }, { a: '1' })
  await client.zAdd('z', [{ score: 1.5, value: 'a' }, { score: 2, value: 'b' }])
  assert.deepEqual(await client.zRangeWithScores('z', 0, -1), [{ score: 1.5, value: 'a' }, { score: 2, value: 'b' }])
  assert.deepEqual([...(await client.sMembers('none'))], [])
  const taken = other.blPop('q', 5)
  await client.lPush('q', 'x')
  assert.deepEqual({ ...(await taken) }, { key: 'q', element: 'x' })
  assert.deepEqual(await client.multi().set('a', '1').get('a').exec(), ['OK', '1'])
  assert.equal(await client.eval('return ARGV[1]', { arguments: ['x'] }), 'x')
  const heard = new Promise(resolve => other.subscribe('c', resolve))
  await new Promise(resolve => setTimeout(resolve, 100))
  await client.publish('c', 'm')
  assert.equal(await heard, 'm')
  await client.quit()
  await other.quit()
  const caching = createClient({ url, RESP: 3, clientSideCache: { ttl: 0, maxEntries: 100 } })
  await caching.connect()
  const writer = createClient({ url })
  await writer.connect()
  await writer.set('cached', '1')
  assert.equal(await caching.get('cached'), '1')
  assert.equal(await caching.get('cached'), '1')
  await writer.set('cached', '2')
  await new Promise(resolve => setTimeout(resolve, 100))
  assert.equal(await caching.get('cached'), '2')
  await caching.quit()
  await writer.quit()
}

checks['bullmq'] = async () => {
  const { Queue, Worker, QueueEvents, FlowProducer } = await import('bullmq')
  const connection = { host: '127.0.0.1', port, maxRetriesPerRequest: null }
  const queue = new Queue('jobs', { connection })
  await queue.obliterate({ force: true })
  const events = new QueueEvents('jobs', { connection })
  await events.waitUntilReady()
  let failures = 0
  const worker = new Worker('jobs', async job => {
    if (job.name === 'flaky' && failures++ === 0) throw new Error('once')
    await job.updateProgress(50)
    return job.data.n * 2
  }, { connection, concurrency: 5 })
  const jobs = await queue.addBulk(Array.from({ length: 50 }, (_, n) => ({ name: 'double', data: { n } })))
  const results = await Promise.all(jobs.map(job => job.waitUntilFinished(events, 20000)))
  assert.deepEqual(results, Array.from({ length: 50 }, (_, n) => n * 2))
  const late = await queue.add('late', { n: 7 }, { delay: 300 })
  const flaky = await queue.add('flaky', { n: 8 }, { attempts: 3, backoff: { type: 'fixed', delay: 50 } })
  const urgent = await queue.add('urgent', { n: 9 }, { priority: 1 })
  assert.equal(await late.waitUntilFinished(events, 20000), 14)
  assert.equal(await flaky.waitUntilFinished(events, 20000), 16)
  assert.equal(await urgent.waitUntilFinished(events, 20000), 18)
  const flow = new FlowProducer({ connection })
  const tree = await flow.add({ name: 'parent', queueName: 'jobs', data: { n: 1 }, children: [{ name: 'child', queueName: 'jobs', data: { n: 2 } }] })
  assert.equal(await tree.job.waitUntilFinished(events, 20000), 2)
  assert.deepEqual(Object.values(await tree.job.getChildrenValues()), [4])
  await queue.upsertJobScheduler('every', { every: 200 }, { name: 'tick', data: { n: 1 } })
  await new Promise(resolve => setTimeout(resolve, 700))
  await queue.removeJobScheduler('every')
  const counts = await queue.getJobCounts('completed', 'failed')
  assert.ok(counts.completed >= 55, `completed ${counts.completed}`)
  assert.equal(counts.failed, 0)
  await worker.close()
  await events.close()
  await flow.close()
  await queue.close()
}

checks['redlock'] = async () => {
  const { default: Redis } = await import('ioredis')
  const { default: Redlock } = await import('redlock')
  const redis = new Redis(port)
  const lock = new Redlock([redis], { retryCount: 0 })
  const held = await lock.acquire(['resource'], 5000)
  await assert.rejects(lock.acquire(['resource'], 5000))
  const longer = await held.extend(5000)
  await longer.unlock()
  await (await lock.acquire(["resource"], 5000)).unlock()
  redis.disconnect()
}

checks['rate-limiter-flexible'] = async () => {
  const { default: Redis } = await import('ioredis')
  const { RateLimiterRedis } = await import('rate-limiter-flexible')
  const redis = new Redis(port, { enableOfflineQueue: true })
  const limiter = new RateLimiterRedis({ storeClient: redis, points: 3, duration: 5, keyPrefix: 'limit' })
  await limiter.delete('user')
  for (let left = 2; left >= 0; left--) assert.equal((await limiter.consume('user')).remainingPoints, left)
  await assert.rejects(async () => limiter.consume('user').catch(r => { throw new Error(String(r.remainingPoints)) }))
  redis.disconnect()
}

checks['connect-redis'] = async () => {
  const { createClient } = await import('redis')
  const { RedisStore } = await import('connect-redis')
  const { default: session } = await import('express-session')
  const client = createClient({ url })
  await client.connect()
  const store = new RedisStore({ client, prefix: 'sess:' })
  const call = (method, ...args) => new Promise((resolve, reject) => store[method](...args, (err, value) => err ? reject(err) : resolve(value)))
  await call('set', 'id', { cookie: new session.Cookie({ maxAge: 60000 }), user: 'ada' })
  assert.equal((await call('get', 'id')).user, 'ada')
  assert.equal(await call('length'), 1)
  assert.deepEqual(await call('ids'), ['id'])
  await call('destroy', 'id')
  assert.equal(await call('length'), 0)
  await client.quit()
}

checks['keyv'] = async () => {
  const { default: Keyv } = await import('keyv')
  const { default: KeyvRedis } = await import('@keyv/redis')
  const keyv = new Keyv({ store: new KeyvRedis(url), namespace: 'app' })
  await keyv.clear()
  await keyv.set('a', { b: 1 }, 60000)
  assert.deepEqual(await keyv.get('a'), { b: 1 })
  assert.equal(await keyv.delete('a'), true)
  assert.equal(await keyv.get('a'), undefined)
  await keyv.disconnect()
}

checks['socket.io adapter'] = async () => {
  const { Server } = await import('socket.io')
  const { createAdapter } = await import('@socket.io/redis-adapter')
  const { default: Redis } = await import('ioredis')
  const clients = []
  const servers = [0, 1].map(() => {
    const pub = new Redis(port), sub = pub.duplicate()
    clients.push(pub, sub)
    return new Server(createServer(), { adapter: createAdapter(pub, sub) })
  })
  await new Promise(resolve => setTimeout(resolve, 300))
  const heard = new Promise(resolve => servers[1].on('hello', resolve))
  servers[0].serverSideEmit('hello', 'world')
  assert.equal(await heard, 'world')
  assert.equal((await servers[0].fetchSockets()).length, 0)
  for (const client of clients) client.disconnect()
}

let failed = 0
for (const [name, check] of Object.entries(checks)) {
  if (wanted.length > 0 && !wanted.some(word => name.includes(word))) continue
  try {
    await Promise.race([check(), new Promise((_, reject) => setTimeout(() => reject(new Error('it takes longer than 60 s')), 60000).unref())])
    console.log(`ok   ${name}`)
  } catch (err) {
    failed++
    console.log(`FAIL ${name}: ${err.stack}`)
  }
}
process.exit(failed === 0 ? 0 : 1)
