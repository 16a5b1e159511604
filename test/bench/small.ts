import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { openEmbeddedPostgres } from '../../src/embedded/embedded.ts'
import { type PostgresClient, withClient } from '../../src/kit/postgres-client.ts'
import type { ReleaseStack } from '../../src/kit/release-stack.ts'
import { makeSilentLog } from '../kit/log.ts'
import { distPath, runNode, startNode } from '../kit/processes.ts'
import { memoryOf } from './process.ts'
import { type Bench, openBench, quantile, type Row, read, seconds, timed, within } from './rig.ts'
import { openSmallMachine, type SmallMachine, SPEED } from './small-machine.ts'
import { addCopies } from './web.ts'

const RIDES = 600
const SECONDS = 5_400
const MANY = 5_000
const PACE = '240'
/** The first minute of a backfill also compares lists and fills caches. */
const [WARM_MS, FOLLOW_MS] = [20_000, 90_000]
/** The first jobs, autovacuum after them and the collector of garbage are over by then. */
const [SETTLE_MS, IDLE_MS] = [90_000, 240_000]
const REQUESTS = 60

/**
 * Measures musette on a machine of one core at a quarter of this one's speed: with the embedded Postgres in 768 MB, and with
 * a Postgres elsewhere in 512 MB.
 */
export async function benchSmall(): Promise<Row[]> {
  const rows: Row[] = []
  for (const [memoryMb, postgres] of [
    [768, 'embedded Postgres'],
    [512, 'Postgres elsewhere'],
  ] as const) {
    const measured = await within(async (release) => {
      const bench = await openBench(release, { rides: RIDES, seconds: SECONDS, distinct: 60 })
      const machine = openSmallMachine(release, memoryMb)
      return machine && (await measure(release, { bench, machine }, postgres === 'embedded Postgres'))
    })
    if (!measured) return [['a small machine', 'no cgroup with cpu and memory can be made here']]
    rows.push(...measured.map(([what, ...rest]): Row => [`${memoryMb} MB, ${postgres}: ${what}`, ...rest]))
  }
  return rows
}

type Machine = { bench: Bench; machine: SmallMachine }

async function measure(
  release: ReleaseStack,
  { bench: whole, machine }: Machine,
  isEmbedded: boolean,
): Promise<Row[]> {
  const { DATABASE_URL: _, ...own } = whole.env
  const env = isEmbedded ? own : whole.env
  const bench = { ...whole, env: { ...env, MUSETTE_REQUESTS_PER_MINUTE: PACE } }
  const run = async (args: readonly string[], prefix = machine.prefix, more: Record<string, string> = {}) => {
    const end = await runNode([distPath('main.js'), ...args], {
      ...{ env: { ...bench.env, ...more }, prefix, input: 'rider\n', timeoutMs: 1_800_000 },
    })
    if (end.code !== 0) throw new Error(`musette ${args[0]}: ${end.signal} ${end.stderr.slice(-500)}`)
    return end.stdout
  }
  const start = async (more: Record<string, string> = {}) => {
    const running = startNode([distPath('main.js'), 'start'], {
      ...{ env: { ...bench.env, ...more }, prefix: machine.prefix },
    })
    const { url } = JSON.parse(await running.waitForLine(/"msg":"started"/, 120_000)) as { url: string }
    release.defer('daemon', () => running.kill())
    return { url, pid: running.pid, kill: () => running.kill() }
  }
  const inDatabase = async (work: (client: PostgresClient) => Promise<unknown>) => {
    const deps = { log: makeSilentLog() }
    const joined = isEmbedded && (await openEmbeddedPostgres(deps, { dataDir: `${whole.folder}/data` }))
    await withClient({ connectionString: joined ? joined.url : whole.databaseUrl }, work)
    if (joined) await joined.close()
  }
  const count = async (where: string) =>
    Number(
      (await run(['sql', `select count(*) from training.activities where ${where}`, '--csv'], [])).split(
        '\n',
      )[1],
    )
  /** s of that core, and how long it took, for an action */
  const using = async <T>(work: () => Promise<T>) => {
    const before = machine.processorSeconds()
    let result: T | undefined
    const ms = await timed(async () => {
      result = await work()
    })
    const core = (machine.processorSeconds() - before) / SPEED
    return { ms, core, share: percent(core / (ms / 1_000)), result: result as T }
  }

  if (isEmbedded) await run(['login', '--username', 'rider', '--password-stdin'], [])
  let daemon = await start()
  await pause(WARM_MS)
  const first = await count(`detail_state = 'mirrored'`)
  const backfill = await using(() => pause(FOLLOW_MS))
  const fetched = (await count(`detail_state = 'mirrored'`)) - first
  const peak = memoryOf(daemon.pid)?.peakMb
  await daemon.kill()
  const perMinute = (activities: number, ms: number) => `${(activities / (ms / 60_000)).toFixed(0)} a minute`
  const rows: Row[] = [
    [`a backfill at ${PACE} a minute`, perMinute(fetched, backfill.ms), PACE],
    ['the core meanwhile; for an activity', `${backfill.share}; ${(backfill.core / fetched).toFixed(2)} s`],
    ["the most memory of the daemon's process", `${peak?.toFixed(0)} MB`, '180 MB'],
  ]

  // The rest of the history comes at full speed, outside of the machine.
  await run(['sync'], [], { MUSETTE_REQUESTS_PER_MINUTE: '1000000' })
  await whole.ask('_recalculate')
  const since = new Date().toISOString()
  const rewriting = startNode([distPath('main.js'), 'resync', '--since', '2000-01-01'], {
    ...{ env: bench.env, prefix: machine.prefix },
  })
  const rewrite = await using(() => pause(FOLLOW_MS / 2))
  await rewriting.kill('SIGINT')
  const rewritten = await count(`fetched_at > '${since}'`)
  rows.push([
    'activities rewritten; the core meanwhile',
    `${perMinute(rewritten, rewrite.ms)}; ${rewrite.share}`,
    PACE,
  ])

  if (isEmbedded) {
    const exported = await using(() => run(['export', '--all', '--to', join(whole.folder, 'parquet')]))
    const file = join(whole.folder, 'small.tar')
    const backup = await using(() => run(['backup', file]))
    await rm(file)
    rows.push(
      [`export --all of ${RIDES} activities of ${SECONDS} samples`, seconds(exported.ms)],
      ['backup of them', seconds(backup.ms)],
    )
  }

  // A poll of this service finds every activity changed, so one is enough.
  daemon = await start({ MUSETTE_REQUESTS_PER_MINUTE: '1000000', MUSETTE_POLL_EVERY: '1d' })
  await inDatabase(async (client) => {
    const left = `select from training.activities where fetched_at < '${since}' limit 1`
    while ((await client.query(left)).rowCount) await pause(500)
  })
  await inDatabase((client) => addCopies(client, MANY))
  for (const path of ['/api/today', '/api/activities/list', '/api/fitness']) {
    const took: number[] = []
    for (let request = 0; request < REQUESTS; request++)
      took.push(await timed(() => read(`${daemon.url}${path}`)))
    rows.push([
      `${path} of ${MANY} activities, median and p95`,
      `${quantile(took, 0.5).toFixed(0)}, ${quantile(took, 0.95).toFixed(0)} ms`,
    ])
  }
  for (const verb of ['status', 'changes']) {
    const took: number[] = []
    for (let round = 0; round < 5; round++) took.push(await timed(() => run([verb])))
    rows.push([`${verb}, as a process, median`, seconds(quantile(took, 0.5))])
  }
  await daemon.kill()
  // Its first sweep does what the new activities need.
  daemon = await start({ MUSETTE_REQUESTS_PER_MINUTE: '1000000', MUSETTE_POLL_EVERY: '1d' })
  await pause(SETTLE_MS)
  await inDatabase((client) => client.query('checkpoint'))
  const written = machine.writtenBytes()
  const idle = await using(() => pause(IDLE_MS))
  const memory = memoryOf(daemon.pid)?.nowMb
  const kilobytes = ((machine.writtenBytes() - written) / 1_024).toFixed(0)
  rows.push(
    ['idle: share of the core', idle.share, '< 0.3 %'],
    [`idle: written to the disk in ${IDLE_MS / 60_000} minutes`, `${kilobytes} kB`, 'none'],
    ["idle: memory of the daemon's process", `${memory?.toFixed(0)} MB`, '<= 100 MB'],
  )
  await daemon.kill()
  if (machine.oomKills() > 0) throw new Error('the kernel killed a process for want of memory')
  return rows
}

function percent(share: number): string {
  return `${(share * 100).toFixed(share < 0.1 ? 2 : 0)} %`
}
