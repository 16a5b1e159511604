import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openForAll } from '../../kit/open-for.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'
import { dropAssistantLogins } from '../mcp/guarded/rig.ts'

const database = openForAll(openTestDatabase)
const folder = openForAll(() => openTempDir('sql-rights'))
const sql = (args: readonly string[], url = database.url, more: Record<string, string> = {}) =>
  runVerb(['sql', ...args], { env: { DATABASE_URL: url, MUSETTE_DATA_DIR: folder.path, ...more } })
const written = () => join(folder.path, 'written')
const tag = randomBytes(4).toString('hex')
/** Owners that may not create logins: one may also terminate sessions, the other may not. */
const [mighty, plain] = [`mighty_${tag}`, `plain_${tag}`]
const urlOf = (name: string) =>
  Object.assign(new URL(database.url), { username: name, password: 'owns' }).href

beforeAll(async () => {
  await queryOnce(
    database.url,
    `create role ${mighty} login password 'owns'; create role ${plain} login password 'owns'; grant pg_signal_backend to ${mighty};
     grant usage on schema training, musette to ${mighty}, ${plain}; grant select on all tables in schema training, musette to ${mighty}, ${plain};
     create table public.notes as select 'mine' as note; insert into training.accounts (name, base_url) values ('mine', 'http://127.0.0.1:9')`,
  )
})
afterAll(async () => {
  await dropAssistantLogins(database.url)
  await queryOnce(database.url, `drop owned by ${mighty}, ${plain}; drop role ${mighty}, ${plain}`)
})

/** Harmful statements that a superuser may run in a read-only transaction. */
const HARMFUL = (file: string) => [
  `copy (select 1) to program 'id > ${file}'`,
  `copy (select 1) to '${file}'`,
  `select lo_export(1, '${file}')`,
  "select pg_read_file('postgresql.conf')",
  "select pg_ls_dir('.')",
  'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()',
  'select pg_switch_wal()',
  'select pg_reload_conf()',
  'select rolpassword from pg_authid',
  'select access_token from musette.credentials',
  'set role pg_read_all_data',
  'set session authorization musette',
]

describe('musette sql without --write', () => {
  it.each(HARMFUL('FILE'))('refuses to a superuser: %s', async (statement) => {
    const { code, stdout, stderr } = await sql([statement.replace('FILE', written())])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/permission denied|must be superuser|add --write/)
    expect(existsSync(written())).toBe(false)
  })

  it('reads only the mirror, and suggests --write for other tables', async () => {
    expect((await sql(['--csv', 'select name from accounts'])).stdout).toBe('name\nmine\n')
    const notes = 'select note from public.notes'
    expect(await sql([notes])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/permission denied for table notes; .*add --write/),
    })
    expect((await sql(['--csv', '--write', notes])).stdout).toBe('note\nmine\n')
  })

  it('has the rights of the owner with --write', async () => {
    expect(await sql(['--write', "select pg_read_file('PG_VERSION')"])).toMatchObject({ code: 0 })
  })

  it('reads as an owner that may not create logins, unless it has other rights', async () => {
    const who = ['--csv', 'select current_user as name, count(*) as accounts from accounts']
    expect((await sql(who, urlOf(plain))).stdout).toBe(`name,accounts\n${plain},1\n`)
    const refused = await sql(who, urlOf(mighty))
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toMatch(/may not make logins; run: musette reader analyst, .*add --write/)
    const { stdout } = await runVerb(['reader', `reads_${tag}`], { env: { DATABASE_URL: database.url } })
    const given = { MUSETTE_READER_URL: stdout.trim() }
    expect((await sql(who, urlOf(mighty), given)).stdout).toBe(`name,accounts\nreads_${tag},1\n`)
    await queryOnce(database.url, `drop role reads_${tag}`)
  })
})
