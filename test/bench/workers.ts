import { setTimeout as pause } from 'node:timers/promises'
import { pollActivities } from '../../src/core/mirror/poll-activities.ts'
import { findAccounts } from '../../src/core/store/account-rows.ts'
import { openApp } from '../../src/program/app/app.ts'
import { findRedisBinary } from '../kit/binaries.ts'
import { readConfig } from '../kit/config.ts'
import { makeSilentLog } from '../kit/log.ts'
import { distPath, type Running, startNode } from '../kit/processes.ts'
import { openRedisServer } from '../kit/redis-server.ts'
import { memoryOf } from './process.ts'
import { type Bench, openBench, type Row, timed } from './rig.ts'

const RIDES = 600
const SECONDS = 5_400
const POLLS = 400

/** Measures how fast several daemons on this machine mirror, what room a ride takes, and what a quiet poll costs. */
export async function benchWorkers(): Promise<Row[]> {
  const rows = [await measurePolls()]
  const binary = findRedisBinary()
  if (!binary) return [...rows, { what: 'several daemons', value: 'no redis-server here' }]
  for (const workers of [1, 2, 4]) rows.push(...(await measureWorkers(binary, workers)))
  return rows
}

/** How fast so many daemons mirror one long history, all on this machine, with the service and the database beside them. */
async function measureWorkers(binary: string, workers: number): Promise<Row[]> {
  const bench = await openBench({ rides: RIDES, seconds: SECONDS, distinct: 20 })
  const redis = await openRedisServer(binary)
  const running: Running[] = []
  try {
    for (let worker = 0; worker < workers; worker++) {
      running.push(startNode([distPath('main.js'), 'start'], { env: { ...bench.env, REDIS_URL: redis.url } }))
    }
    const [first, last] = [await mirrored(bench, RIDES / 10), await mirrored(bench, (RIDES * 9) / 10)]
    const rate = (last.rides - first.rides) / ((last.at - first.at) / 1_000)
    const peaks = running.map(({ pid }) => memoryOf(pid)?.peakMb ?? Number.NaN)
    const what = `${workers} ${workers === 1 ? 'daemon' : 'daemons'} on this machine, rides of 5,400 samples, Redis`
    const rows: Row[] = [
      { what, value: `${rate.toFixed(0)} rides a second` },
      { what: 'the most memory that one of them held', value: `${Math.max(...peaks).toFixed(0)} MB` },
    ]
    return workers === 1 ? [...rows, ...(await measureRoom(bench))] : rows
  } finally {
    for (const each of running) await each.kill('SIGKILL')
    await redis.close()
    await bench.close()
  }
}

/** Bytes in Postgres for one ride, with what the indexes take. */
async function measureRoom(bench: Bench): Promise<Row[]> {
  const room = async (what: string, rule: string) => {
    const { rows } = await bench.client.query<{ bytes: number }>(
      `select sum(pg_total_relation_size(oid))::float8 / (select count(*) from training.activities
         where detail_state = 'mirrored') as bytes
       from pg_class where relkind = 'r' and relnamespace = 'training'::regnamespace and relname ${rule}`,
    )
    return { what, value: `${((rows[0]?.bytes ?? 0) / 1_000).toFixed(0)} kB` }
  }
  return [
    await room('room of a ride of 5,400 samples: the samples', `= 'samples'`),
    await room('its raw document, compressed', `= 'raw_documents'`),
    await room('everything else of it', `not in ('samples', 'raw_documents')`),
  ]
}

/** How long a poll takes that brings nothing new, four at a time as a daemon does them. */
async function measurePolls(): Promise<Row> {
  const bench = await openBench({ rides: 1, seconds: 60 })
  try {
    await bench.musette(['sync'])
    const app = await openApp(readConfig(bench.env), makeSilentLog(), { features: [] })
    const [account] = await app.store.read(findAccounts)
    if (!account) throw new Error('somebody is signed in')
    const polls = async () => {
      for (let poll = 0; poll < POLLS / 4; poll++) await pollActivities(app.mirror, { account })
    }
    await polls()
    const took = await timed(() => Promise.all([polls(), polls(), polls(), polls()]))
    await app.close()
    return {
      what: 'polls that bring nothing new, one process',
      value: `${(POLLS / (took / 1_000)).toFixed(0)} a second`,
    }
  } finally {
    await bench.close()
  }
}

async function mirrored(bench: Bench, least: number): Promise<{ rides: number; at: number }> {
  for (;;) {
    const { rows } = await bench.client.query<{ rides: number }>(
      `select count(*)::int as rides from training.activities where detail_state = 'mirrored'`,
    )
    const rides = rows[0]?.rides ?? 0
    if (rides >= least) return { rides, at: performance.now() }
    await pause(20)
  }
}
