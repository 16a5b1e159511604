import { expect, it } from 'vitest'
import { findAccountsWithWanted } from '../../../src/core/store/activities/wanted.ts'
import { openTestStore } from '../../core/store/open.ts'

it('a sweep reads exactly the signed-in accounts with due work', async () => {
  const { store } = await openTestStore()
  await store.execute(`
    create temp view scene as select * from (values
      ('wants', 'wanted', null::timestamptz, null::timestamptz), ('parked', 'wanted', null, null),
      ('failed', 'failed', '2026-01-01 00:01Z', null), ('gone', 'wanted', null, '2026-01-01 00:00Z'),
      ('whole', 'mirrored', null, null)) as s (name, state, next_at, absent_since);
    insert into training.accounts (name, base_url, needs_login)
      select name, 'http://127.0.0.1:9', name = 'parked' from scene;
    insert into training.activities (account_id, path, listed_at, wanted_at, detail_state, next_fetch_at, absent_since)
      select account_id, 'p', now(), now(), state, next_at, absent_since from scene join training.accounts using (name)`)
  const namesAt = async (now: string) =>
    (await store.read((tx) => findAccountsWithWanted(tx, new Date(now)))).map(({ name }) => name)
  expect(await namesAt('2026-01-01T00:00:59Z')).toEqual(['wants'])
  expect(await namesAt('2026-01-01T00:01:00Z')).toEqual(['wants', 'failed'])
})
