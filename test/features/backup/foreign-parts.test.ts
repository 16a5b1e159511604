import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStore, type Tx } from '../../../src/core/store/store.ts'
import { findForeignParts } from '../../../src/features/backup/database/foreign-parts.ts'
import { tablesInOrder } from '../../../src/features/backup/database/tables.ts'
import { upsertReader } from '../../../src/features/reader/reader.ts'
import { readConfig } from '../../kit/config.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { openForAll } from '../../kit/open-for.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'

const log = makeSilentLog()
const database = openForAll(openTestDatabase)
const store = openForAll(async () =>
  openStore({ log }, { connectionString: database.url, maxConnections: 1 }),
)
let other: string
let reader: string
beforeAll(async () => {
  const place = new URL(database.url).pathname.slice(6)
  ;[other, reader] = [`other_${place}`, `reader_${place}`]
  await queryOnce(database.url, `create role ${other}`)
})
afterAll(async () => {
  for (const role of [other, reader]) {
    const made = await queryOnce(database.url, `select from pg_roles where rolname = '${role}'`)
    if (made.length > 0) await queryOnce(database.url, `drop owned by ${role}; drop role ${role}`)
  }
})

const findParts = (tx: Tx) => findForeignParts(tx, tablesInOrder())

/** A statement of an owner, and the expected name of its object; OTHER is a role, THREE are three tables of musette. */
const NAMED = `
create table training.mine (a int primary key, b text); create index on training.mine (b); comment on table training.mine is $$mine$$ ⇒ table training.mine
alter table training.accounts add mine int ⇒ column training.accounts.mine
create index mine on training.activities (name) ⇒ index training.mine
create index "My index" on training.activities (name) ⇒ index training."My index"
alter table training.activities add constraint mine unique (activity_id, name) ⇒ table constraint mine on training.activities
create view training.mine as select 1 ⇒ view training.mine
create materialized view training.mine as select 1 ⇒ materialized view training.mine
create sequence musette.mine ⇒ sequence musette.mine
create function training.mine(int) returns int language sql as $$select 1$$ ⇒ function training.mine(integer)
create type training.mine as (a int) ⇒ composite type training.mine
create function public.f() returns trigger language plpgsql as $$begin return new; end$$; create trigger mine before insert on training.samples for each row execute function public.f() ⇒ trigger mine on training.samples
create rule mine as on insert to training.samples do nothing ⇒ rule mine on training.samples
create policy mine on training.samples ⇒ policy mine on training.samples
create statistics training.mine on name, path from training.activities ⇒ statistics object training.mine
comment on table training.activities is $$mine$$ ⇒ comment on table training.activities
comment on column training.activities.name is $$mine$$ ⇒ comment on table column training.activities.name
comment on trigger set_updated_at on training.workouts is $$mine$$ ⇒ comment on trigger set_updated_at on training.workouts
create publication mine for table training.activities ⇒ publication mine
grant select, insert on training.accounts to OTHER ⇒ grant INSERT, SELECT on training.accounts to OTHER
grant select (name) on training.accounts to OTHER ⇒ grant SELECT on training.accounts.name to OTHER
grant usage on schema musette to OTHER ⇒ grant USAGE on schema musette to OTHER
grant execute on function training.round(double precision, int) to OTHER ⇒ grant EXECUTE on training.round(double precision,integer) to OTHER
grant select on training.today to public ⇒ grant SELECT on training.today to PUBLIC
grant select on musette.credentials to musette_reader ⇒ grant SELECT on musette.credentials to musette_reader
grant update on all tables in schema musette to OTHER ⇒ grant UPDATE on THREE and more to OTHER
alter default privileges in schema training grant insert on tables to OTHER ⇒ grant INSERT on all later objects of schema training to OTHER
`
  .trim()
  .split('\n')
  .map((line) => line.split(' ⇒ ') as [string, string])

test.each(NAMED)(
  'an object of the owner is listed as missing from the backup: %s',
  async (statement, part) => {
    const undone = new Error('no row disturbs another')
    let found: string[] = []
    const change = store.transaction(async (tx) => {
      await tx.client.query(statement.replaceAll('OTHER', other))
      found = await findParts(tx)
      throw undone
    })
    await expect(change).rejects.toBe(undone)
    const shown = found.map((each) =>
      each
        .replaceAll(other, 'OTHER')
        .replace(/(?:musette\.\w+, ){2}musette\.\w+ and \d+ more/, 'THREE and more'),
    )
    expect(shown).toEqual([part])
  },
)

test('a new mirror has no foreign objects, even with reading logins', async () => {
  expect(await store.read(findParts)).toEqual([])
  await queryOnce(
    database.url,
    "insert into training.accounts (name, base_url) values ('mine', 'http://127.0.0.1:9')",
  )
  for (const account of [undefined, 'mine']) {
    await upsertReader(readConfig({ DATABASE_URL: database.url }), log, { name: reader, account })
    expect(await store.read(findParts)).toEqual([])
  }
})
