import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../kit/eventually.ts'
import { findOrdinaryUser } from '../kit/ordinary-user.ts'
import { openTestDatabase, queryOnce } from '../kit/postgres.ts'
import { type Finished, runNode, startNode } from '../kit/processes.ts'
import { openTempDir, type TempDir } from '../kit/temp-dir.ts'
import { openCliRig } from '../program/cli/rig.ts'
import { readTop } from './dockerfile.ts'
import { makeLayout } from './layout.ts'

type Rig = Awaited<ReturnType<typeof openCliRig>>

let rig: Rig
let folder: TempDir
let options: { cwd: string; env: Record<string, string>; prefix: readonly string[] }
let main: string
let stop: () => Promise<unknown> = async () => undefined
const run = (args: readonly string[], input = ''): Promise<Finished> =>
  runNode([main, ...args], { ...options, input })

/** The image's files in a folder of root's, run by an ordinary user, who may write /data, /drop and /workouts alone. */
beforeAll(async () => {
  rig = await openCliRig({ activities: 3, migrated: false })
  folder = await openTempDir('image')
  const place = (name: string) => join(folder.path, name)
  const url = new URL(rig.databaseUrl)
  await chmod(folder.path, 0o755)
  for (const name of ['app', 'data', 'drop', 'workouts', 'secrets']) await mkdir(place(name))
  for (const name of ['data', 'drop', 'workouts']) await chmod(place(name), 0o777)
  await writeFile(place('secrets/database_url'), `${url.href}\n`)
  await writeFile(place('secrets/http_token'), `${randomBytes(24).toString('hex')}\n`)
  await makeLayout(place('app'))
  main = place('app/dist/musette.cjs')
  options = {
    cwd: place('app'),
    prefix: await findOrdinaryUser(),
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
afterAll(async () => {
  await stop()
  await rig?.close()
  await folder?.close()
})

describe('the files of the image, with none of the libraries for development', () => {
  it('bring a new database to this version, and sign in from standard input', async () => {
    expect(await run(['migrate'])).toMatchObject({ code: 0 })
    const login = await run(['login', '--username', 'rider', '--password-stdin'], 'rider')
    expect(login).toMatchObject({ code: 0, stdout: expect.stringContaining('signed in') })
  })

  it('mirror, serve the dashboard and stop at the signal', async () => {
    const daemon = startNode([main, 'start'], options)
    stop = () => daemon.kill('SIGKILL')
    const { url } = JSON.parse(await daemon.waitForLine(/"msg":"started"/)) as { url: string }
    const { port } = new URL(url)
    const token = (await readFile(join(folder.path, 'secrets/http_token'), 'utf8')).trim()
    const get = (path: string, headers = {}) => fetch(`http://127.0.0.1:${port}${path}`, { headers })
    const authorization = `Bearer ${token}`
    expect((await get('/')).status).toBe(401)
    for (const path of ['/', '/runs', '/metrics']) {
      expect((await get(path, { authorization })).status, path).toBe(200)
    }
    await eventually(async () => {
      const rows = await queryOnce(rig.databaseUrl, 'select detail_state from training.activities')
      return rows.length === 3 && rows.every((row) => row.detail_state === 'mirrored')
    })
    const env = { ...options.env, MUSETTE_HTTP: `0.0.0.0:${port}` }
    const healthcheck = () => runNode([main, 'healthcheck'], { ...options, env })
    await eventually(async () => (await healthcheck()).code === 0)
    expect(await daemon.kill('SIGTERM')).toMatchObject({ code: 0, signal: null })
    expect(await healthcheck()).toMatchObject({ code: 4 })
  })

  it('export a ride in every format, and make a login for analysts', async () => {
    const [ride] = await queryOnce(rig.databaseUrl, 'select path from training.activities limit 1')
    for (const format of ['csv', 'json', 'parquet']) {
      expect(await run(['export', String(ride?.path), '--format', format]), format).toMatchObject({ code: 0 })
    }
    const name = `reader_${randomBytes(4).toString('hex')}`
    const reader = await run(['reader', name])
    expect(reader).toMatchObject({ code: 0, stdout: expect.stringContaining(`postgres://${name}:`) })
    await queryOnce(rig.databaseUrl, `drop role ${name}`)
  })

  it('name the setting for a database, which the image does not contain', async () => {
    const { DATABASE_URL_FILE: _, ...env } = options.env
    const { code, stderr } = await runNode([main, 'migrate'], { ...options, env })
    expect(code).toBe(2)
    expect(stderr).toContain('DATABASE_URL')
  })

  it('are backed up, given a file and restored by the lines of docs/compose.md', async () => {
    const database = await openTestDatabase({ migrated: false })
    const outside = join(folder.path, 'outside')
    try {
      await mkdir(outside)
      await chmod(outside, 0o777)
      await writeFile(join(outside, 'webhooks.json'), '[]')
      await writeFile(join(folder.path, 'secrets/empty'), `${database.url}\n`)
      const { prefix, env } = options
      const shell = (script: string, more = {}) => {
        const [program = '', ...args] = [...prefix, 'sh', '-c', script]
        return promisify(execFile)(program, args, { cwd: outside, env: { ...process.env, ...env, ...more } })
      }
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
          .replaceAll('/data/', `${folder.path}/data/`)
        const more = line.includes('restore') ? { DATABASE_URL_FILE: join(folder.path, 'secrets/empty') } : {}
        await shell(typed, more)
      }
      expect(await readdir(join(folder.path, 'data'))).toContain('webhooks.json')
      await rm(join(folder.path, 'data/webhooks.json'))
      const counted = 'select count(*) from training.samples'
      expect(await queryOnce(database.url, counted)).toEqual(await queryOnce(rig.databaseUrl, counted))
    } finally {
      await database.close()
    }
  })

  it('write only into data, drop and workouts', async () => {
    expect((await readdir(join(folder.path, 'app'))).sort()).toEqual([
      'LICENSE',
      'config',
      'dist',
      'drizzle',
      'package.json',
    ])
    expect((await readdir(join(folder.path, 'data'))).sort()).toEqual([
      expect.stringMatching(/^newest-change-[0-9a-f-]{36}\.json$/),
      'secret.key',
    ])
  })
})
