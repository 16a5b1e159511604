import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openEmbeddedPostgres } from '../../../src/embedded/embedded.ts'
import { eventually } from '../../kit/eventually.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { listProcessesNaming } from '../../kit/processes.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'
import { type, typeVerb } from '../../program/doctor/rig.ts'
import { openReaderLogin } from './reader-login.ts'

describe('musette reader', () => {
  it('prints only the URL to standard output, for a database set in a file', async () => {
    const { name, url } = await openReaderLogin()
    const folder = await openTempDir('reader')
    onTestFinished(() => folder.close())
    const file = join(folder.path, 'url')
    await writeFile(file, `${url}\n`)
    const env = { DATABASE_URL_FILE: file }
    const password = randomBytes(16).toString('hex')
    const line = ['reader', name, '--password-stdin', '--statement-timeout', '2m']
    const made = await runVerb(line, { env, input: `${password}\n` })
    expect(made.code).toBe(0)
    expect(`${made.stdout}${made.stderr}`.split(password)).toHaveLength(2)
    expect(made.stderr).toContain(`user ${name}, the password`)
    const settings = "select current_user as name, current_setting('statement_timeout') as timeout"
    expect(await queryOnce(made.stdout.trim(), settings)).toEqual([{ name, timeout: '2min' }])
    const again = await runVerb(['reader', name], { env })
    expect(await queryOnce(again.stdout.trim(), settings)).toEqual([{ name, timeout: '5min' }])
  })

  it('makes a login of the embedded Postgres that enters no other database', async () => {
    const folder = await openTempDir('reader')
    const server = await openEmbeddedPostgres({ log: makeSilentLog() }, { dataDir: folder.path })
    onTestFinished(async () => {
      await server.close()
      const left = () => listProcessesNaming(folder.path)
      // Stops the background process, which would exit by itself only minutes later.
      await eventually(async () => {
        for (const one of await left()) process.kill(Number.parseInt(one, 10), 'SIGTERM')
        return (await left()).length === 0
      })
      await folder.close()
    })
    const env = { MUSETTE_DATA_DIR: folder.path }
    const made = await runVerb(['reader'], { env })
    expect(made.code).toBe(0)
    const read = () =>
      queryOnce(made.stdout.trim(), 'select current_user as name, count(*)::int as n from activities')
    expect(await read()).toEqual([{ name: 'analyst', n: 0 }])
    const other = Object.assign(new URL(made.stdout.trim()), { pathname: '/postgres' })
    await expect(queryOnce(other.href, 'select 1')).rejects.toMatchObject({ code: '42501' })
    const lost = await runVerb(['sql', '--write', 'select pg_terminate_backend(pg_backend_pid())'], { env })
    expect(lost.code).toBe(4)
    expect((await type('tail ${', lost.stderr)).printed).toContain('terminating connection')
    expect(await typeVerb('musette db-url', made.stderr, { env })).toMatchObject({ code: 0 })
    await server.close()
    expect(await eventually(() => read().catch(() => undefined))).toEqual([{ name: 'analyst', n: 0 }])
  })

  it('exits 2 on bad input', async () => {
    const { name, url } = await openReaderLogin()
    const env = { DATABASE_URL: url }
    const typed = [['Analyst'], ['pg_x'], ['a', 'b'], ['--nix'], [name, '--statement-timeout', 'soon']]
    for (const args of typed)
      expect(await runVerb(['reader', ...args], { env })).toMatchObject({ code: 2, stdout: '' })
  })
})
