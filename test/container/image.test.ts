import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, chown, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeReleaseStack } from '../../src/kit/release-stack.ts'
import { eventually } from '../kit/eventually.ts'
import { findOrdinaryUser } from '../kit/ordinary-user.ts'
import { openTestDatabase, queryOnce } from '../kit/postgres.ts'
import { type Finished, runNode, startNode } from '../kit/processes.ts'
import { openTempDir } from '../kit/temp-dir.ts'
import { type CliRig, openCliRig } from '../program/cli/rig.ts'
import { readTop } from './dockerfile.ts'
import { makeLayout } from './layout.ts'

const release = makeReleaseStack()
const token = randomBytes(24).toString('hex')
let rig: CliRig
let place: (name: string) => string
let options: { cwd: string; env: Record<string, string>; prefix: readonly string[] }
let main: string
const run = (args: readonly string[], env = {}, input = ''): Promise<Finished> =>
  runNode([main, ...args], { ...options, env: { ...options.env, ...env }, input })

/** The image's files in a folder of root, run by an ordinary user who may write only to /data, /drop and /workouts. */
beforeAll(async () => {
  rig = await openCliRig({ activities: 3, migrated: false })
  release.defer('rig', () => rig.close())
  const folder = await openTempDir('image')
  release.defer('folder', () => folder.close())
  place = (name) => join(folder.path, name)
  await chmod(folder.path, 0o755)
  for (const name of ['app', 'data', 'drop', 'workouts', 'secrets']) await mkdir(place(name))
  const prefix = await findOrdinaryUser()
  if (prefix[0] === 'setpriv')
    for (const name of ['data', 'drop', 'workouts']) await chown(place(name), 65_534, 65_534)
  await writeFile(place('secrets/database_url'), `${rig.databaseUrl}\n`)
  await writeFile(place('secrets/http_token'), `${token}\n`)
  await makeLayout(place('app'))
  main = place('app/dist/musette.cjs')
  options = {
    cwd: place('app'),
    prefix,
    env: {
      NODE_ENV: 'production',
      MUSETTE_BASE_URL: rig.sandboxUrl,
      MUSETTE_DATA_DIR: place('data'),
      MUSETTE_DROP_DIR: place('drop'),
      MUSETTE_WORKOUT_DIR: place('workouts'),
      DATABASE_URL_FILE: place('secrets/database_url'),
      MUSETTE_HTTP_TOKEN_FILE: place('secrets/http_token'),
      MUSETTE_HTTP: '0.0.0.0:0',
    },
  }
})
afterAll(() => release.release())

describe('the files of the image, without development libraries,', () => {
  it('set up a new database, sign in, mirror, serve the dashboard and stop at the signal', async () => {
    const nameless = await run(['migrate'], { DATABASE_URL_FILE: '' })
    expect(nameless).toMatchObject({ code: 2, stderr: expect.stringContaining('DATABASE_URL') })
    const login = await run(['login', '--username', 'rider', '--password-stdin'], {}, 'rider')
    expect(login).toMatchObject({ code: 0, stdout: expect.stringContaining('signed in') })
    const daemon = startNode([main, 'start'], options)
    release.defer('daemon', () => daemon.kill('SIGKILL'))
    const { port } = new URL(JSON.parse(await daemon.waitForLine(/"msg":"started"/)).url)
    const get = (path: string, headers = {}) => fetch(`http://127.0.0.1:${port}${path}`, { headers })
    expect((await get('/')).status).toBe(401)
    for (const path of ['/', '/runs', '/metrics'])
      expect((await get(path, { authorization: `Bearer ${token}` })).status, path).toBe(200)
    const waiting = `select from training.activities having count(*) filter (where detail_state = 'mirrored') = 3`
    await eventually(async () => (await queryOnce(rig.databaseUrl, waiting)).length > 0)
    const healthcheck = () => run(['healthcheck'], { MUSETTE_HTTP: `0.0.0.0:${port}` })
    await eventually(async () => (await healthcheck()).code === 0)
    expect(await daemon.kill('SIGTERM')).toMatchObject({ code: 0, signal: null })
    expect(await healthcheck()).toMatchObject({ code: 4 })
  })

  it('export in every format, and make a login for analysts', async () => {
    const [ride] = await queryOnce(rig.databaseUrl, 'select path from training.activities limit 1')
    const exported = await run(['export', String(ride?.path), '--format', 'parquet'])
    expect(exported).toMatchObject({ code: 0 })
    const name = `reader_${randomBytes(4).toString('hex')}`
    const reader = await run(['reader', name])
    expect(reader).toMatchObject({ code: 0, stdout: expect.stringContaining(`postgres://${name}:`) })
    await queryOnce(rig.databaseUrl, `drop role ${name}`)
  })

  it('work with the commands of docs/compose.md, and write only into their volumes', async () => {
    const database = await openTestDatabase({ migrated: false })
    release.defer('database', () => database.close())
    const outside = place('outside')
    await mkdir(outside)
    await chmod(outside, 0o777)
    await writeFile(join(outside, 'webhooks.json'), '[]')
    await writeFile(place('secrets/empty'), `${database.url}\n`)
    const [, section = ''] =
      /## Files, backups and restores\n([\s\S]*?)\n## /.exec(readTop('docs/compose.md')) ?? []
    const lines = [...section.matchAll(/^ {4}docker compose run --rm -T (.+)$/gm)].map(
      ([, line = '']) => line,
    )
    expect(lines).toHaveLength(5)
    for (const line of lines) {
      const typed = line
        .replace(/^--entrypoint (\w+) musette/, '$1')
        .replace(/^musette/, `${process.execPath} ${main}`)
        .replaceAll('/data/', `${place('data')}/`)
      const more = line.includes('restore') ? { DATABASE_URL_FILE: place('secrets/empty') } : {}
      const [program = '', ...args] = [...options.prefix, 'sh', '-c', typed]
      const env = { ...process.env, ...options.env, ...more }
      await promisify(execFile)(program, args, { cwd: outside, env })
    }
    const counted = 'select count(*) from training.samples'
    expect(await queryOnce(database.url, counted)).toEqual(await queryOnce(rig.databaseUrl, counted))
    expect((await readdir(place('data'))).sort()).toEqual([
      expect.stringMatching(/^newest-change-[0-9a-f-]{36}\.json$/),
      // From the command without a database URL.
      'postgres.owner',
      'secret.key',
      'webhooks.json',
    ])
    const app = ['LICENSE', 'config', 'dist', 'drizzle', 'package.json']
    expect((await readdir(place('app'))).sort()).toEqual(app)
    await rm(outside, { recursive: true })
  })
})
