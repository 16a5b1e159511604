import type pg from 'pg'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Jobs } from '../../../src/core/jobs/jobs.ts'
import { findPasses } from '../../../src/core/store/store.ts'
import { openLocalApp } from '../../../src/program/app/local-app.ts'
import { asPass, syncAccount } from '../../../src/program/app/sync-account.ts'
import { makeHandlers } from '../../../src/program/daemon/handlers.ts'
import { openScene } from '../../core/mirror/training-scene.ts'
import { readConfig } from '../../kit/config.ts'
import { connect } from '../../kit/connect.ts'
import { eventually } from '../../kit/eventually.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { openForAll, openForTest } from '../../kit/open-for.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { openCliRig } from '../cli/rig.ts'

/** A pass of another process, which lasts as long as its connection is open. */
async function openForeignPass(databaseUrl: string, accountId: number): Promise<pg.Client> {
  const client = await connect(databaseUrl)
  await client.query(`begin; set local application_name = 'musette pass ${accountId}';
    lock table musette.lock_pass in row share mode`)
  return client
}

describe('passes at the same time', () => {
  const scene = openForAll(openScene)
  const { signal } = new AbortController()
  const pass = (
    options: { wait?: boolean; signal?: AbortSignal; name?: string; onWait?: () => void } = {},
  ) => {
    const input = { name: 'default', wait: false, signal, onWait: () => undefined, ...options }
    return asPass(scene.app, input, () => syncAccount(scene.app, { name: input.name }))
  }
  beforeEach(async () => {
    await scene.rows('truncate training.activities, training.sync_cursors restart identity cascade')
    await scene.requests()
  })

  it('of one account become one pass, which requests each activity once', async () => {
    const ends = await Promise.all([pass(), pass(), pass(), pass()])
    expect(ends.filter((end) => end !== undefined)).toMatchObject([{ fetched: 2, created: 2 }])
    expect(await scene.requests()).toMatchObject({ 'GET /oauth/activity/:path': 2 })
    expect(await scene.app.mirror.store.read(findPasses)).toEqual([])
    expect(await pass()).toMatchObject({ fetched: 0 })
  })

  it('wait for each other on request, but not for passes of other accounts', async () => {
    const other = await scene.signIn('second')
    const foreign = await openForeignPass(scene.databaseUrl, other.accountId)
    let isWaiting = false
    const onWait = () => {
      isWaiting = true
    }
    const waiting = pass({ name: 'second', wait: true, onWait })
    const stop = new AbortController()
    const stopped = pass({ name: 'second', wait: true, signal: stop.signal })
    expect(await pass()).toMatchObject({ fetched: 2 })
    await eventually(async () => isWaiting)
    stop.abort()
    await expect(stopped).rejects.toThrow('abort')
    expect(await pass({ name: 'second' })).toBeUndefined()
    await foreign.end()
    expect(await waiting).toMatchObject({ failed: 0 })
  })

  it('make the daemon wait only for this account until they end', async () => {
    await syncAccount(scene.app, { name: 'default' })
    await scene.rows(`update training.activities set detail_state = 'wanted', summary_hash = null`)
    const enqueued: string[] = []
    const jobs = { enqueue: async (name: string) => void enqueued.push(name) } as unknown as Jobs
    const handlers = makeHandlers(scene.app, () => jobs)
    const context = { signal, log: scene.app.log }
    const { accountId } = scene.account
    const run = async () => {
      await scene.requests()
      enqueued.length = 0
      await handlers['poll-activities']({ accountId }, context)
      await handlers['reconcile-activities']({ accountId }, context)
      await handlers['fetch-activity']({ accountId, activityId: 1 }, context)
      await handlers.sweep({}, context)
      return { requests: Object.keys(await scene.requests()), enqueued: [...new Set(enqueued)] }
    }
    const foreign = await openForeignPass(scene.databaseUrl, accountId)
    const ofOther = await openForeignPass(scene.databaseUrl, accountId + 1)
    expect(await run()).toEqual({ requests: [], enqueued: [] })
    await foreign.end()
    await eventually(async () => (await scene.app.mirror.store.read(findPasses)).length === 1)
    const { requests, enqueued: found } = await run()
    expect(requests.sort()).toEqual(['GET /oauth/activity', 'GET /oauth/activity/:path'])
    expect(found).toEqual(['fetch-activity'])
    await ofOther.end()
  })
})

it('musette sync during a pass of its account names the command to type, and exits 0', async () => {
  const rig = await openForTest(openCliRig({ activities: 1 }))
  await rig.signIn()
  const foreign = await openForeignPass(rig.databaseUrl, 1)
  const { code, stdout, stderr } = await rig.musette(['sync', '--json'])
  expect([code, JSON.parse(stdout)]).toEqual([
    0,
    {
      ...{ account: 'default', listed: 0, fetched: 0, unchanged: 0, absent: 0, failed: 0, pending: 0 },
      ...{ duration_ms: expect.any(Number), running: true },
    },
  ])
  expect(stderr).toContain('another process is mirroring it; to wait for that, run: musette sync --wait')
  const waiting = rig.musette(['sync', '--wait', '--json'])
  await foreign.end()
  const mirrored = JSON.parse((await waiting).stdout)
  expect(mirrored).toMatchObject({ fetched: 1 })
  expect(mirrored).not.toHaveProperty('running')
})

it('a command keeps its embedded Postgres until the pass of another command ends, unless it is stopped', async () => {
  const folder = await openForTest(openTempDir('embedded-pass'))
  const config = readConfig({ MUSETTE_DATA_DIR: folder.path })
  for (const isStopped of [false, true]) {
    const stop = new AbortController()
    const app = await openLocalApp(config, makeSilentLog(), stop.signal, 'set-up')
    const foreign = await openForeignPass(app.databaseUrl, 1)
    let lost = false
    foreign.on('error', () => {
      lost = true
    })
    if (isStopped) stop.abort()
    const closed = app.close()
    if (!isStopped) {
      // The end of the server would end a running statement.
      await foreign.query('select pg_sleep(0.5)')
      await foreign.end()
    }
    await closed
    expect(lost).toBe(isStopped)
  }
})
