import type pg from 'pg'
import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import { upsertAccount } from '../../../src/core/store/account-rows.ts'
import { type ListedActivity, upsertListed } from '../../../src/core/store/activities/upsert-listed.ts'
import { findWanted } from '../../../src/core/store/activities/wanted.ts'
import { openStore, type Store } from '../../../src/core/store/store.ts'
import { makeSqlTag, openTestDatabase, queryOnce } from '../../kit/postgres.ts'

export const quiet = pino({ level: 'silent' })

/** Keeps what closes something: `onTestFinished`, or what a file's `afterAll` calls. */
export type AtEnd = (close: () => Promise<void>) => void

/** A store on a migrated database of its own, both gone at the end of the test, or when `atEnd` calls what it gets; `sql` gives the rows of a query that is written as a template with its values. */
export async function openTestStore(atEnd: AtEnd = onTestFinished) {
  const database = await openTestDatabase()
  const store = openStore({ log: quiet }, { connectionString: database.url })
  atEnd(async () => {
    await store.close()
    await database.close()
  })
  return {
    store,
    url: database.url,
    sql: makeSqlTag((text, values) =>
      store.transaction(async (tx) => (await tx.client.query(text, values)).rows),
    ),
  }
}

/** Records an account, named `default` unless told. */
export async function makeAccount(store: Store, name = 'default'): Promise<number> {
  const account = await store.transaction((tx) => upsertAccount(tx, { name, baseUrl: 'http://127.0.0.1:9' }))
  return account.accountId
}

/** A list entry; `path` and whatever else matters. */
export function listed(path: string, change: Partial<ListedActivity> = {}): ListedActivity {
  return {
    path,
    name: `Ride ${path}`,
    description: null,
    activityType: 'Cycling',
    startedAt: new Date('2024-05-01T06:00:00Z'),
    timezone: 'Europe/Berlin',
    startedAtLocal: '2024-05-01 08:00:00',
    timezoneSource: 'service',
    ...change,
  }
}

/** One wanted activity of a new account, named `default` unless told. */
export async function makeActivity(store: Store, listedAt: Date, name?: string) {
  const accountId = await makeAccount(store, name)
  await store.transaction((tx) => upsertListed(tx, { accountId, entries: [listed('p1')], listedAt }))
  const [activity] = await store.read((tx) => findWanted(tx, { accountId, limit: 1, now: listedAt }))
  if (!activity) throw new Error('a listed activity is wanted')
  return { accountId, activityId: activity.activityId }
}

/** The rows that a query gives. */
export async function rowsOf(
  store: Store,
  text: string,
  values: unknown[] = [],
): Promise<Record<string, unknown>[]> {
  return await store.read(async (tx) => (await tx.client.query(text, values)).rows)
}

/** Ends the server's side of a connection, as a restart of Postgres would. */
export async function terminate(url: string, backendPid: number): Promise<void> {
  await queryOnce(url, 'SELECT pg_terminate_backend($1, 10000)', [backendPid])
}

/** Asks a connection for the process id of its server side. */
export async function backendPidOf(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  return rows[0]?.pid ?? 0
}
