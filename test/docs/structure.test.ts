import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { withConnection } from '../kit/connect.ts'
import { openForTest } from '../kit/open-for.ts'
import { openTestDatabase, queryOnce } from '../kit/postgres.ts'
import { openTempDir } from '../kit/temp-dir.ts'
import { describeStructure, makeStructure, readStructure, writeStructure } from './structure/structure.ts'

const STRUCTURE = 'drizzle/structure'

it('drizzle/structure describes the tables, views and functions of a migrated database', async (context) => {
  const { url } = await openForTest(openTestDatabase())
  const [server] = await queryOnce(url, 'show server_version_num')
  const isEighteen = Math.floor(Number(server?.server_version_num) / 10_000) === 18
  if (!isEighteen)
    context.skip('npm run docs writes it with Postgres 18, and each major prints definitions its own way')
  const files = readStructure(STRUCTURE)
  await withConnection(url, async (client) => {
    const listDifferent = async () => {
      const described = await describeStructure(client, files)
      const names = new Set([...files.keys(), ...described.keys()])
      return [...names].filter((name) => files.get(name) !== described.get(name)).sort()
    }
    await client.query('BEGIN; SET LOCAL search_path = pg_catalog')
    expect(await listDifferent(), `${STRUCTURE} is out of date; run: npm run docs`).toEqual([])
    await client.query(`COMMENT ON VIEW training.totals IS 'other'; DROP VIEW training.streaks;
      CREATE TABLE training.planted (n int); ALTER FUNCTION musette.utc STABLE STRICT;
      CREATE INDEX planted_error ON training.accounts (last_error); DROP POLICY everyone ON training.changes`)
    expect(await listDifferent()).toEqual([
      'functions/utc.sql',
      ...['accounts', 'changes', 'planted'].map((name) => `tables/${name}.sql`),
      ...['streaks', 'totals'].map((name) => `views/${name}.sql`),
    ])
  })
})

/** Migrations of a small database: the third replaces a view in a way that no reader of its text can follow. */
const MIGRATIONS: Readonly<Record<string, string>> = {
  '0000_first': `CREATE SCHEMA IF NOT EXISTS training;
CREATE TABLE training.rides (ride_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL DEFAULT 'a ride', old text);
CREATE TABLE training.gone (n integer);
CREATE FUNCTION training.half(value integer) RETURNS integer LANGUAGE sql IMMUTABLE RETURN value / 2;
CREATE FUNCTION training.half(value real) RETURNS real LANGUAGE sql IMMUTABLE RETURN value / 2;
-- Short names only.
CREATE VIEW training.short AS SELECT ride_id, name FROM training.rides
  WHERE CASE WHEN length(name) > 9 THEN false ELSE name <> ';' END; -- Such as "ride".
CREATE VIEW training.long AS SELECT ride_id FROM training.rides;
`,
  '0001_second': `CREATE FUNCTION training.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RETURN CASE WHEN true THEN NULL END;
END
$$;
CREATE TRIGGER refuse BEFORE DELETE ON training.rides FOR EACH ROW WHEN (old.name = 'kept') EXECUTE FUNCTION training.refuse();
ALTER TABLE training.rides DROP COLUMN old;
CREATE INDEX rides_name ON training.rides (name);
COMMENT ON COLUMN training.rides.name IS 'The rider''s name of it';
DROP TABLE training.gone;
`,
  '0002_third': `DO $$ BEGIN EXECUTE format('CREATE OR REPLACE VIEW training.long AS SELECT ride_id, %s AS n FROM training.rides', 1 + 1); END $$;
COMMENT ON FUNCTION training.half(real) IS 'The half.';
`,
}

const FILES = {
  'tables/rides.sql': `
-- Definition, last changed by 0001_second
CREATE TABLE training.rides (
  ride_id integer GENERATED ALWAYS AS IDENTITY NOT NULL,
  name text DEFAULT 'a ride'::text NOT NULL,
  CONSTRAINT rides_pkey PRIMARY KEY (ride_id)
);

-- Indexes, last changed by 0001_second
CREATE INDEX rides_name ON training.rides USING btree (name);

-- Triggers, last changed by 0001_second
-- refuse: functions/refuse.sql

-- Comments, last changed by 0001_second
COMMENT ON COLUMN training.rides.name IS 'The rider''s name of it';
`,
  'functions/half.sql': `
-- Definition, last changed by 0000_first
CREATE OR REPLACE FUNCTION training.half(value integer) RETURNS integer LANGUAGE sql IMMUTABLE RETURN value / 2;

-- Definition, last changed by 0000_first
CREATE OR REPLACE FUNCTION training.half(value real) RETURNS real LANGUAGE sql IMMUTABLE RETURN value / 2;

-- Comments, last changed by 0002_third
COMMENT ON FUNCTION training.half(real) IS 'The half.';
`,
  'functions/refuse.sql': `
-- Definition, last changed by 0001_second
CREATE OR REPLACE FUNCTION training.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RETURN CASE WHEN true THEN NULL END;
END
$$;

-- Triggers, last changed by 0001_second
CREATE TRIGGER refuse BEFORE DELETE ON training.rides
  FOR EACH ROW WHEN (old.name = 'kept'::text)
  EXECUTE FUNCTION training.refuse();
`,
  'views/long.sql': `
-- Definition, last changed by 0002_third
CREATE OR REPLACE VIEW training.long AS
SELECT ride_id,
    2 AS n
   FROM training.rides;
`,
  'views/short.sql': `
-- Definition, last changed by 0000_first
-- Short names only.
CREATE OR REPLACE VIEW training.short AS SELECT ride_id, name FROM training.rides
  WHERE CASE WHEN length(name) > 9 THEN false ELSE name <> ';' END;
`,
}

it('the structure has the words of a migration where they define the same, and the migration that last changed each part', async () => {
  const { path } = await openForTest(openTempDir('structure'))
  await mkdir(join(path, 'meta'))
  const entries = Object.keys(MIGRATIONS).map((tag, idx) => ({
    idx,
    version: '7',
    when: idx + 1,
    tag,
    breakpoints: true,
  }))
  await writeFile(
    join(path, 'meta/_journal.json'),
    JSON.stringify({ version: '7', dialect: 'postgresql', entries }),
  )
  for (const [tag, text] of Object.entries(MIGRATIONS)) await writeFile(join(path, `${tag}.sql`), text)
  const { url } = await openForTest(openTestDatabase({ migrated: false }))
  const made = await makeStructure(url, path)
  const own = [...made].filter(([name]) => Object.hasOwn(FILES, name) || name.includes('gone'))
  expect(Object.fromEntries(own.map(([name, text]) => [name, text.replace(/^.*\n/, '')]))).toEqual(FILES)
})

it('the structure is written without the files of what is no longer there', async () => {
  const { path } = await openForTest(openTempDir('structure'))
  const folder = join(path, 'structure')
  writeStructure(
    folder,
    new Map([
      ['views/a.sql', 'a'],
      ['tables/b.sql', 'b'],
    ]),
  )
  writeStructure(folder, new Map([['views/c.sql', 'c']]))
  expect(readStructure(folder)).toEqual(new Map([['views/c.sql', 'c']]))
  expect(await readdir(folder)).toEqual(['views'])
})
