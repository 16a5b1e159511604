import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { GuardedReader } from '../../../../src/features/mcp/guarded-reader.ts'
import { openScene, type Scene } from '../../../core/store/sql/scene.ts'
import { connect } from '../../../kit/connect.ts'
import { eventually } from '../../../kit/eventually.ts'
import { queryOnce } from '../../../kit/postgres.ts'
import { sample, whole } from '../../../kit/sampling.ts'
import { dropAssistantLogins, openTestReader } from './rig.ts'
import { CHANNEL, ENDLESS, generateHostile, SECRET } from './statements.ts'

const STATEMENTS = whole ? 10_000 : 300
const SEED = Number(process.env.HOSTILE_SEED ?? 20_250_701)
const LIMIT_MS = 900_000
/** Condition for the roles that do not belong to assistants. */
const OURS = `rolname ~ '^musette' and rolname !~ '^musette_(mcp|template|account|one_account)'`

let scene: Scene
let release: () => Promise<void>
// Statements change nothing, so all tests share one database.
beforeAll(async () => {
  scene = await openScene((close) => {
    release = close
  })
  const mine = await scene.account('mine')
  const other = await scene.account('other')
  for (const account of [mine, other]) {
    const activity = await scene.ride(account, '2025-06-01T08:00:00Z', { xss: 50 })
    await scene.query(
      `insert into training.samples (activity_id, t, power) select $1, now() + s * interval '1 s', s from generate_series(1, 100) s`,
      [activity],
    )
  }
  await queryOnce(
    scene.url,
    `insert into musette.locks (name) values ('${SECRET}');
     create table public.notes (note text); insert into public.notes values ('${SECRET}')`,
  )
})

afterAll(async () => {
  if (scene) await dropAssistantLogins(scene.url)
  await release?.()
})

/** Returns a hash of each table's rows and of the sequences, roles, rights, settings and large objects. */
async function fingerprint(): Promise<Record<string, unknown>> {
  const hash = (select: string) =>
    `select md5(coalesce(string_agg(x::text, '|' order by x::text), '')) as hash from (${select}) x`
  const relations = await queryOnce(
    scene.url,
    `select format('%I.%I', nspname, relname) as name, relkind <> 'S' as is_table from pg_class c join pg_namespace n on n.oid = relnamespace
     where relkind in ('r', 'p', 'S') and nspname !~ '^pg_' and nspname <> 'information_schema' order by 1`,
  )
  const parts: Record<string, unknown> = { relations }
  for (const { name, is_table: isTable } of relations) {
    const columns = isTable ? 'ctid, xmin, *' : '*'
    parts[String(name)] = await queryOnce(scene.url, hash(`select ${columns} from ${name}`))
  }
  for (const [what, select] of Object.entries({
    columns: 'select attrelid, attname, atttypid, attacl from pg_attribute where attnum > 0',
    classes:
      'select oid, relname, relacl, relowner, relrowsecurity, reloptions from pg_class where relpersistence <> $$t$$',
    functions: 'select oid, proname, proacl from pg_proc',
    // Leaves out the logins that other tests create at the same time.
    roles: `select rolname, rolsuper, rolcanlogin, rolpassword from pg_authid where ${OURS} or rolname = 'mine'`,
    settings: `select setdatabase, setrole, setconfig from pg_db_role_setting s join pg_roles r on r.oid = setrole
      where ${OURS} or rolname = current_user`,
    objects: 'select oid from pg_largeobject_metadata',
    schemas: `select nspname, nspacl from pg_namespace where nspname !~ '^pg_'`,
    extensions: 'select extname from pg_extension',
    policies: 'select polname, polrelid from pg_policy',
    comments: 'select objoid, objsubid, description from pg_description where objoid >= 16384',
  }))
    parts[what] = await queryOnce(scene.url, hash(select))
  return parts
}

async function openListener(): Promise<() => number> {
  const client = await connect(scene.url)
  let heard = 0
  client.on('notification', () => {
    heard += 1
  })
  onTestFinished(() => client.end())
  await client.query(`listen ${CHANNEL}`)
  return () => heard
}

/** Waits until no session, advisory lock or temporary table of an assistant is left in the database. */
async function expectNothingLeft(): Promise<void> {
  await eventually(async () => {
    const left = await queryOnce(
      scene.url,
      `select pid from pg_stat_activity where datname = current_database() and application_name = 'musette mcp'
       union all select pid from pg_locks
       where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())
       union all select 0 from pg_class where relpersistence = 't'`,
    )
    return left.length === 0
  })
}

type Outcome = { statement: string; rows: string; code: string | undefined }

async function tell(reader: GuardedReader, statement: string): Promise<Outcome> {
  try {
    const { rows } = await reader.read({ text: statement })
    return { statement, rows: JSON.stringify(rows), code: undefined }
  } catch (error) {
    return { statement, rows: String(error), code: (error as { code?: string }).code }
  }
}

async function runAll(reader: GuardedReader, statements: readonly string[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  const rest = [...statements]
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      for (let next = rest.pop(); next !== undefined; next = rest.pop())
        outcomes.push(await tell(reader, next))
    }),
  )
  return outcomes
}

const KNOWN = [undefined, 'sql_rejected', 'query_timed_out']

describe('thousands of hostile statements', { timeout: LIMIT_MS }, () => {
  it('change nothing, see no secret, and leave no lock, session or notification', async () => {
    const reader = openTestReader(scene.url, { timeoutMs: 1_000 })
    await reader.read({ text: 'select 1' })
    const before = await fingerprint()
    const heard = await openListener()
    const outcomes = await runAll(reader, generateHostile(STATEMENTS, SEED))
    expect(outcomes, `HOSTILE_SEED=${SEED} repeats this`).toHaveLength(STATEMENTS)
    expect(outcomes.filter(({ rows }) => rows.includes(SECRET) || rows.includes('SCRAM-SHA-256'))).toEqual([])
    expect(outcomes.filter(({ code }) => !KNOWN.includes(code))).toEqual([])
    // Some statements must succeed; otherwise the test would prove nothing about what a statement can do.
    expect(outcomes.filter(({ code }) => code === undefined).length).toBeGreaterThan(STATEMENTS / 30)
    await expectNothingLeft()
    expect(await fingerprint()).toEqual(before)
    expect(heard()).toBe(0)
  })

  it('see no other account if limited to one, whatever they set', async () => {
    const reader = openTestReader(scene.url, { timeoutMs: 1_000, account: 'mine' })
    const marks =
      await scene.query(`update training.activities set name = 'OTHER-MARK', description = 'OTHER-MARK'
      where account_id = (select account_id from training.accounts where name = 'other') returning activity_id`)
    expect(marks).toHaveLength(1)
    await reader.read({ text: 'select 1' })
    const before = await fingerprint()
    const relations = await scene.query(
      `select relname from pg_class where relnamespace = 'training'::regnamespace and relkind in ('r', 'v')`,
    )
    const plain = relations.map(({ relname }) => `select (t.*)::text from training.${relname} t`)
    const answers = await runAll(reader, [...plain, ...generateHostile(STATEMENTS / 10, SEED + 1)])
    const passed = answers.filter(({ code, rows }) => code === undefined && rows.length > 10)
    expect(passed.length).toBeGreaterThan(5)
    for (const { rows, statement } of answers)
      expect(rows.replaceAll(statement, ''), statement).not.toMatch(/OTHER-MARK|sealed-secret/)
    expect(await fingerprint()).toEqual(before)
  })
})

describe('an endless statement', () => {
  let reader: GuardedReader
  beforeAll(() => {
    reader = openTestReader(scene.url, { timeoutMs: 500 }, () => undefined)
  })

  it.each(sample(ENDLESS, 6))('is stopped at the time limit: %s', async (statement) => {
    const { code, rows } = await tell(reader, statement)
    expect(KNOWN).toContain(code)
    if (code === undefined) expect(rows.length).toBeLessThan(1_500_000)
    await expectNothingLeft()
    expect((await tell(reader, 'select 1')).rows).toBe('[["1"]]')
  })

  it('is stopped even if every login may run code blocks and end sessions', async () => {
    await reader.read({ text: 'select 1' })
    await queryOnce(
      scene.url,
      'GRANT USAGE ON LANGUAGE plpgsql TO PUBLIC; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pg_catalog TO PUBLIC',
    )
    for (const statement of ENDLESS.filter((text) => text.startsWith('do'))) {
      expect((await tell(reader, statement)).code, statement).toBe('query_timed_out')
      await expectNothingLeft()
    }
    await tell(reader, 'select pg_advisory_lock(4711)')
    await tell(reader, 'create temp table mine (x int)')
    await expectNothingLeft()
  })
})
