import type pg from 'pg'
import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import { upsertAccount } from '../../../src/core/store/account-rows.ts'
import { type ListedActivity, upsertListed } from '../../../src/core/store/activities/upsert-listed.ts'
import { findWanted } from '../../../src/core/store/activities/wanted.ts'
import { openStore, type Store } from '../../../src/core/store/store.ts'
import { makeSqlTag, openTestDatabase, queryOnce } from '../../kit/postgres.ts'

export const quiet = pino({ level: 'silent' })

/** Registers a function that closes something: `onTestFinished`, or a function for the `afterAll` of a file. */
export type AtEnd = (close: () => Promise<void>) => void

/**
 * Opens a store on a new migrated database. Closes both at the end of the test, or when `atEnd` calls the function that it gets. `sql`
 * returns the rows of a query that is written as a template with its values.
 */
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

/** Records an account, named `default` by default. */
export async function makeAccount(store: Store, name = 'default'): Promise<number> {
  const account = await store.transaction((tx) => upsertAccount(tx, { name, baseUrl: 'http://127.0.0.1:9' }))
  return account.accountId
}

/** Makes a list entry with this path; `change` overrides its other fields. */
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

/** Records one wanted activity of a new account, which is named `default` by default. */
export async function makeActivity(store: Store, listedAt: Date, name?: string) {
  const accountId = await makeAccount(store, name)
  await store.transaction((tx) => upsertListed(tx, { accountId, entries: [listed('p1')], listedAt }))
  const [activity] = await store.read((tx) => findWanted(tx, { accountId, limit: 1, now: listedAt }))
  if (!activity) throw new Error('a listed activity is wanted')
  return { accountId, activityId: activity.activityId }
}

/** Returns the rows of a query. */
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

/** Returns the process id of a connection's server side. */
export async function backendPidOf(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  return rows[0]?.pid ?? 0
}
