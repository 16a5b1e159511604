import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type { Jobs } from '../../../src/core/jobs/jobs.ts'
import { collectGarbage } from '../../../src/core/service/transport.ts'
import { signInWithPassword, signOut } from '../../../src/program/app/sign-in.ts'
import { syncAccount } from '../../../src/program/app/sync-account.ts'
import { openAccountWatch } from '../../../src/program/daemon/account-watch.ts'
import { openDaemon } from '../../../src/program/daemon/daemon.ts'
import { makeHandlers } from '../../../src/program/daemon/handlers.ts'
import { makeReadiness } from '../../../src/program/daemon/probes.ts'
import { openRig } from '../../core/mirror/rig.ts'
import { eventually } from '../../kit/eventually.ts'
import { openForAll, openForTest } from '../../kit/open-for.ts'
import { END_CONNECTIONS } from '../../kit/postgres.ts'

const rig = openForAll(() =>
  openRig({ activities: 2, longestActivitySeconds: 60, env: { MUSETTE_HTTP: 'off' } }),
)

/** The sweep of a daemon that enqueues nothing. */
function openSweep(app = rig.app) {
  const { sweep } = makeHandlers(app, () => ({ enqueue: async () => undefined }) as unknown as Jobs)
  return () => sweep({}, { signal: new AbortController().signal, log: rig.log.log })
}

it('sweeps and passes delete old runs in batches until none is left, then once a day', async () => {
  let now = Date.now()
  const app = { ...rig.app, mirror: { ...rig.app.mirror, now: () => new Date(now) } }
  const sweep = openSweep(app)
  const addOld = () =>
    rig.rows(`insert into training.sync_runs (account_id, resource, kind, started_at, finished_at, outcome)
      select account_id, 'activities', 'poll', at, at, 'done'
      from training.accounts, generate_series(now() - interval '200 days', now() - interval '91 days', '7 minutes') at`)
  const countOld = async () => {
    const old = `kind = 'poll' and started_at < now() - interval '90 days'`
    return Number((await rig.rows(`select count(*) as n from training.sync_runs where ${old}`))[0]?.n)
  }
  await addOld()
  const all = await countOld()
  await sweep()
  expect(await countOld()).toBe(all - 10_000)
  while ((await countOld()) > 1) await sweep()
  await sweep()
  await addOld()
  await sweep()
  expect(await countOld()).toBe(all + 1)
  now += 86_400_000
  await sweep()
  expect(await countOld()).toBe(all + 1 - 10_000)
  await syncAccount(rig.app, { name: 'default' })
  expect(await countOld()).toBe(all + 1 - 20_000)
})

it('a sweep follows due work and each new change, then one more, and none in a quiet database', async () => {
  await syncAccount(rig.app, { name: 'default' })
  const seen = { looks: 0, sweeps: 0 }
  const enqueue = async (name: string) => {
    if (name === 'sweep') seen.sweeps += 1
  }
  const now = () => {
    seen.looks += 1
    return new Date()
  }
  const app = { ...rig.app, mirror: { ...rig.app.mirror, now } }
  const jobs = { enqueue, keepSchedules: async () => undefined } as unknown as Jobs
  const watch = await openAccountWatch(app, jobs, 5)
  onTestFinished(watch.close)
  const looks = (more: number) => {
    const until = seen.looks + more
    return eventually(() => seen.looks > until)
  }
  const isQuiet = async () => {
    const { sweeps } = seen
    await looks(5)
    return seen.sweeps === sweeps
  }
  await eventually(isQuiet, { what: 'nothing is due' })
  const setDue = (at: string) =>
    rig.rows(
      `update training.activities set next_fetch_at = ${at} where path = (select min(path) from training.activities)`,
    )
  await setDue(`now() - interval '1 second'`)
  await looks(3)
  const during = seen.sweeps
  await looks(3)
  expect(seen.sweeps - during).toBeGreaterThanOrEqual(3)
  await setDue('null')
  await eventually(isQuiet, { what: 'nothing is due' })
  const before = seen.sweeps
  await rig.rows(
    `insert into training.changes (account_id, kind) select account_id, 'activity_updated' from training.accounts limit 1`,
  )
  await looks(3)
  expect(seen.sweeps).toBe(before + 1)
})

it('the form of an account is fitted when it has nothing left to fetch, even if others do', async () => {
  await syncAccount(rig.app, { name: 'default' })
  const sweep = openSweep()
  await rig.rows(`with busy as (insert into training.accounts (name, base_url, needs_login) values ('busy', 'http://127.0.0.1:9', false) returning *)
    insert into training.activities (account_id, path, started_at, started_at_local, detail_state, listed_at, wanted_at)
    select account_id, state, now(), now(), state, now(), now() from busy, unnest('{mirrored,wanted}'::text[]) state`)
  await rig.rows(`update training.activities set xlss = xlss + 1 where xlss > 0`)
  const before = new Date()
  const fitted = () =>
    rig.rows(
      `select name, count(f)::int as fitted from training.accounts a left join training.form_constants f on f.account_id = a.account_id
         and f.fitted_at >= '${before.toISOString()}' group by 1 order by 1`,
    )
  await sweep()
  expect(await fitted()).toEqual([
    { name: 'busy', fitted: 0 },
    { name: 'default', fitted: 6 },
  ])
  await rig.rows(`delete from training.activities where path = 'wanted'`)
  await sweep()
  expect(await fitted()).toMatchObject([{ name: 'busy', fitted: 6 }, {}])
  await rig.rows(`delete from training.accounts where name = 'busy'`)
})

/** The number of threads that Node has for files. */
const THREADS = Number(process.env.UV_THREADPOOL_SIZE ?? 4)

it('a daemon with an endless scan or a hanging disk is not ready and says so', async () => {
  const jobs = { counts: async () => ({ polls: {}, fetches: {} }) }
  let since: Date | undefined
  const makeReady = () =>
    makeReadiness({ app: rig.app, jobs, dropFolder: { walkingSince: () => since } }, ['watcher'])
  const ready = makeReady()
  expect(await ready()).toMatchObject({ ready: true, parts: { drop_folder: 'ok', files: 'ok' } })
  since = new Date(Date.now() - 60_000)
  expect(await ready()).toMatchObject({ ready: true })
  since = new Date(Date.now() - 3_600_000)
  expect(await ready()).toMatchObject({
    ready: false,
    parts: { drop_folder: expect.stringMatching(/^a scan has not ended since .*; restart the daemon$/) },
  })
  since = undefined
  const pipe = join(rig.dataDir, 'pipe')
  execFileSync('mkfifo', [pipe])
  const hanging = Array.from({ length: THREADS }, () => open(pipe, constants.O_RDONLY))
  try {
    expect(await makeReady()()).toMatchObject({
      ready: false,
      parts: { files: 'the disk does not answer; restart the daemon' },
    })
  } finally {
    const writer = openSync(pipe, constants.O_RDWR)
    for (const file of await Promise.all(hanging)) await file.close()
    closeSync(writer)
  }
})

// Last, because it adds an account.
it('the daemon mirrors an account at once when it signs in', async () => {
  const signal = new AbortController().signal
  await openForTest(openDaemon(rig.app.config, rig.log.log, { roles: ['scheduler', 'worker'], signal }))
  const login = { name: 'second', username: 'second', password: 'second', keepPassword: false }
  const signIn = () => signInWithPassword(rig.app, login)
  const polls = async () => {
    const rows = await rig.rows(
      `select count(*)::int as n from training.sync_runs join training.accounts using (account_id)
       where name = 'second' and resource = 'activities' and outcome = 'done' and kind <> 'reconcile'`,
    )
    return Number(rows[0]?.n)
  }
  await signIn()
  // Without the watch, this takes up to a minute.
  await eventually(async () => (await polls()) === 1)
  await signOut(rig.app, 'second')
  await signIn()
  await eventually(async () => (await polls()) === 2)
  // From here on, anything that a wait keeps only by a weak reference is collected.
  const collecting = setInterval(collectGarbage, 250)
  onTestFinished(() => clearInterval(collecting))
  await rig.rows(END_CONNECTIONS)
  // The first statement may fail, because its connection has ended.
  await eventually(() => signOut(rig.app, 'second').then(() => true))
  await signIn()
  await eventually(async () => (await polls()) === 3)
  expect(rig.log.lines.filter(({ level }) => Number(level) >= 50)).toEqual([])
})
