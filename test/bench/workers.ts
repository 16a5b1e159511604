import { setTimeout as pause } from 'node:timers/promises'
import { pollActivities } from '../../src/core/mirror/poll-activities.ts'
import { findAccounts } from '../../src/core/store/account-rows.ts'
import type { ReleaseStack } from '../../src/kit/release-stack.ts'
import { openApp } from '../../src/program/app/app.ts'
import { findRedisBinary } from '../kit/binaries.ts'
import { readConfig } from '../kit/config.ts'
import { makeSilentLog } from '../kit/log.ts'
import { distPath, startNode } from '../kit/processes.ts'
import { memoryOf } from './process.ts'
import { type Bench, openBench, openRedis, type Row, timed, within } from './rig.ts'

const RIDES = 600
const SECONDS = 5_400
const POLLS = 400

/** Measures how fast several daemons on this machine mirror, what room a ride takes, and what a quiet poll costs. */
export async function benchWorkers(): Promise<Row[]> {
  const rows = [await within(measurePolls)]
  if (!findRedisBinary()) return [...rows, ['several daemons', 'no redis-server here']]
  for (const workers of [1, 2, 4]) rows.push(...(await within((release) => measureWorkers(release, workers))))
  return rows
}

/** How fast so many daemons mirror one long history, all on this machine, with the service and the database beside them. */
async function measureWorkers(release: ReleaseStack, workers: number): Promise<Row[]> {
  const bench = await openBench(release, { rides: RIDES, seconds: SECONDS, distinct: 20 })
  const redis = await openRedis(release)
  const env = { ...bench.env, REDIS_URL: redis?.url ?? '' }
  const running = Array.from({ length: workers }, () => startNode([distPath('main.js'), 'start'], { env }))
  release.defer('daemons', () => Promise.all(running.map((daemon) => daemon.kill('SIGKILL'))))
  const [first, last] = [await mirrored(bench, RIDES / 10), await mirrored(bench, (RIDES * 9) / 10)]
  const rate = (last.rides - first.rides) / ((last.at - first.at) / 1_000)
  const peaks = running.map(({ pid }) => memoryOf(pid)?.peakMb ?? Number.NaN)
  const what = `${workers} ${workers === 1 ? 'daemon' : 'daemons'} on this machine, rides of 5,400 samples, Redis`
  const rows: Row[] = [
    [what, `${rate.toFixed(0)} rides a second`],
    ['the most memory that one of them held', `${Math.max(...peaks).toFixed(0)} MB`],
  ]
  return workers === 1 ? [...rows, ...(await measureRoom(bench))] : rows
}

/** Bytes in Postgres for one ride, with what the indexes take. */
async function measureRoom(bench: Bench): Promise<Row[]> {
  const room = async (what: string, rule: string): Promise<Row> => {
    const { rows } = await bench.client.query<{ bytes: number }>(
      `select sum(pg_total_relation_size(oid))::float8 / (select count(*) from training.activities
         where detail_state = 'mirrored') as bytes
       from pg_class where relkind = 'r' and relnamespace = 'training'::regnamespace and relname ${rule}`,
    )
    return [what, `${((rows[0]?.bytes ?? 0) / 1_000).toFixed(0)} kB`]
  }
  return [
    await room('room of a ride of 5,400 samples: the samples', `= 'samples'`),
    await room('its raw document, compressed', `= 'raw_documents'`),
    await room('everything else of it', `not in ('samples', 'raw_documents')`),
  ]
}

/** How long a poll takes that brings nothing new, four at a time as a daemon does them. */
async function measurePolls(release: ReleaseStack): Promise<Row> {
  const bench = await openBench(release, { rides: 1, seconds: 60 })
  await bench.musette(['sync'])
  const app = await openApp(readConfig(bench.env), makeSilentLog(), { features: [] })
  release.defer('app', () => app.close())
  const [account] = await app.store.read(findAccounts)
  if (!account) throw new Error('somebody is signed in')
  const polls = async () => {
    for (let poll = 0; poll < POLLS / 4; poll++) await pollActivities(app.mirror, { account })
  }
  await polls()
  const took = await timed(() => Promise.all([polls(), polls(), polls(), polls()]))
  return ['polls that bring nothing new, one process', `${(POLLS / (took / 1_000)).toFixed(0)} a second`]
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
