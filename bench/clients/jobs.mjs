// Measures BullMQ against two servers in turn:
//
//	node jobs.mjs OURS PEER [rounds]      two ports; their data is flushed
//
// Of each server, round by round: jobs added and processed per second, and the
// server's processor time for a run of one of BullMQ's scripts: addStandardJob,
// addPrioritizedJob, moveToFinished (which hands out the next job too). Prints the
// median of each figure and of the rounds' ratios, ours to the peer's.
import { readFileSync } from 'node:fs'
import Redis from 'ioredis'
import { Queue, Worker } from 'bullmq'

const ports = process.argv.slice(2, 4).map(Number)
const rounds = Number(process.argv[4] ?? 5)
const jobs = 4000
const figures = {}

// cpuSeconds is the processor time that a process has used, in steps of 10 ms.
function cpuSeconds (pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

async function measure (side, name, pid, count, work) {
  const cpu = cpuSeconds(pid)
  const began = performance.now()
  await work()
  note(`${name}: jobs/s`, side, count / (performance.now() - began) * 1000)
  note(`${name}: server CPU, us a job`, side, (cpuSeconds(pid) - cpu) / count * 1e6)
}

function note (name, side, value) {
  figures[name] ??= [[], []]
  figures[name][side].push(value)
}

// add adds jobs one command each, some hundred at a time.
async function add (queue, options) {
  const batch = 200
  for (let first = 0; first < jobs; first += batch) {
    await Promise.all(Array.from({ length: batch }, (_, i) => queue.add('job', { n: first + i }, options)))
  }
}

async function processAll (connection) {
  let done = 0
  let finish
  const finished = new Promise(resolve => { finish = resolve })
  const worker = new Worker('jobs', async job => job.data.n * 2, { connection, concurrency: 50 })
  worker.on('completed', () => { if (++done === jobs) finish() })
  await finished
  return worker
}

async function run (side) {
  const connection = { host: '127.0.0.1', port: ports[side], maxRetriesPerRequest: null }
  const redis = new Redis(connection)
  await redis.flushall()
  const pid = /process_id:(\d+)/.exec(await redis.info('server'))[1]
  const queue = new Queue('jobs', { connection })
  await queue.waitUntilReady()
  await measure(side, 'addStandardJob', pid, jobs, () => add(queue, {}))
  let worker
  await measure(side, 'moveToFinished', pid, jobs, async () => { worker = await processAll(connection) })
  await worker.close()
  await queue.obliterate({ force: true })
  await measure(side, 'addPrioritizedJob', pid, jobs, () => add(queue, { priority: 3 }))
  await queue.close()
  redis.disconnect()
}

function median (values) {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

// Clients warm up on both first.
for (let round = -1; round < rounds; round++) {
  for (const side of round % 2 ? [1, 0] : [0, 1]) await run(side)
  if (round < 0) for (const name of Object.keys(figures)) delete figures[name]
}
for (const [name, [ours, peer]] of Object.entries(figures)) {
  const ratios = ours.map((value, i) => value / peer[i])
  const spread = `[${Math.min(...ratios).toFixed(2)} .. ${Math.max(...ratios).toFixed(2)}]`
  console.log(name.padEnd(46), median(ours).toFixed(1).padStart(10), median(peer).toFixed(1).padStart(10), median(ratios).toFixed(2).padStart(7), spread)
}
process.exit(0)
