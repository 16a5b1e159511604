import { createHash, randomBytes } from 'node:crypto'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { makeReleaseStack, type ReleaseStack } from '../../../src/kit/release-stack.ts'
import { openPooler } from '../../kit/pooler.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { distPath, runNode } from '../../kit/processes.ts'
import { steer } from '../../kit/steer.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'

/** The environment in which musette runs; missing members are as in every other test. */
export type Surroundings = {
  name: string
  /** settings of ALTER DATABASE … SET, or of ALTER ROLE … SET for the login in the database */
  settings?: Readonly<Record<string, string>>
  of?: 'database' | 'role'
  /** SQL that a superuser runs in the database first */
  prepare?: string
  /** the locale clause of CREATE DATABASE */
  locale?: string
  /** number of connections of a pooler in front of the database */
  pool?: number
  /** major version of the server, if it differs from that of the tests */
  major?: number
  env?: Readonly<Record<string, string>>
  /** words before the program on the command line */
  prefix?: readonly string[]
  /** represents a kind of fault, so every run includes it */
  always?: boolean
  /** the sentence that names the cause, if musette cannot work */
  refused?: RegExp
}

/** A server, by a superuser's URL, with an ordinary login that owns the databases. */
export type Server = { url: string; owner: string }

const PASSWORD = 'surroundings'
const EDITED = 'Çığ, 12° "steep"\\'
/** A view with whole numbers, texts, times and fractions. */
const OVERVIEW =
  'select *, started_at - started_at as nothing from training.ride_overview order by started_at'

/** Makes the login that owns the databases of a server. */
export async function makeOwner(url: string): Promise<Server> {
  const owner = `owner_${randomBytes(4).toString('hex')}`
  await queryOnce(url, `CREATE ROLE ${owner} LOGIN CREATEROLE PASSWORD '${PASSWORD}'`)
  return { url, owner }
}

/** The result of a flow: hashes of tables and of the output of commands, or the first failed verb with its message. */
export type Outcome = Record<string, unknown> | { verb: string; said: string }

/**
 * Runs everything that a rider does, once: login, sync, an edit at the service, sync, verify, rebuild, exports, SQL, a backup and its
 * restore. The verbs run in processes that have run other verbs, unless the surroundings concern the process.
 */
export async function runFlow(
  { server, sandboxUrl }: { server: Server; sandboxUrl: string },
  surroundings: Surroundings,
): Promise<Outcome> {
  const release = makeReleaseStack()
  try {
    const folder = await openTempDir('surroundings')
    release.defer('folder', () => folder.close())
    await chmod(folder.path, 0o1777)
    const mirror = await openDatabase(release, server, surroundings)
    const restored = await openDatabase(release, server, surroundings)
    const musette = async (args: string[], database = mirror) => {
      const env = {
        MUSETTE_BASE_URL: sandboxUrl,
        DATABASE_URL: database.url,
        MUSETTE_DATA_DIR: join(folder.path, database === mirror ? 'data' : 'restored'),
        MUSETTE_REQUESTS_PER_MINUTE: '100000',
        ...surroundings.env,
      }
      const { prefix } = surroundings
      const options = { cwd: folder.path, env, input: 'rider', timeoutMs: 120_000 }
      const { code, stdout, stderr } = prefix
        ? await runNode([distPath('main.js'), ...args], { ...options, prefix })
        : await runVerb(args, options)
      if (code !== 0) throw new Failed({ verb: args[0] ?? '', said: stderr })
      return stdout
    }
    const { activities } = await steer<{ activities: Array<{ path: string }> }>(
      ...[sandboxUrl, 'GET', 'activities'],
    )
    const path = activities[0]?.path ?? ''
    const edit = (name: string) => steer(sandboxUrl, 'PATCH', `activities/${path}`, { name })
    await edit('before')
    await musette(['login', '--username', 'rider', '--password-stdin'])
    await musette(['sync'])
    await edit(EDITED)
    await musette(['sync'])
    await musette(['verify'])
    await musette(['rebuild'])
    const csv = await musette(['export', path])
    const json = await musette(['export', path, '--format', 'json'])
    const typed = await musette(['sql', '--json', OVERVIEW])
    await musette(['export', '--all', '--to', join(folder.path, 'parquet')])
    await musette(['backup', join(folder.path, 'mirror.tar')])
    await musette(['restore', join(folder.path, 'mirror.tar')], restored)
    const content = await mirror.content()
    expectSame(content, await restored.content())
    return {
      ...content,
      csv: hash(csv),
      json: hash(json.replace(/"\w+_at": ?"[^"]*"/g, '')),
      typed: hash(typed),
    }
  } catch (error) {
    if (error instanceof Failed) return error.outcome
    throw error
  } finally {
    await release.release()
  }
}

class Failed extends Error {
  readonly outcome: { verb: string; said: string }
  constructor(outcome: { verb: string; said: string }) {
    super(`${outcome.verb}: ${outcome.said}`)
    this.outcome = outcome
  }
}

function expectSame(content: Record<string, unknown>, restored: Record<string, unknown>): void {
  const differs = Object.keys(content).filter((name) => content[name] !== restored[name])
  if (differs.length > 0) throw new Failed({ verb: 'restore', said: `differs in ${differs.join(', ')}` })
}

async function openDatabase(release: ReleaseStack, { url, owner }: Server, surroundings: Surroundings) {
  const { locale = "LOCALE 'C'", prepare, settings = {}, of, pool } = surroundings
  const name = `test_${randomBytes(6).toString('hex')}`
  const asSuperuser = new URL(`/${name}`, url).href
  await queryOnce(url, `CREATE DATABASE ${name} OWNER ${owner} TEMPLATE template0 ENCODING 'UTF8' ${locale}`)
  release.defer('database', async () => {
    await queryOnce(url, `DROP DATABASE ${name} WITH (FORCE)`)
  })
  if (prepare) await queryOnce(asSuperuser, prepare)
  const target = of === 'role' ? `ROLE ${owner} IN DATABASE ${name}` : `DATABASE ${name}`
  for (const [setting, value] of Object.entries(settings)) {
    const list = value.split(', ').map((part) => `'${part}'`)
    await queryOnce(url, `ALTER ${target} SET ${setting} = ${list.join(', ')}`)
  }
  const own = new URL(asSuperuser)
  own.username = owner
  own.password = PASSWORD
  const pooler = pool ? await openPooler(own.href, 'session', pool) : undefined
  if (pooler) release.defer('pooler', () => pooler.close())
  return {
    url: pooler?.url ?? own.href,
    content: async () => {
      await queryOnce(url, `ALTER DATABASE ${name} RESET ALL`)
      return contentOf(asSuperuser)
    },
  }
}

/** Tables that record when, and how often, something was fetched. */
const BOOKKEEPING = ['sync_runs', 'sync_cursors', 'waiting_files', 'database', 'changes', 'drift']

/** Tables whose values depend on the time of the request. */
const OF_THE_MOMENT = ['training_info', 'workout_definitions', 'workout_sets', 'workout_files']

/** Reads the number of rows of each table with data from the service, and their hash, regardless of when they were fetched. */
async function contentOf(url: string): Promise<Record<string, unknown>> {
  const tables = await queryOnce(
    url,
    `select n.nspname || '.' || c.relname as name, string_agg(quote_ident(attname), ', ' order by attnum) as columns
     from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'training' and c.relkind = 'r' and attnum > 0 and not attisdropped and c.relname <> all ($1)
       and (atttypid <> 'timestamptz'::regtype or attname in ('started_at', 't')) and attname <> 'run_id'
     group by 1 order by 1`,
    [BOOKKEEPING],
  )
  const selects = tables.map(({ name, columns }) => {
    const lines = `string_agg(row(${columns})::text, E'\\n' order by row(${columns})::text collate "C")`
    const content = OF_THE_MOMENT.includes(String(name).slice('training.'.length)) ? `''` : lines
    return `select '${name}' as name, count(*) || ' ' || md5(coalesce(${content}, '')) as content from ${name}`
  })
  const rows = await queryOnce(url, selects.join(' union all '))
  return Object.fromEntries(rows.map(({ name, content }) => [name, content]))
}

const hash = (text: string) => createHash('sha256').update(text).digest('hex')
