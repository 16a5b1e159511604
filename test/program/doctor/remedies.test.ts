import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { fitCommand } from '../../../src/program/app/remedy.ts'
import { checkNode } from '../../../src/program/doctor/check-machine.ts'
import { readSettings } from '../../kit/config.ts'
import { listen } from '../../kit/listen.ts'
import { openForAll, openForTest } from '../../kit/open-for.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { openLine } from '../../kit/postgres-line.ts'
import { readEnv, readTable } from '../../kit/table.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'
import { look, openLogin, type } from './rig.ts'

const folder = openForAll(() => openTempDir('remedies'))
let dataDir: string
beforeAll(async () => {
  dataDir = join(folder.path, 'data')
  await mkdir(dataDir, { mode: 0o700 })
})

const server = () => inject('postgresUrl')

/** What the sentence tells an administrator to type. */
const statementOf = (found = '') => /type(?: in it)?: (.*)$/.exec(found)?.[1] ?? ''

describe('the suggested command solves the problem', () => {
  it('of a login that may create nothing in the database, by login and doctor', async () => {
    const { env } = await openLogin(dataDir, false)
    const [finding, ...more] = await look('database', env)
    expect(finding).toMatchObject({
      state: 'problem',
      found: expect.stringContaining('GRANT CREATE ON DATABASE'),
    })
    expect(more).toEqual([])
    const migrated = await runVerb(['migrate'], { env, cwd: folder.path })
    expect(migrated).toMatchObject({ code: 2, stderr: expect.stringContaining(statementOf(finding?.found)) })
    await queryOnce(server(), statementOf(finding?.found))
    expect(await look('database', env)).toEqual([])
    expect(await runVerb(['migrate'], { env, cwd: folder.path })).toMatchObject({ code: 0 })
  })

  // What is broken | the kind of the command | the check | how it is made | the settings.
  it.each(
    readTable(`
    a key that others may read | chmod 6 | data directory | install -m 644 /dev/null data/secret.key |
    a replaced key that others may read | chmod 6 | data directory | install -m 644 /dev/null data/secret.key.old-0a1b2c3d |
    a data directory that everybody may enter | chmod 7 | data directory | chmod 755 data |
    a page open to everybody, before there is a data directory | mkdir -p | daemon | true | MUSETTE_HTTP=0.0.0.0:1 MUSETTE_DATA_DIR=new
    a file in place of the drop folder | export \${ | drop folder | touch afile | MUSETTE_DROP_DIR=afile`),
  )('of %s', async (_what, kind = '', check = '', making = '', settings = '') => {
    execFileSync('sh', ['-c', making], { cwd: folder.path })
    const given = { MUSETTE_HTTP: 'off', MUSETTE_DATA_DIR: 'data', ...readEnv(settings) }
    const env = Object.fromEntries(
      Object.entries(given).map(([name, text]) => [
        name,
        /_DIR$/.test(name) ? join(folder.path, text) : text,
      ]),
    )
    const problems = await look(check, env)
    expect(problems).toHaveLength(1)
    const after = await type(kind, problems[0]?.run, { env, fill: { '…': join(folder.path, 'drop') } })
    expect(await look(check, after.env)).not.toContainEqual(problems[0])
  })

  it('of another program on the port, wherever it is set', async () => {
    const stranger = createServer((_request, response) => response.end('hello'))
    const port = await listen(stranger)
    onTestFinished(() => {
      stranger.close()
    })
    const inShell = { MUSETTE_DATA_DIR: dataDir, MUSETTE_HTTP: `127.0.0.1:${port}` }
    const [finding] = await look('daemon', inShell)
    expect(finding?.found).toContain('it comes from the environment')
    const [none] = await look('daemon', (await type('export M', finding?.run, { env: inShell })).env)
    expect(none).toMatchObject({ state: 'warning', run: 'musette start' })
    const file = join(folder.path, 'some.env')
    await writeFile(file, `# MUSETTE_HTTP=off\nexport MUSETTE_HTTP=127.0.0.1:${port}`)
    const config = readSettings({ MUSETTE_DATA_DIR: dataDir }, file).config
    await type('sed -i', fitCommand(finding?.run ?? '', config))
    const { http } = readSettings({ MUSETTE_DATA_DIR: dataDir }, file).config
    expect(finding?.run).toBe(`export MUSETTE_HTTP=127.0.0.1:${http?.port}`)
    expect(http?.port).not.toBe(port)
  })

  it('of a file of webhooks that cannot be read', async () => {
    const file = join(folder.path, 'webhooks.json')
    await writeFile(file, '[{', { mode: 0o600 })
    const env = { MUSETTE_DATA_DIR: dataDir, MUSETTE_WEBHOOKS: file, MUSETTE_HTTP: 'off' }
    const [finding] = await look('configuration', env)
    expect(finding?.found).toMatch(
      /^MUSETTE_WEBHOOKS names a file that is not JSON; correct it, and look again/,
    )
    await expect(type('musette config', finding?.run, { env })).rejects.toThrow()
    await writeFile(file, '[]')
    await type('musette config', finding?.run, { env })
    expect(await look('configuration', env)).toEqual([])
  })
})

describe('a check that cannot be made', () => {
  it('shows the version of a Node that is too old', async () => {
    const [finding] = await checkNode(undefined, '18.20.8')
    expect((await type('node --version', finding?.run)).printed).toBe(`${process.version}\n`)
  })

  it('shows the disk of a drop folder that is not mounted, and does not create the folder', async () => {
    const env = { MUSETTE_DATA_DIR: dataDir, MUSETTE_DROP_DIR: join(folder.path, "it's away", 'drop') }
    const [finding] = await look('drop folder', env)
    expect(finding).toMatchObject({ state: 'warning', found: expect.stringContaining('mount that') })
    const { printed } = await type('df ${', finding?.run)
    expect(printed).toContain('%')
    expect(await readdir(folder.path)).not.toContain("it's away")
  })

  it('tries the address of a database that does not answer, without its password and without DATABASE_URL in the shell', async () => {
    const line = await openForTest(openLine(server()))
    line.become('cut')
    const url = new URL(line.url)
    url.password = 'hunter2'
    const [finding] = await look('database', { MUSETTE_DATA_DIR: dataDir, DATABASE_URL: url.href })
    expect(finding?.run).not.toContain('hunter2')
    await expect(type('pg_isready -d', finding?.run)).rejects.toMatchObject({ code: expect.any(Number) })
    line.become('good')
    await type('pg_isready -d', finding?.run)
  })

  it('shows what answers at the address of the service, and when nothing does', async () => {
    const server = createServer((_request, response) => response.end('<html>a router</html>'))
    const port = await listen(server)
    const env = { MUSETTE_DATA_DIR: dataDir, MUSETTE_BASE_URL: `http://127.0.0.1:${port}` }
    const [other] = await look('service', env)
    expect((await type('curl -i', other?.run)).printed).toMatch(/^HTTP.* 200 OK[\s\S]*a router/)
    await new Promise((resolve) => server.close(resolve))
    const [silent] = await look('service', env)
    await expect(type('curl -I', silent?.run)).rejects.toMatchObject({ code: 7 })
    server.listen(port, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    expect((await type('curl -I', silent?.run)).printed).toMatch(/^HTTP.* 200 OK/)
  })
})
