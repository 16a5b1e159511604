import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeRow } from '../../../src/core/fields/field.ts'
import { TRAINING_INFO_FIELDS } from '../../../src/core/fields/training-fields.ts'
import { recordAbsent, upsertListed } from '../../../src/core/store/activities/upsert-listed.ts'
import { recordUnchanged } from '../../../src/core/store/activities/write-activities.ts'
import { checkSince, pruneChanges } from '../../../src/core/store/feed/change-rows.ts'
import type { Store } from '../../../src/core/store/store.ts'
import { recordTrainingInfo } from '../../../src/core/store/training-info-rows.ts'
import { recordWorkoutsAbsent, upsertWorkouts } from '../../../src/core/store/workout-rows.ts'
import { recordNeedsLogin } from '../../../src/core/vault/stored-credentials.ts'
import { eventually } from '../../kit/eventually.ts'
import { queryOnce, WAITING_FOR_LOCK } from '../../kit/postgres.ts'
import { detailInput, openAccount, openActivity, recordDetail } from './detail.ts'
import { listed, makeActivity, openTestStore, rowsOf } from './open.ts'

const at = (minute: number) => new Date(Date.UTC(2026, 2, 1, 8, minute))

type Change = { change_id: string; kind: string; path: string | null; detail: Record<string, unknown> }

/** Reads the changes after the last call, of which there must be `count` at least. */
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

describe('the change feed has', () => {
  it('a new activity with its values, a change with old and new ones, and changed samples', async () => {
    const { store } = await openTestStore()
    const read = makeReader(store)
    const { activityId } = await makeActivity(store, at(0))
    const [made, ...others] = await read(1)
    expect(others).toEqual([])
    expect(made).toMatchObject({ kind: 'activity.new', path: 'p1' })
    expect(made?.detail).toMatchObject({ activity_id: activityId, name: 'Ride p1', xss: null })
    for (const column of ['fetched_at', 'detail_state', 'wanted_at', 'summary', 'account_id'])
      expect(made?.detail).not.toHaveProperty(column)

    const detail = detailInput(activityId, at(1))
    await store.transaction((tx) => recordDetail(tx, detail))
    const [changed, samples, ...more] = await read(2)
    expect(more).toEqual([])
    expect(changed).toMatchObject({ kind: 'activity.changed', path: 'p1' })
    expect(changed?.detail.xss).toEqual([null, detail.row.xss])
    expect(changed?.detail).not.toHaveProperty('name')
    expect(samples).toEqual({
      kind: 'activity.samples',
      path: 'p1',
      detail: {
        ...{ sample_count: 3, elapsed_s: detail.row.elapsedS, samples_at: '2026-03-01T08:01:00+00:00' },
        ...{ start_lat: null, start_lng: null, south: null, north: null, west: null, east: null },
      },
    })
  })

  it('an absent and a returned activity', async () => {
    const { store, accountId, activityId, list } = await openActivity(at(0))
    const read = makeReader(store)
    await read(1)
    await store.transaction((tx) =>
      recordAbsent(tx, { accountId, activityIds: [activityId], absentSince: at(1) }),
    )
    const absent_since = '2026-03-01T08:01:00+00:00'
    expect(await read(1)).toEqual([{ kind: 'activity.absent', path: 'p1', detail: { absent_since } }])
    await list([listed('p1', { name: 'Back' })], at(2))
    expect(await read(2)).toEqual([
      { kind: 'activity.back', path: 'p1', detail: { absent_since } },
      { kind: 'activity.changed', path: 'p1', detail: { name: ['Ride p1', 'Back'] } },
    ])
  })

  it('training information and workouts', async () => {
    const { store, accountId } = await openAccount()
    const read = makeReader(store)
    const info = (ftp: number, minute: number) => ({
      accountId,
      requestedAt: at(minute),
      row: makeRow(TRAINING_INFO_FIELDS, { ftp }),
      raw: { ftp },
      isSame: (before: unknown, now: unknown) => JSON.stringify(before) === JSON.stringify(now),
    })
    for (const [ftp, minute] of [
      [250, 0],
      [250, 1],
      [251, 2],
    ] as const)
      await store.transaction((tx) => recordTrainingInfo(tx, info(ftp, minute)))
    expect(await read(2)).toMatchObject([
      { kind: 'training_info.new', path: null, detail: { ftp: 250 } },
      { kind: 'training_info.new', path: null, detail: { ftp: 251 } },
    ])

    const owner = { accountId }
    const workout = { path: 'w1', name: 'Over', description: null, lastModified: null, raw: {} }
    const list = (name: string, minute: number) =>
      store.transaction((tx) =>
        upsertWorkouts(tx, { owner, entries: [{ ...workout, name }], listedAt: at(minute) }),
      )
    await list('Over', 3)
    await list('Over', 4)
    await list('Under', 5)
    await store.transaction((tx) => recordWorkoutsAbsent(tx, { owner, paths: ['w1'], absentSince: at(6) }))
    expect(await read(3)).toMatchObject([
      { kind: 'workout.new', path: 'w1', detail: { name: 'Over' } },
      { kind: 'workout.changed', path: 'w1', detail: { name: ['Over', 'Under'] } },
      { kind: 'workout.absent', path: 'w1' },
    ])
  })

  it('a workout of the default list, which belongs to no account', async () => {
    const { store, sql } = await openTestStore()
    const entries = [{ path: 'w1', name: 'Over', description: null, lastModified: null, raw: {} }]
    await store.transaction((tx) =>
      upsertWorkouts(tx, { owner: { baseUrl: 'http://127.0.0.1:9' }, entries, listedAt: at(0) }),
    )
    expect(await sql`select account_id, kind from training.changes`).toEqual([
      { account_id: null, kind: 'workout.new' },
    ])
  })

  it('the result of an upload', async () => {
    const { store, sql, accountId } = await openAccount()
    const read = makeReader(store)
    const to = (state: string) => sql`update training.uploads set state = ${state}, reason = 'because'`
    await sql`insert into training.uploads (account_id, content_id, file_name, size_bytes, seen_at)
         values (${accountId}, 'abc', 'a.fit', 1, now())`
    for (const state of ['sending', 'unconfirmed', 'accepted', 'accepted', 'mirrored', 'refused'])
      await to(state)
    const detail = { content_id: 'abc', file_name: 'a.fit', reason: 'because' }
    expect(await read(3)).toEqual(
      ['accepted', 'mirrored', 'refused'].map((state) => ({ kind: `upload.${state}`, path: null, detail })),
    )
  })

  it('a lost and a restored login, once each', async () => {
    const { store, accountId } = await openAccount()
    const read = makeReader(store)
    for (const reason of [null, 'the password was changed', 'and is still', null])
      await store.transaction((tx) => recordNeedsLogin(tx, accountId, reason))
    const account = 'default'
    expect(await read(3)).toEqual([
      { kind: 'login.restored', path: null, detail: { account } },
      { kind: 'login.lost', path: null, detail: { account, reason: 'the password was changed' } },
      { kind: 'login.restored', path: null, detail: { account } },
    ])
  })
})

describe('what changes nothing', () => {
  it('writes no change and moves no updated_at', async () => {
    const { store, sql, accountId, activityId, record } = await openActivity(at(0))
    await record(at(1))
    const state = () =>
      sql`select updated_at, (select max(change_id) from training.changes) from training.activities`
    const before = await state()
    await store.transaction(async (tx) => {
      await upsertListed(tx, { accountId, entries: [listed('p1')], listedAt: at(2) })
      await recordUnchanged(tx, { activityId, requestedAt: at(3) })
    })
    expect(await state()).toEqual(before)
  })

  it('does not rewrite the rows of a list that is only compared', async () => {
    const { sql, list } = await openActivity(at(0))
    const versions = () => sql`select xmin::text from training.activities`
    const before = await versions()
    await list([listed('p1')], at(2), 'leave')
    expect(await versions()).toEqual(before)
  })

  it('a transaction that is rolled back leaves no change', async () => {
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

describe('old changes', () => {
  it('are deleted in steps except the newest, and a reader that may have missed some gets an error', async () => {
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
})

describe('two transactions at the same time', () => {
  const open = async () => {
    const { store, url, accountId } = await openAccount()
    const connect = async () => {
      const client = new pg.Client(url)
      await client.connect()
      onTestFinished(() => client.end())
      return client
    }
    return { store, accountId, connect, read: makeReader(store) }
  }
  const rename = (path: string) => `update training.activities set name = 'New' where path = '${path}'`
  const insert = (accountId: number, kind: string) =>
    `insert into training.changes (account_id, kind) values (${accountId}, '${kind}')`

  it('a reader never misses the one that commits late', async () => {
    const { store, accountId, connect, read } = await open()
    const [early, late] = [await connect(), await connect()]
    await late.query('begin')
    await late.query(insert(accountId, 'late'))
    const written = early.query(insert(accountId, 'early'))
    await eventually(async () => (await rowsOf(store, WAITING_FOR_LOCK)).length > 0, { what: 'it waits' })
    expect(await read(0)).toEqual([])
    await late.query('commit')
    await written
    expect((await read(2)).map(({ kind }) => kind)).toEqual(['late', 'early'])
  })

  it.each([
    ['that has written nothing of the feed', (name: string) => `alter role ${name} set work_mem = '4MB'`],
    ['of another database of the server', () => 'select pg_current_xact_id()'],
  ])('one %s delays no reader', async (_which, statement) => {
    const { store, accountId, connect, read } = await open()
    const name = `idle_${randomBytes(4).toString('hex')}`
    const owner = await connect()
    await owner.query(`create role ${name} login password 'idle'`)
    onTestFinished(async () => void (await owner.query(`drop role ${name}`)))
    const url = new URL(`postgres://${name}:idle@${owner.host}:${owner.port}/${owner.database}`)
    if (_which.includes('another')) url.pathname = '/postgres'
    const idle = new pg.Client(url.href)
    await idle.connect()
    try {
      await idle.query(`begin read write; ${statement(name)}`)
      await store.transaction((tx) => tx.client.query(insert(accountId, 'later')))
      expect((await read(1)).map(({ kind }) => kind)).toEqual(['later'])
    } finally {
      await idle.end()
    }
  })

  it('readers miss nothing and see nothing twice while many commit in any order', async () => {
    const { store, accountId, connect, read } = await open()
    const paths = Array.from({ length: 8 }, (_, number) => `p${number}`)
    await store.transaction((tx) =>
      upsertListed(tx, { accountId, entries: paths.map((path) => listed(path)), listedAt: at(0) }),
    )
    let writing = paths.length
    const write = async (path: string) => {
      const client = await connect()
      for (let round = 0; round < 60; round++) {
        // Each has its number before it writes, and some take back what they wrote.
        await client.query('begin; select pg_current_xact_id()')
        await client.query(`update training.activities set name = 'Round ${round}' where path = '${path}'`)
        if (round % 3 === 0) await client.query('set constraints all immediate')
        await client.query(round % 5 === 0 ? 'rollback' : 'commit')
      }
      writing -= 1
    }
    const seen: string[] = []
    const follow = async () => {
      const client = await connect()
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
    expect(await read(all.length)).toHaveLength(8 + 8 * 48)
  })

  it('numbers of changes follow the order of commits', async () => {
    const { store, accountId, connect, read } = await open()
    const entries = [listed('p1'), listed('p2')]
    await store.transaction((tx) => upsertListed(tx, { accountId, entries, listedAt: at(0) }))
    await read(2)
    const [first, second] = [await connect(), await connect()]
    // The first transaction has the lower number, and changes its row after the second one has changed its own.
    await first.query('begin; select pg_current_xact_id()')
    await second.query(`begin; ${rename('p2')}; set constraints all immediate`)
    await first.query(rename('p1'))
    const committed = first.query('commit')
    await eventually(
      async () => {
        return (await rowsOf(store, WAITING_FOR_LOCK)).length > 0
      },
      { what: 'the commit waits' },
    )
    expect(await read(0)).toEqual([])
    await second.query('commit')
    await committed
    expect((await read(2)).map(({ path }) => path)).toEqual(['p2', 'p1'])
  })

  it('changes from another server, after a restore or replication, are settled', async () => {
    const { store, accountId, read } = await open()
    await store.transaction((tx) =>
      tx.client.query(
        `insert into training.changes (account_id, kind, transaction_id) values ($1, 'foreign', '9000000000')`,
        [accountId],
      ),
    )
    expect((await read(1)).map(({ kind }) => kind)).toEqual(['foreign'])
  })

  it('a listener is notified at the commit, once for each transaction', async () => {
    const { store, accountId, connect } = await open()
    const listener = await connect()
    const heard: string[] = []
    listener.on('notification', ({ channel, payload }) => heard.push(`${channel} ${payload}`))
    await listener.query('listen musette_changes')
    const entries = [listed('p1'), listed('p2')]
    await store.transaction(async (tx) => {
      await upsertListed(tx, { accountId, entries, listedAt: at(0) })
      await listener.query('select')
      expect(heard).toEqual([])
    })
    await eventually(() => heard.length > 0)
    expect(heard).toEqual(['musette_changes '])
  })
})

describe('a database that has moved', () => {
  const moved: ReadonlyArray<[cause: string, statement: string]> = [
    ['server', 'update training.database set system_identifier = system_identifier + 1'],
    ['timeline', 'update training.database set timeline = timeline + 1'],
    ['copy', 'update training.database set database_oid = database_oid + 1'],
  ]
  it.each(moved)(
    'begins one line before its next number, by what Postgres tells: %s',
    async (cause, statement) => {
      const { accountId, url, sql } = await openAccount()
      const insert = `insert into training.changes (account_id, kind) values (${accountId}, 'a')`
      await queryOnce(url, insert)
      const [before] =
        await sql`select identity, line, max(change_id)::int as last from training.database, training.changes group by 1, 2`
      await queryOnce(url, statement)
      const clients = Array.from({ length: 4 }, () => new pg.Client(url))
      for (const client of clients) await client.connect()
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

  it('begins no line where the row says nothing yet, as after an upgrade', async () => {
    const { accountId, url, sql } = await openAccount()
    const [before] = await sql`select line, system_identifier from training.database`
    await queryOnce(url, `insert into training.changes (account_id, kind) values (${accountId}, 'a')`)
    const [after] = await sql`select line, system_identifier, timeline, database_oid from training.database`
    expect(before).toEqual({ line: after?.line, system_identifier: null })
    const here = { system_identifier: expect.any(String), timeline: 1, database_oid: expect.any(String) }
    expect(after).toMatchObject(here)
  })
})
