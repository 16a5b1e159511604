import { expect, test } from 'vitest'
import { findActivityCalendar } from '../../../src/features/dashboard/pages/activities/queries.ts'
import { findFitness } from '../../../src/features/dashboard/pages/fitness/queries.ts'
import { collectProblems } from '../../../src/features/dashboard/pages/today/problems.ts'
import { makeFindToday } from '../../../src/features/dashboard/pages/today/queries.ts'
import { FEATURES } from '../../../src/features/index.ts'
import { makeFacts } from '../../../src/program/frame/findings/facts.ts'
import { openTestStore } from '../../core/store/open.ts'
import { readConfig } from '../../kit/config.ts'

test('pages send a hundred of many accounts and the shown one, and what is wrong with a few', async () => {
  const { store } = await openTestStore()
  await store.execute(
    `INSERT INTO training.accounts (name, base_url, needs_login) SELECT 'rider-' || n, 'http://127.0.0.1:1', true FROM generate_series(1, 150) n`,
  )
  const { rows } = await store.read((tx) =>
    tx.client.query<{ id: number }>('select account_id as id from training.accounts order by 1'),
  )
  const last = rows.at(-1)?.id ?? 0
  const app = { store, config: readConfig({}), features: FEATURES }
  const findToday = makeFindToday(app, [])
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
  expect(problems.at(-1)).toEqual({ text: 'And 130 more. Type:', command: 'musette status' })
})
