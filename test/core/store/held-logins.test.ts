import { createHash, randomBytes } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { migrate } from '../../../src/core/store/migrate.ts'
import { holdToAccount } from '../../../src/core/store/migration/one-account.ts'
import { connect, withConnection } from '../../kit/connect.ts'
import { openOlderDatabase } from '../../kit/later-migrations.ts'
import { openForTest } from '../../kit/open-for.ts'
import { openTestDatabase, queryOnce, type TestDatabase } from '../../kit/postgres.ts'
import { fillAccounts, MARK } from './accounts-scene.ts'
import { quiet } from './open.ts'

/** What 1.1 did to limit a login to one account: policies for a role, and a role for the account whose name has the oid of the database. */
const AS_1_1 = (held: string, assistant: string) => `
  do $$ declare name regclass; account text := 'musette_account_' || (select oid from pg_database where datname = current_database()) || '_1'; begin
    if to_regrole('musette_one_account') is null then create role musette_one_account; end if;
    execute format('create role %I; grant %I, musette_one_account to ${held}', account, account);
    grant musette_one_account, musette_reader to ${assistant};
    grant usage on schema training to musette_one_account;
    grant select on all tables in schema training to musette_one_account;
    for name in select oid from pg_class where relnamespace = 'training'::regnamespace and relkind = 'v' loop
      execute format('alter view %s set (security_invoker = true)', name);
    end loop;
    for name in select oid from pg_class where relnamespace = 'training'::regnamespace and relkind = 'r' loop
      execute format('create policy everyone on %s using (true) with check (true)', name);
      execute format('create policy musette_account on %s as restrictive for select to musette_one_account using (true)', name);
      execute format('alter table %s enable row level security', name);
    end loop;
  end $$`

/** Creates logins that are dropped at the end of the test. Returns a function that reads as one of them. */
async function openLogins(database: TestDatabase, names: readonly string[]) {
  for (const name of names) await queryOnce(database.url, `create role ${name} login password 'reads'`)
  onTestFinished(() => queryOnce(database.url, `drop role ${names.join(', ')}`).then(() => undefined))
  return (name: string, text: string, url = database.url) => {
    const at = Object.assign(new URL(url), { username: name, password: 'reads' })
    return withConnection(at.href, async (client) =>
      (await client.query({ text, rowMode: 'array' })).rows.flat(),
    )
  }
}

test('an upgrade from 1.1 keeps the rights of readers, and held logins read new views', async () => {
  const database = await openForTest(openOlderDatabase('0032_routes'))
  const tag = randomBytes(4).toString('hex')
  const { pathname, username } = new URL(database.url)
  const place = createHash('sha256')
    .update(`${pathname.slice(1)} ${username}`)
    .digest('hex')
    .slice(0, 8)
  const [held, wide, assistant] = [`held_${tag}`, `wide_${tag}`, `musette_mcp_${place}_account_1`]
  const read = await openLogins(database, [held, wide, assistant])
  await fillAccounts(database.url, 2)
  await queryOnce(database.url, `grant musette_reader to ${wide}`)
  await queryOnce(database.url, AS_1_1(held, assistant))
  await queryOnce(database.url, 'create table training.notes as select 1 as note')
  await migrate({ connectionString: database.url, log: quiet })
  for (const login of [held, assistant]) {
    expect(await read(login, 'select name from training.accounts')).toEqual(['mine'])
    for (const view of ['form_by_day', 'totals', 'streaks', 'daily_load'])
      expect(new Set(await read(login, `select account from training.${view}`)), view).toEqual(
        new Set(['mine']),
      )
    await expect(read(login, 'table training.notes')).rejects.toThrow(/permission denied/)
  }
  expect(await read(wide, 'select count(distinct account)::int from training.totals')).toEqual([3])
  expect(await read(wide, 'table training.notes')).toEqual([1])
  const groups = `select from pg_roles where rolname ~ ('^musette_account_' || (select oid from pg_database where datname = current_database()) || '_')`
  expect(await queryOnce(database.url, groups)).toEqual([])
})

test('a held login sees nothing once its account is deleted, except in a copy', async () => {
  const database = await openForTest(openTestDatabase())
  const held = `held_${randomBytes(4).toString('hex')}`
  const copy = `copy_${randomBytes(4).toString('hex')}`
  const read = await openLogins(database, [held])
  await fillAccounts(database.url, 2)
  const owner = await connect(database.url)
  await holdToAccount(owner, held, 1)
  await owner.end()
  await queryOnce(
    new URL('/postgres', database.url).href,
    `create database ${copy} template ${new URL(database.url).pathname.slice(1)}`,
  )
  onTestFinished(() => queryOnce(database.url, `drop database ${copy} with (force)`).then(() => undefined))
  const names = 'select name from training.accounts'
  await queryOnce(database.url, 'delete from training.accounts where account_id = 1')
  expect(await queryOnce(database.url, names)).toHaveLength(2)
  for (const table of ['accounts', 'activities', 'samples', 'today'])
    expect(await read(held, `table training.${table}`), table).toEqual([])
  const there = new URL(`/${copy}`, database.url).href
  expect(await read(held, names, there)).toEqual(['mine'])
  expect(await queryOnce(there, `${names} where name ~ '${MARK}'`)).toHaveLength(2)
})

test('a held login in a group without an account sees nothing; a superuser sees all', async () => {
  const database = await openForTest(openTestDatabase())
  const [held, group] = ['held', 'group'].map((name) => `${name}_${randomBytes(4).toString('hex')}`)
  const read = await openLogins(database, [`${held}`, `${group}`])
  await fillAccounts(database.url, 1)
  await queryOnce(
    database.url,
    `grant musette_one_account to ${group}; grant ${group}, musette_reader to ${held}`,
  )
  const names = 'select name from training.accounts order by 1'
  expect(await read(`${held}`, names)).toEqual([])
  await queryOnce(database.url, `revoke musette_one_account from ${group}`)
  expect(await read(`${held}`, names)).toEqual(['mine', MARK])
  await queryOnce(database.url, `grant musette_one_account to ${held}; alter role ${held} superuser`)
  expect(await read(`${held}`, names)).toEqual(['mine', MARK])
})

test('statistics show a login the number of rows, but no values', async () => {
  const database = await openForTest(openTestDatabase())
  const names = ['held', 'wide'].map((name) => `${name}_${randomBytes(4).toString('hex')}`)
  const read = await openLogins(database, names)
  await fillAccounts(database.url, 2)
  await queryOnce(database.url, `analyze; grant musette_reader to ${names[1]}`)
  const owner = await connect(database.url)
  await holdToAccount(owner, `${names[0]}`, 1)
  await owner.end()
  const values = `select most_common_vals::text || histogram_bounds::text from pg_stats where schemaname = 'training'`
  expect(await queryOnce(database.url, values)).not.toEqual([])
  for (const name of names) {
    expect(await read(name, values)).toEqual([])
    expect(await read(name, `select from pg_stats_ext`)).toEqual([])
    expect(
      await read(name, `select reltuples::int from pg_class where oid = 'training.activities'::regclass`),
    ).toEqual([3])
  }
})
