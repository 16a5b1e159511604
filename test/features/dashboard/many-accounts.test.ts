import { expect, test } from 'vitest'
import { findActivityCalendar } from '../../../src/features/dashboard/pages/activities/queries.ts'
import { findFitness } from '../../../src/features/dashboard/pages/fitness/queries.ts'
import { collectProblems } from '../../../src/features/dashboard/pages/today/problems.ts'
import { makeFindToday } from '../../../src/features/dashboard/pages/today/queries.ts'
import { FEATURES } from '../../../src/features/index.ts'
import { makeFacts } from '../../../src/program/frame/findings/facts.ts'
import { openTestStore, quiet } from '../../core/store/open.ts'
import { readConfig } from '../../kit/config.ts'

test('pages list at most 100 accounts and the shown one, and only a few problems', async () => {
  const { store } = await openTestStore()
  await store.execute(
    `INSERT INTO training.accounts (name, base_url, needs_login) SELECT 'rider-' || n, 'http://127.0.0.1:1', true FROM generate_series(1, 150) n`,
  )
  const { rows } = await store.read((tx) =>
    tx.client.query<{ id: number }>('select account_id as id from training.accounts order by 1'),
  )
  const last = rows.at(-1)?.id ?? 0
  const app = { store, config: readConfig({}), features: FEATURES, log: quiet, databaseUrl: '' }
  const findToday = makeFindToday({ store, owner: app }, [])
  const pages = (accountId: number | undefined) => [
    findToday({ accountId }),
    findFitness(app, { accountId }),
    findActivityCalendar(app, accountId === undefined ? {} : { account: accountId }),
  ]
  const oldest = rows.slice(0, 100).map(({ id }) => id)
  for (const [shown, expected] of [
    [undefined, oldest],
    [oldest[7], oldest],
    [last, [...oldest, last]],
  ] as const)
    for (const page of await Promise.all(pages(shown)))
      expect(page?.accounts.map(({ account_id: id }) => id)).toEqual(expected)
  expect(await findToday({ accountId: last + 1 })).toBeUndefined()
  const problems = await collectProblems(makeFacts(app, new Date()), 'header')
  expect(problems).toHaveLength(21)
  expect(problems.at(-1)).toEqual({ text: 'And 130 more. Run:', command: 'musette status' })
  expect(await collectProblems(makeFacts(app, new Date()), 'header', 1)).toEqual([
    problems[0],
    { text: 'And 149 more. Run:', command: 'musette status' },
  ])
})

test('the Today page shows one of many accounts, and how many others have problems', async () => {
  const { store } = await openTestStore()
  await store.execute(
    `INSERT INTO training.accounts (name, base_url, needs_login) SELECT 'rider-' || n, 'http://127.0.0.1:1', n > 1 FROM generate_series(1, 150) n`,
  )
  await store.execute(
    `INSERT INTO musette.credentials (account_id, client_id, client_secret, access_token, refresh_token, key_id, obtained_at, expires_at)
     SELECT account_id, '', '', '', '', '', now(), now() + interval '1 day' FROM training.accounts`,
  )
  await store.execute(
    `INSERT INTO training.activities (account_id, path, name, started_at, timezone, detail_state, fetch_error, listed_at, wanted_at)
     SELECT account_id, 'ride' || account_id, name, now(), 'UTC', 'failed', 'it broke', now(), now() FROM training.accounts`,
  )
  await store.execute(
    `INSERT INTO training.sync_runs (account_id, resource, kind, started_at, finished_at, outcome)
     SELECT account_id, 'activities', 'poll', now(), now(), 'done' FROM training.accounts`,
  )
  await store.execute(
    `INSERT INTO training.uploads (account_id, content_id, file_name, size_bytes, state, seen_at)
     SELECT account_id, 'c', name || '.fit', 1, 'refused', now() FROM training.accounts`,
  )
  const rows = await store.query<{ id: number }>('select account_id as id from training.accounts order by 1')
  const app = { store, config: readConfig({}), features: FEATURES, log: quiet, databaseUrl: '' }
  const findToday = makeFindToday({ store, owner: app }, [])
  const page = () => findToday({ accountId: rows[0]?.id })
  await expect
    .poll(async () => (await page())?.problems.at(-1))
    .toMatchObject({
      text: '149 other accounts have problems. Run:',
      command: 'musette status',
    })
  const { cards, failed, uploads, activities, runs, problems, is_well: isWell } = (await page()) ?? {}
  expect(cards).toMatchObject([{ account: 'rider-1', failed: 1, login: 'signed in' }])
  expect([failed, uploads, activities]).toMatchObject([
    [{ account: 'rider-1' }],
    [{ file_name: 'rider-1.fit' }],
    [{ name: 'rider-1' }],
  ])
  expect([runs?.runs, problems?.length, isWell]).toEqual([1, 3, false])
})
