import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { sqlstateOf } from '../../../src/core/store/database-errors.ts'
import { openBinaries, resolveBinaryPackage } from '../../../src/embedded/binaries.ts'
import { makeGuardedReader } from '../../../src/features/mcp/guarded-reader.ts'
import { upsertReader } from '../../../src/features/reader/reader.ts'
import { openDatabaseQueries } from '../../../src/features/sql/raw-query.ts'
import { readConfig } from '../../kit/config.ts'
import { connect } from '../../kit/connect.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { openForAll } from '../../kit/open-for.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { sample } from '../../kit/sampling.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { dropAssistantLogins } from '../mcp/guarded/rig.ts'
import { readCommands, WITHOUT_STATEMENT } from './commands.ts'

const log = makeSilentLog()
const LOGINS = ['sql', 'reader', 'reader of one account', 'assistant', 'assistant of one account'] as const
const TABLE = readCommands()

/** Texts of the server binary that look like command tags but are not: parts of messages and names of rights. */
const NO_TAGS =
  /AND CHAIN$|TO SAVEPOINT$|CONCURRENTLY$|OPTION$|^SET (NULL|WITHOUT|ACCESS|LOGGED|UNLOGGED|LOCAL|TRANSACTION)|SET TABLESPACE$|^DROP COLUMN$|OR REPLACE/

const database = openForAll(openTestDatabase)
const readers = ['wide', 'held'].map((name) => `${name}_${randomBytes(4).toString('hex')}`)
const runs: Record<string, (statement: string) => Promise<unknown>> = {}
const close: Array<() => Promise<unknown>> = []

/** Opens a session of a new reading login with read-write transactions, so that only rights limit it. Rolls back every statement. */
async function openSession(name: string, account?: string) {
  const config = readConfig({ DATABASE_URL: database.url })
  const { url } = await upsertReader(config, log, { name, account })
  const client = await connect(url)
  close.push(() => client.end())
  return async (statement: string) => {
    await client.query('set default_transaction_read_only = off')
    // These statements cannot run inside a transaction.
    const alone =
      /^(vacuum|cluster|create (database|tablespace|subscription)|drop (database|tablespace|subscription)|alter system|discard all|checkpoint|reindex|commit prepared|rollback prepared)/
    if (!alone.test(statement)) await client.query('begin read write')
    try {
      await client.query(statement)
    } finally {
      await client.query('rollback')
    }
  }
}

beforeAll(async () => {
  const accounts = `insert into training.accounts (name, base_url, needs_login)
    select name, 'http://127.0.0.1:9', false from unnest(array['mine', 'other']) name`
  await queryOnce(database.url, accounts)
  runs.sql = async (statement) => {
    const config = readConfig({ DATABASE_URL: database.url })
    const queries = await openDatabaseQueries(config, log, { write: false })
    try {
      for await (const _ of queries.run(statement));
    } finally {
      await queries.close()
    }
  }
  runs['reader of one account'] = await openSession(readers[1] ?? '', 'mine')
  runs.reader = await openSession(readers[0] ?? '')
  for (const [login, account] of [
    ['assistant', undefined],
    ['assistant of one account', 'mine'],
  ] as const) {
    const find = async () => ({ connectionString: database.url, wholeServer: false, account })
    const reader = makeGuardedReader({ log, find })
    runs[login] = (text) => reader.read({ text })
  }
})
afterAll(async () => {
  for (const each of close) await each()
  await dropAssistantLogins(database.url)
  for (const name of readers) await queryOnce(database.url, `drop owned by ${name}; drop role ${name}`)
})

/** Returns `ok`, the SQLSTATE of Postgres's error, or the code of a musette error. */
async function resultOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'ok',
    (error: Error & { code?: string }) => {
      const cause = error.cause as (Error & { code?: string }) | undefined
      return sqlstateOf(error) ?? cause?.code ?? error.code ?? String(error)
    },
  )
}

/** Selects the commands that are refused to every login; a normal run tries a sample of them. */
const isRefused = ({ got }: { got: Array<string | undefined> }) =>
  got.every((result) => ['25006', '42501', '42704'].includes(`${result}`))

describe('each Postgres command', () => {
  it.each(LOGINS.map((login, place) => [login, place] as const))(
    'has the expected result as %s',
    async (login, place) => {
      const name = new URL(database.url).pathname.slice(1)
      const run = runs[login] as (text: string) => Promise<unknown>
      const [others, refused] = [false, true].map((is) => TABLE.filter((row) => isRefused(row) === is))
      const tried = [...(others ?? []), ...sample(refused ?? [], 40)]
      const found: string[] = []
      const next = async (rest: typeof tried) => {
        for (let row = rest.shift(); row; row = rest.shift())
          found.push(`${row.tag}: ${await resultOf(run(row.statement.replace('DB', name)))}`)
      }
      // A reading login runs its statements in one session; the others open a session for each statement.
      const rest = [...tried]
      await Promise.all(Array.from({ length: login.startsWith('reader') ? 1 : 4 }, () => next(rest)))
      expect(found.sort()).toEqual(tried.map(({ tag, got }) => `${tag}: ${got[place]}`).sort())
    },
  )

  it('is in the table of commands', async () => {
    const folder = await openTempDir('binaries')
    onTestFinished(() => folder.close())
    const { postgres } = await openBinaries(resolveBinaryPackage(), folder.path)
    const texts = new Set(
      (await readFile(postgres)).toString('latin1').match(/(?<=\0)[A-Z]{2,}(?: [A-Z]+)*(?=\0)/g),
    )
    const tags = new Set([...WITHOUT_STATEMENT, ...TABLE.map(({ tag }) => tag)])
    const verbs = /^(ALTER|CLOSE|COMMIT|COPY|CREATE|DISCARD|DROP|GRANT|PREPARE|REVOKE|ROLLBACK|SELECT|SET) /
    const named = [...texts].filter((text) => verbs.test(text) && !NO_TAGS.test(text))
    expect(named.filter((text) => !tags.has(text))).toEqual([])
    expect(named.length).toBeGreaterThan(100)
  })
})
