import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import { runsWith } from '../../kit/binaries.ts'
import { openOtherPostgres } from '../../kit/other-postgres.ts'
import { PGBOUNCER } from '../../kit/pooler.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { distPath, runNode } from '../../kit/processes.ts'
import { whole } from '../../kit/sampling.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { makeOwner, type Outcome, runFlow, type Server, type Surroundings } from './flow.ts'
import { TABLE } from './table.ts'

/** Number of other rows that `npm test` draws at random; SEED repeats a draw. */
const DRAWN = 2
const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 1_000_000))
/** Another server, or a new process for each verb, takes several times as long. */
const isSlow = ({ prefix, major, env = {} }: Surroundings) =>
  prefix !== undefined || major !== undefined || 'TZ' in env || 'NODE_PG_FORCE_NATIVE' in env

let server: Server
let sandbox: Sandbox
let expected: Outcome
beforeAll(async () => {
  server = await makeOwner(inject('postgresUrl'))
  sandbox = await startSandbox({ activities: 3, longestActivitySeconds: 120 })
  expected = await runFlow({ server, sandboxUrl: sandbox.url }, { name: 'those of every other test' })
  expect(expected).not.toHaveProperty('said')
})
afterAll(async () => {
  await sandbox?.close()
  await queryOnce(server.url, `DROP ROLE ${server.owner}`)
})

describe.each(draw())(`(SEED=${seed}) with $name`, (surroundings) => {
  it('gives the same tables and answers, or an error with the cause', async (context) => {
    const other = surroundings.major === undefined ? undefined : await openOtherPostgres(surroundings.major)
    if (surroundings.major !== undefined && !other) return context.skip('this machine does not have it')
    try {
      const here = other ? await makeOwner(other.url) : server
      const outcome = await runFlow({ server: here, sandboxUrl: sandbox.url }, surroundings)
      const { refused } = surroundings
      if (refused) expect(outcome).toMatchObject({ said: expect.stringMatching(refused) })
      else expect(outcome).toEqual(expected)
    } catch (error) {
      if (!surroundings.locale || !String(error).includes('locale name')) throw error
      context.skip('this server does not have it')
    } finally {
      await other?.close()
    }
  }, 300_000)
})

/** Variables of a shell that is set up for another server; the first of them made an embedded Postgres hang. */
const OTHER_SERVER = {
  ...{ PGSSLMODE: 'require', PGOPTIONS: '-c datestyle=German', PGDATA: '/nowhere', PGHOST: '203.0.113.1' },
  ...{ PGPORT: '1', PGUSER: 'nobody', PGDATABASE: 'none', PGPASSWORD: 'wrong', NODE_PG_FORCE_NATIVE: '1' },
}

it('the embedded Postgres ignores the Postgres variables of a shell', async () => {
  const folder = await openTempDir('embedded')
  const env = { ...OTHER_SERVER, MUSETTE_BASE_URL: sandbox.url, MUSETTE_DATA_DIR: folder.path }
  const musette = (args: string[]) => runNode([distPath('main.js'), ...args], { env, input: 'rider' })
  try {
    expect(await musette(['login', '--username', 'rider', '--password-stdin'])).toMatchObject({ code: 0 })
    const typed = await musette([
      'sql',
      '--json',
      'select current_user, count(*)::int as n from training.accounts',
    ])
    expect(typed).toMatchObject({ code: 0, stdout: expect.stringContaining('"n":1') })
  } finally {
    await folder.close()
  }
})

/** Draws rows by the seed, after the rows that represent a kind of fault. */
function draw(): readonly Surroundings[] {
  const possible = TABLE.filter(({ pool }) => pool === undefined || runsWith(PGBOUNCER))
  if (whole) return possible
  const fixed = possible.filter(({ always }) => always)
  const rest = possible.filter((row) => !(row.always || isSlow(row)))
  let state = seed
  const drawn = Array.from({ length: DRAWN }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return rest.splice(state % rest.length, 1)
  })
  return [...fixed, ...drawn.flat()]
}
