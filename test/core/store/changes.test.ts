import { randomBytes } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeRow } from '../../../src/core/fields/field.ts'
import { TRAINING_INFO_FIELDS } from '../../../src/core/fields/training-fields.ts'
import { recordAbsent, upsertListed } from '../../../src/core/store/activities/upsert-listed.ts'
import { recordUnchanged } from '../../../src/core/store/activities/write-activities.ts'
import {
  checkSince,
  findChangedAccounts,
  findNewestChange,
  pruneChanges,
} from '../../../src/core/store/feed/change-rows.ts'
import type { Store } from '../../../src/core/store/store.ts'
import { recordTrainingInfo } from '../../../src/core/store/training-info-rows.ts'
import { recordWorkoutsAbsent, upsertWorkouts } from '../../../src/core/store/workout-rows.ts'
import { recordNeedsLogin } from '../../../src/core/vault/stored-credentials.ts'
import { connect } from '../../kit/connect.ts'
import { eventually } from '../../kit/eventually.ts'
import { queryOnce, WAITING_FOR_LOCK } from '../../kit/postgres.ts'
import { openAccount, openActivity } from './detail.ts'
import { listed, rowsOf } from './open.ts'

const at = (minute: number) => new Date(Date.UTC(2026, 2, 1, 8, minute))

type Change = { change_id: string; kind: string; path: string | null; detail: Record<string, unknown> }

/** Makes a function that reads the changes since its last call, and expects at least `count` of them. */
function makeReader(store: Store) {
  let last = 0
  const text =
    'select change_id, kind, path, detail from training.changes_settled where change_id > $1 order by change_id'
  return async (count: number) => {
    const rows = (await rowsOf(store, text, [last])) as Change[]
    expect(rows.length).toBeGreaterThanOrEqual(count)
    last = Number(rows.at(-1)?.change_id ?? last)
    return rows.map(({ kind, path, detail }) => ({ kind, path, detail }))
  }
}

type Opened = Awaited<ReturnType<typeof openActivity>>
const AT_1 = '2026-03-01T08:01:00+00:00'
const NOWHERE = { start_lat: null, start_lng: null, south: null, north: null, west: null, east: null }
const WORKOUT = { path: 'w1', name: 'Over', description: null, lastModified: null, raw: {} }

/** An action in a mirror with one activity, and the changes that it adds to the feed: kind, path, detail. */
const CHANGES: ReadonlyArray<
  [
    what: string,
    act: (opened: Opened) => Promise<unknown>,
    ...changes: Array<[string, string | null, unknown]>,
  ]
> = [
  [
    'an answer: old and new values, and changed samples',
    ({ record }) => record(at(1)),
    ['activity.changed', 'p1', expect.objectContaining({ xss: [null, 80] })],
    ['activity.samples', 'p1', { sample_count: 3, elapsed_s: 2, samples_at: AT_1, ...NOWHERE }],
  ],
  [
    'a list that lacks an activity',
    ({ store, accountId, activityId }) =>
      store.transaction((tx) =>
        recordAbsent(tx, { accountId, activityIds: [activityId], absentSince: at(1) }),
      ),
    ['activity.absent', 'p1', { absent_since: AT_1 }],
  ],
  [
    'a list that has it again, with another name',
    ({ list }) => list([listed('p1', { name: 'Back' })], at(2)),
    ['activity.back', 'p1', { absent_since: AT_1 }],
    ['activity.changed', 'p1', { name: ['Ride p1', 'Back'] }],
  ],
  [
    'training information, once for each value',
    async ({ store, accountId }) => {
      const isSame = (before: unknown, now: unknown) => JSON.stringify(before) === JSON.stringify(now)
      for (const [minute, ftp] of [250, 250, 251].entries()) {
        const row = makeRow(TRAINING_INFO_FIELDS, { ftp })
        const info = { accountId, requestedAt: at(minute), row, raw: { ftp }, isSame }
        await store.transaction((tx) => recordTrainingInfo(tx, info))
      }
    },
    ['training_info.new', null, expect.objectContaining({ ftp: 250 })],
    ['training_info.new', null, expect.objectContaining({ ftp: 251 })],
  ],
  [
    'new, unchanged, changed and absent workouts',
    async ({ store, accountId }) => {
      const owner = { accountId }
      for (const [minute, name] of ['Over', 'Over', 'Under'].entries()) {
        const list = { owner, entries: [{ ...WORKOUT, name }], listedAt: at(minute) }
        await store.transaction((tx) => upsertWorkouts(tx, list))
      }
      const gone = { owner, paths: ['w1'], absentSince: at(6) }
      await store.transaction((tx) => recordWorkoutsAbsent(tx, gone))
    },
    ['workout.new', 'w1', expect.objectContaining({ name: 'Over' })],
    ['workout.changed', 'w1', { name: ['Over', 'Under'] }],
    ['workout.absent', 'w1', expect.anything()],
  ],
  [
    'the results of an upload',
    async ({ accountId, sql }) => {
      await sql`insert into training.uploads (account_id, content_id, file_name, size_bytes, seen_at)
        values (${accountId}, 'abc', 'a.fit', 1, now())`
      for (const state of ['sending', 'unconfirmed', 'accepted', 'accepted', 'mirrored', 'refused'])
        await sql`update training.uploads set state = ${state}, reason = 'because'`
    },
    ...['accepted', 'mirrored', 'refused'].map((state): [string, null, unknown] => [
      `upload.${state}`,
      null,
      { content_id: 'abc', file_name: 'a.fit', reason: 'because' },
    ]),
  ],
  [
    'a lost and a restored login, once each',
    async ({ store, accountId }) => {
      for (const reason of [null, 'the password was changed', 'and is still', null])
        await store.transaction((tx) => recordNeedsLogin(tx, accountId, reason))
    },
    ['login.restored', null, { account: 'default' }],
    ['login.lost', null, { account: 'default', reason: 'the password was changed' }],
    ['login.restored', null, { account: 'default' }],
  ],
]

it('the change feed reports each kind of change with its detail', async () => {
  const opened = await openActivity(at(0))
  const read = makeReader(opened.store)
  const [made, ...others] = await read(1)
  expect(others).toEqual([])
  expect(made).toMatchObject({ kind: 'activity.new', path: 'p1' })
  expect(made?.detail).toMatchObject({ activity_id: opened.activityId, name: 'Ride p1', xss: null })
  for (const column of ['fetched_at', 'detail_state', 'wanted_at', 'summary', 'account_id'])
    expect(made?.detail).not.toHaveProperty(column)
  for (const [what, act, ...changes] of CHANGES) {
    await act(opened)
    const found = await read(changes.length)
    expect(
      found.map(({ kind, path, detail }) => [kind, path, detail]),
      what,
    ).toEqual(changes)
  }
})

describe('the change feed', () => {
  it('gets nothing from unchanged answers and lists, which rewrite no row', async () => {
    const { store, sql, accountId, activityId, record, list } = await openActivity(at(0))
    await record(at(1))
    const state = () =>
      sql`select updated_at, (select max(change_id) from training.changes) from training.activities`
    const before = await state()
    await store.transaction(async (tx) => {
      await upsertListed(tx, { accountId, entries: [listed('p1')], listedAt: at(2) })
      await recordUnchanged(tx, { activityId, requestedAt: at(3) })
    })
    expect(await state()).toEqual(before)
    const version = () => sql`select xmin::text from training.activities`
    const written = await version()
    await list([listed('p1')], at(4), 'leave')
    expect(await version()).toEqual(written)
  })

  it('gets nothing from a transaction that is rolled back', async () => {
    const { store, sql, accountId, list } = await openAccount()
    await expect(
      store.transaction(async (tx) => {
        await upsertListed(tx, { accountId, entries: [listed('p1')], listedAt: at(0) })
        throw new Error('stop')
      }),
    ).rejects.toThrow('stop')
    expect(await sql`select from training.changes`).toEqual([])
    await list([listed('p1')], at(0))
    expect(await sql`select kind from training.changes`).toEqual([{ kind: 'activity.new' }])
  })
})

it('the changed accounts are those with later changes, or all after a restore', async () => {
  const { store, sql, accountId } = await openAccount()
  await sql`insert into training.accounts (name, base_url) values ('other', 'http://127.0.0.1:9')`
  const insert = (account: number | null, kind: string) =>
    sql`insert into training.changes (account_id, kind) values (${account}, ${kind})`
  await insert(accountId, 'activity.new')
  const since = await store.read(findNewestChange)
  const changed = () => store.read((tx) => findChangedAccounts(tx, since))
  await insert(null, 'workout.new')
  expect(await changed()).toEqual([])
  await insert(accountId, 'activity.changed')
  expect(await changed()).toEqual([{ accountId }])
  await insert(null, 'restored')
  expect(await changed()).toHaveLength(2)
})

it('pruning keeps the newest old change, and a reader that missed some gets an error', async () => {
  const { store, sql, accountId } = await openAccount()
  for (const daysAgo of [94, 93, 92, 91, 89, 88]) {
    await sql`insert into training.changes (account_id, kind, at) values (${accountId}, 'x', now() - make_interval(days => ${daysAgo}))`
  }
  const prune = () => store.transaction((tx) => pruneChanges(tx, 2))
  expect([await prune(), await prune(), await prune()]).toEqual([2, 1, 0])
  const left = await sql`select change_id::int from training.changes order by 1`
  expect(left.map(({ change_id }) => change_id)).toEqual([4, 5, 6])
  const check = (since: number) => store.read((tx) => checkSince(tx, since))
  for (const since of [0, 4, 5, 6]) await check(since)
  await expect(check(3)).rejects.toMatchObject({ code: 'changes_pruned' })
  await expect(check(7)).rejects.toMatchObject({ code: 'changes_unknown' })
})

describe('the change feed with concurrent transactions', () => {
  const open = async () => {
    const { store, url, accountId } = await openAccount()
    const openSession = async () => {
      const client = await connect(url)
      onTestFinished(() => client.end())
      return client
    }
    return { store, accountId, openSession, read: makeReader(store) }
  }
  const rename = (path: string) => `update training.activities set name = 'New' where path = '${path}'`
  const insert = (accountId: number, kind: string) =>
    `insert into training.changes (account_id, kind) values (${accountId}, '${kind}')`

  it.each([
    ['that has written no change', (name: string) => `alter role ${name} set work_mem = '4MB'`],
    ['in another database of the server', () => 'select pg_current_xact_id()'],
  ])('a transaction %s delays no reader', async (_which, statement) => {
    const { store, accountId, openSession, read } = await open()
    const name = `idle_${randomBytes(4).toString('hex')}`
    const owner = await openSession()
    await owner.query(`create role ${name} login password 'idle'`)
    onTestFinished(async () => void (await owner.query(`drop role ${name}`)))
    const url = new URL(`postgres://${name}:idle@${owner.host}:${owner.port}/${owner.database}`)
    if (_which.includes('another')) url.pathname = '/postgres'
    const idle = await connect(url.href)
    try {
      await idle.query(`begin read write; ${statement(name)}`)
      await store.transaction((tx) => tx.client.query(insert(accountId, 'later')))
      expect((await read(1)).map(({ kind }) => kind)).toEqual(['later'])
    } finally {
      await idle.end()
    }
  })

  it('readers see each change once while many transactions commit in any order', async () => {
    const { store, accountId, openSession, read } = await open()
    const paths = Array.from({ length: 8 }, (_, number) => `p${number}`)
    await store.transaction((tx) =>
      upsertListed(tx, { accountId, entries: paths.map((path) => listed(path)), listedAt: at(0) }),
    )
    let writing = paths.length
    const write = async (path: string) => {
      const client = await openSession()
      for (let round = 0; round < 30; round++) {
        // Each transaction has its id before it writes, and some roll back.
        await client.query('begin; select pg_current_xact_id()')
        await client.query(`update training.activities set name = 'Round ${round}' where path = '${path}'`)
        if (round % 3 === 0) await client.query('set constraints all immediate')
        await client.query(round % 5 === 0 ? 'rollback' : 'commit')
      }
      writing -= 1
    }
    const seen: string[] = []
    const follow = async () => {
      const client = await openSession()
      for (let last = '0', done = false; !done; ) {
        done = writing === 0
        const { rows } = await client.query<{ change_id: string }>(
          'select change_id from training.changes_settled where change_id > $1 order by change_id',
          [last],
        )
        seen.push(...rows.map(({ change_id }) => change_id))
        last = rows.at(-1)?.change_id ?? last
      }
    }
    await Promise.all([...paths.map(write), follow()])
    const all = await rowsOf(store, 'select change_id from training.changes order by change_id')
    expect(seen).toEqual(all.map(({ change_id }) => change_id))
    expect(await read(all.length)).toHaveLength(8 + 8 * 24)
  })

  it('the numbers of changes follow the order of commits', async () => {
    const { store, accountId, openSession, read } = await open()
    const entries = [listed('p1'), listed('p2')]
    await store.transaction((tx) => upsertListed(tx, { accountId, entries, listedAt: at(0) }))
    await read(2)
    const [first, second] = [await openSession(), await openSession()]
    // The first transaction has the lower id, but changes its row after the second one has changed its own.
    await first.query('begin; select pg_current_xact_id()')
    await second.query(`begin; ${rename('p2')}; set constraints all immediate`)
    await first.query(rename('p1'))
    const committed = first.query('commit')
    const waits = async () => (await rowsOf(store, WAITING_FOR_LOCK)).length > 0
    await eventually(waits, { what: 'the commit waits' })
    expect(await read(0)).toEqual([])
    await second.query('commit')
    await committed
    expect((await read(2)).map(({ path }) => path)).toEqual(['p2', 'p1'])
  })

  it('changes restored or replicated from another server are settled', async () => {
    const { store, accountId, read } = await open()
    await store.execute(
      `insert into training.changes (account_id, kind, transaction_id) values (${accountId}, 'foreign', '9000000000')`,
    )
    expect((await read(1)).map(({ kind }) => kind)).toEqual(['foreign'])
  })
})

describe('a database that has moved', () => {
  const moved: ReadonlyArray<[cause: string, statement: string]> = [
    ['server', 'update training.database set system_identifier = system_identifier + 1'],
    ['timeline', 'update training.database set timeline = timeline + 1'],
    ['copy', 'update training.database set database_oid = database_oid + 1'],
  ]
  it.each(moved)(
    'begins one new line before its next change, by what Postgres reports: %s',
    async (cause, statement) => {
      const { accountId, url, sql } = await openAccount()
      const insert = `insert into training.changes (account_id, kind) values (${accountId}, 'a')`
      await queryOnce(url, insert)
      const [before] =
        await sql`select identity, line, max(change_id)::int as last from training.database, training.changes group by 1, 2`
      await queryOnce(url, statement)
      const clients = await Promise.all(Array.from({ length: 4 }, () => connect(url)))
      onTestFinished(async () => void (await Promise.all(clients.map((client) => client.end()))))
      await Promise.all(clients.map((client) => client.query(insert)))
      const feed =
        await sql`select change_id::float8 as number, kind, detail from training.changes order by change_id`
      expect(feed.slice(1).map(({ kind }) => kind)).toEqual(['restored', 'a', 'a', 'a', 'a'])
      expect(feed[1]?.number).toBeGreaterThan(1e15)
      const [after] = await sql`select identity, line, earlier_lines from training.database`
      expect(after).toMatchObject({ identity: before?.identity, earlier_lines: [before?.line] })
      const { identity, line } = after ?? {}
      expect(feed[1]?.detail).toEqual({ cause, up_to: before?.last, identity, line })
    },
  )
})
