import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { findDatabaseFacts } from '../../src/core/store/database-facts.ts'
import { migrate } from '../../src/core/store/migrate.ts'
import { readChanges } from '../../src/features/changes/change-feed.ts'
import { exportAll } from '../../src/features/export/export-all.ts'
import { COOKBOOK } from '../../src/features/mcp/cookbook/cookbook.ts'
import { upsertReader } from '../../src/features/reader/reader.ts'
import { collectResults, openQueries } from '../../src/features/sql/raw-query.ts'
import { rebuildAccount } from '../../src/program/app/rebuild-account.ts'
import { syncAccount } from '../../src/program/app/sync-account.ts'
import { openDaemon } from '../../src/program/daemon/daemon.ts'
import { ROLES } from '../../src/program/daemon/roles.ts'
import { findStatus } from '../../src/program/frame/findings/status-report.ts'
import { openRig, type Rig } from '../core/mirror/rig.ts'
import { backUpToMemory, restoreInto } from '../features/backup/rig.ts'
import { dropAssistantLogins } from '../features/mcp/guarded/rig.ts'
import { callTool, connectHttp, TOKEN } from '../features/mcp/rig.ts'
import { connect } from '../kit/connect.ts'
import { eventually } from '../kit/eventually.ts'
import { makeSilentLog } from '../kit/log.ts'
import { openForTest } from '../kit/open-for.ts'
import { openTestDatabase, queryOnce, type TestDatabase } from '../kit/postgres.ts'
import { makeRide } from '../kit/ride.ts'
import { readWords } from '../kit/table.ts'
import { uploadBytes } from '../kit/upload-bytes.ts'

/** The error message of everything that the other role made: whatever runs it fails. */
const RAN = 'code of another role ran'
const PLANTED_BY = `neighbour_${process.pid}`
const READER = `analyst_${process.pid}`

const TYPES =
  'text,integer,bigint,real,double precision,numeric,boolean,date,timestamp,timestamptz,interval,jsonb,record,text[],integer[],double precision[]'
const OPERATORS = '||,=,<>,<,<=,>,>=,+,-,*,/,->,->>,@>,?,?|,~'

/** Every name before a bracket in our sources, including all functions of SQL. */
function calledNames(): string {
  const names = ['src', 'drizzle'].flatMap((dir) =>
    readdirSync(dir, { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.(ts|sql)$/.test(path))
      .flatMap((path) => [...readFileSync(join(dir, path), 'utf8').matchAll(/\b([a-z_]\w*)\s*\(/gi)]),
  )
  return [...new Set(names.map(([, name = '']) => name.toLowerCase()))].join()
}

/**
 * Makes a better match in a schema for each call of a polymorphic function, and for each operator between types for which Postgres needs a
 * cast. Skips whatever cannot be made, such as an existing function.
 */
const PLANT = `
DO $plant$
DECLARE
  schema CONSTANT text := current_setting('test.schema');
  wanted record;
  body CONSTANT text := format('RETURNS text LANGUAGE plpgsql AS %L',
    'BEGIN RAISE EXCEPTION ''${RAN}'' USING ERRCODE = ''42N99''; END');
  made integer := 0;
BEGIN
  FOR wanted IN
    WITH polymorphic AS (
      SELECT p.oid, p.proname, u.place::int, u.type, format_type(u.type, NULL) AS declared
      FROM pg_proc p, unnest(CASE WHEN p.provariadic = 0 THEN p.proargtypes::oid[]
        ELSE p.proargtypes[0 : p.pronargs - 2] || array_fill(p.proargtypes[p.pronargs - 1], ARRAY[2]) END) WITH ORDINALITY AS u (type, place)
      WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.proname = ANY (string_to_array(current_setting('test.names'), ','))
        AND EXISTS (SELECT FROM unnest(p.proargtypes::oid[]) a JOIN pg_type t ON t.oid = a WHERE t.typname LIKE 'any%')
    ), choices AS (
      SELECT oid, proname, place, c.type FROM polymorphic LEFT JOIN LATERAL (
        SELECT unnest(string_to_array(current_setting('test.types'), ',')) AS type WHERE declared LIKE '%any%'
        UNION ALL SELECT declared WHERE declared NOT LIKE '%any%') c ON true
    )
    SELECT a.proname, concat_ws(', ', a.type, b.type, c.type) AS arguments
    FROM choices a LEFT JOIN choices b ON b.oid = a.oid AND b.place = 2
    LEFT JOIN choices c ON c.oid = a.oid AND c.place = 3 AND c.type IN (a.type, b.type, 'integer')
    WHERE a.place = 1 GROUP BY 1, 2
  LOOP
    BEGIN
      EXECUTE format('CREATE FUNCTION %I.%I(%s) %s', schema, wanted.proname, wanted.arguments, body);
      made := made + 1;
    EXCEPTION WHEN OTHERS THEN NULL;
    END;
  END LOOP;
  FOR wanted IN
    SELECT l.type AS l, r.type AS r, s.symbol
    FROM unnest(string_to_array(current_setting('test.types'), ',')) l (type), unnest(string_to_array(current_setting('test.types'), ',')) r (type),
      unnest(string_to_array(current_setting('test.operators'), ',')) s (symbol)
    WHERE NOT EXISTS (SELECT FROM pg_operator o WHERE oprname = s.symbol AND oprleft = l.type::regtype AND oprright = r.type::regtype)
  LOOP
    BEGIN
      EXECUTE format('CREATE OR REPLACE FUNCTION %I.planted(%s, %s) %s', schema, wanted.l, wanted.r, body);
      EXECUTE format('CREATE OPERATOR %I.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = %I.planted)', schema, wanted.symbol, wanted.l, wanted.r, schema);
      made := made + 1;
    EXCEPTION WHEN OTHERS THEN NULL;
    END;
  END LOOP;
  IF made < 2000 THEN RAISE 'only % were made', made; END IF;
END
$plant$`

let database: TestDatabase
let target: TestDatabase
let rig: Rig
beforeAll(async () => {
  database = await openTestDatabase({ migrated: false })
  await plant(database.url)
  const server = new URL('/postgres', database.url).href
  const name = `${new URL(database.url).pathname.slice(1)}_target`
  await queryOnce(server, `CREATE DATABASE ${name} TEMPLATE ${new URL(database.url).pathname.slice(1)}`)
  target = {
    url: new URL(`/${name}`, database.url).href,
    close: async () => void (await queryOnce(server, `DROP DATABASE ${name} WITH (FORCE)`)),
  }
  await migrate({ connectionString: database.url, log: makeSilentLog() })
  rig = await openRig({
    activities: 4,
    databaseUrl: database.url,
    env: { MUSETTE_HTTP: '127.0.0.1:0', MUSETTE_HTTP_TOKEN: TOKEN },
  })
}, 240_000)
afterAll(async () => {
  await rig?.close()
  await dropAssistantLogins(database.url)
  await database.close()
  await target.close()
  await queryOnce(new URL('/postgres', database.url).href, `DROP ROLE IF EXISTS ${PLANTED_BY}, ${READER}`)
})

/** Plants in the schemas of Postgres's default path, as a role that may create there: in Postgres 14 every role may, in public. */
async function plant(url: string): Promise<void> {
  const client = await connect(url)
  try {
    const { rows } = await client.query('SELECT FROM pg_roles WHERE rolname = $1', [PLANTED_BY])
    if (rows.length === 0) await client.query(`CREATE ROLE ${PLANTED_BY}`)
    const [owner] = (await client.query<{ name: string }>('SELECT current_user AS name')).rows
    await client.query(`
      GRANT CREATE ON SCHEMA public TO PUBLIC;
      DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO ${PLANTED_BY}', current_database()); END $$;
      SET search_path = pg_catalog;
      SET ROLE ${PLANTED_BY};
      CREATE SCHEMA ${pg.escapeIdentifier(owner?.name ?? '')}`)
    await client.query(
      `SELECT set_config('test.names', $1, false), set_config('test.types', $2, false), set_config('test.operators', $3, false)`,
      [calledNames(), TYPES, OPERATORS],
    )
    for (const schema of ['public', owner?.name ?? '']) {
      await client.query(`SELECT set_config('test.schema', $1, false)`, [schema])
      await client.query(PLANT)
    }
    await client.query(`GRANT USAGE ON SCHEMA ${pg.escapeIdentifier(owner?.name ?? '')} TO PUBLIC`)
  } finally {
    await client.end()
  }
}

it('code of another role would run for each caller with the default path', async () => {
  await expect(queryOnce(database.url, 'select to_jsonb(now())')).rejects.toThrow(RAN)
  await expect(queryOnce(database.url, `select '{a}'::text[] || 'b'::text`)).rejects.toThrow(RAN)
})

it('code of another role runs in no verb', async () => {
  const { app } = rig
  const { signal } = new AbortController()
  expect(await syncAccount(app, { name: 'default', training: true })).toMatchObject({ failed: 0 })
  expect(await syncAccount(app, { name: 'default', full: true, training: true })).toMatchObject({ failed: 0 })
  const file = { account: 'default', path: 'ride.fit', bytes: makeRide() }
  const uploaded = await uploadBytes(app, { ...file, signal })
  expect(uploaded).toMatchObject([{ upload: { state: 'accepted' } }])
  expect(await rebuildAccount(app, { name: 'default' })).toMatchObject({ failures: [] })
  // A transaction of another test on the same server holds the feed back.
  const hasNew = async () => {
    for await (const page of readChanges(app, { since: 0, follow: false, signal }))
      if (page.some(({ kind }) => kind === 'activity.new')) return true
    return false
  }
  await eventually(hasNew, { what: 'a new activity in the feed' })
  await findStatus(app)
  const { creators_in_public } = await app.store.read((tx) => findDatabaseFacts(tx))
  expect(creators_in_public).toContain(PLANTED_BY)
  await exportAll(app, { dir: join(rig.dataDir, 'history'), kind: 'by_hand' })
  const queries = await openForTest(openQueries({ connectionString: app.databaseUrl, write: false }))
  const [result] = await collectResults(
    queries,
    `select to_jsonb(now()), round(1.25::float8, 1), array_agg(path) || 'x'::text from activities`,
  )
  expect(result?.rows).toHaveLength(1)
  for (const { sql } of COOKBOOK) await collectResults(queries, sql)
  await restoreInto(target.url, await backUpToMemory(database.url))
  await upsertReader(app.config, rig.log.log, { name: READER })
  expect(rig.log.text()).not.toContain(RAN)
})

it('code of another role runs neither in the daemon and its pages nor for an assistant', async () => {
  const { signal } = new AbortController()
  const daemon = await openDaemon(rig.app.config, rig.log.log, { roles: ROLES, signal })
  try {
    const headers = { authorization: `Bearer ${TOKEN}` }
    const ask = async (path: string) => (await fetch(`${daemon.url}${path}`, { headers })).status
    await eventually(async () => (await ask('/readyz')) === 200, { what: 'a good poll' })
    const [ride] = await rig.sql`
      select activity_id as id, path from training.activities where sample_count > 0 limit 1`
    const pages = 'today runs fitness activities/list?q=a activities/calendar?year=2025'
    const ofRide = [`/api/activities/${ride?.id}`, `/api/activities/${ride?.id}/samples`]
    for (const path of ['/metrics', ...readWords(pages).map((page) => `/api/${page}`), ...ofRide])
      expect([path, await ask(path)]).toEqual([path, 200])
    const client = await connectHttp(String(daemon.url))
    const { tools } = await client.listTools()
    const needed: Record<string, Record<string, unknown>> = {
      get_activity: { activity: String(ride?.path) },
      run_query: { sql: 'select to_jsonb(now()), round(1.25::float8, 1)' },
    }
    for (const { name } of tools) {
      const { isError, text } = await callTool(client, name, needed[name])
      expect([name, isError, isError ? text : '']).toEqual([name, false, ''])
    }
    await client.readResource({ uri: 'musette://schema.md' })
  } finally {
    await daemon.close()
  }
  expect(rig.log.text()).not.toContain(RAN)
})
