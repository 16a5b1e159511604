import { execFileSync } from 'node:child_process'
import { open, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openEmbeddedPostgres } from '../../../src/embedded/embedded.ts'
import { makeReleaseStack } from '../../../src/kit/release-stack.ts'
import { eventually } from '../../kit/eventually.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { distPath } from '../../kit/processes.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { type CliRig, openCliRig } from '../../program/cli/rig.ts'
import { contentOf } from './rig.ts'

/** Processes start slowly while other tests run. */
const OFTEN = { everyMs: 100 }

let rig: CliRig
let file: string
const release = makeReleaseStack()
beforeAll(async () => {
  rig = await openCliRig({ activities: 12 })
  file = join(rig.dataDir, 'mirror.tar')
  await rig.signIn()
}, 120_000)
afterEach(() => release.release())
afterAll(() => rig.close())

async function openFolder(): Promise<string> {
  const folder = await openTempDir('backup')
  release.defer('folder', () => folder.close())
  return folder.path
}

async function openTarget(): Promise<string> {
  const database = await openTestDatabase({ migrated: false })
  release.defer('database', () => database.close())
  return database.url
}

describe('a backup', () => {
  it('made while the daemon fetches is one moment of the mirror, and a sync completes the restored one', async () => {
    const daemon = rig.start(['start'], { env: { MUSETTE_LOG_LEVEL: 'debug' } })
    release.defer('daemon', () => daemon.kill('SIGKILL'))
    await eventually(async () => {
      const [row] = await queryOnce(rig.databaseUrl, 'select exists (select from training.samples) as found')
      return row?.found
    }, OFTEN)
    const made = await rig.musette(['backup', file])
    expect(made.code, made.stderr).toBe(0)
    await daemon.kill('SIGTERM')
    const url = await openTarget()
    const restored = await rig.musette(['restore', file], { env: { DATABASE_URL: url } })
    expect(restored.code, restored.stderr).toBe(0)
    const [sums] = await queryOnce(
      url,
      `select (select coalesce(sum(sample_count), 0) from training.activities)::int as told, count(*)::int as held
       from training.samples`,
    )
    expect(sums?.held).toBe(sums?.told)
    const synced = await rig.musette(['sync'], { env: { DATABASE_URL: url } })
    expect(synced.stderr).toContain('12 activities here')
  }, 120_000)

  it('is restored on a bare machine by one command, row for row; both commands mention the key', async () => {
    await rig.musette(['sync'])
    const made = await rig.musette(['backup', file])
    expect(made.stderr).toMatch(/\d+ tables with [\d,]+ rows are in .*mirror\.tar, [\d.]+ [kM]B/)
    expect(made.stderr).toContain(
      `the key that opens the logins is not in the backup; keep a copy of the key file ${rig.dataDir}/secret.key`,
    )
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    const key = await readFile(join(rig.dataDir, 'secret.key'), 'utf8')
    expect((await readFile(file)).includes(Buffer.from(key, 'base64'))).toBe(false)
    const dataDir = await openFolder()
    const bare = { DATABASE_URL: '', MUSETTE_DATA_DIR: dataDir }
    const restored = await rig.musette(['restore', file], { env: bare })
    expect(restored.code, restored.stderr).toBe(0)
    expect(restored.stderr).toMatch(
      /of the login of "default" is not here; put it in place with musette key import FILE/,
    )
    const server = await openEmbeddedPostgres({ log: makeSilentLog() }, { dataDir })
    expect(await contentOf(server.url)).toEqual(await contentOf(rig.databaseUrl))
    await server.close()
    const { stdout } = await rig.musette(['doctor', '--json'], { env: bare })
    expect(stdout).toContain('musette login')
    await writeFile(join(dataDir, 'secret.key'), await readFile(join(rig.dataDir, 'secret.key')), {
      mode: 0o600,
    })
    const again = await rig.musette(['sync'], { env: bare })
    expect(again.stderr).toContain('nothing new; 12 activities here')
    const second = await rig.musette(['restore', file], { env: bare })
    expect(second.stderr).toContain('this database is not empty')
    expect(second.code).toBe(2)
  }, 120_000)

  it('goes through a pipe into another database', async () => {
    const url = await openTarget()
    const env = { PATH: process.env.PATH, ...rig.env }
    const command = `"$0" "$1" backup - | DATABASE_URL='${url}' "$0" "$1" restore -`
    execFileSync('bash', ['-o', 'pipefail', '-c', command, process.execPath, distPath('main.js')], {
      env,
      stdio: 'pipe',
    })
    expect(await contentOf(url)).toEqual(await contentOf(rig.databaseUrl))
  })

  it('names foreign objects that are not in it', async () => {
    await queryOnce(rig.databaseUrl, 'create index mine on training.activities (name)')
    const named = await rig.musette(['backup', file])
    await queryOnce(rig.databaseUrl, 'drop index training.mine')
    const sentence = 'is not of musette and is not in the backup; copy it with pg_dump'
    expect(named.stderr).toContain(`musette: index training.mine ${sentence}`)
    expect(named.stderr.split(sentence)).toHaveLength(2)
  })

  it('of a database without an account is refused, and an older file stays', async () => {
    const empty = await openTestDatabase()
    release.defer('database', () => empty.close())
    const before = await readFile(file)
    const refused = await rig.musette(['backup', file], { env: { DATABASE_URL: empty.url } })
    expect(refused.stderr).toContain('there is nothing to back up')
    expect(refused.code).toBe(2)
    expect((await readFile(file)).equals(before)).toBe(true)
  })

  it('that is killed leaves the older file unchanged, and no new one', async () => {
    const folder = await openFolder()
    const path = join(folder, 'old.tar')
    await writeFile(path, 'old')
    const client = new pg.Client({ connectionString: rig.databaseUrl })
    await client.connect()
    release.defer('client', () => client.end())
    await client.query('begin; lock table training.sync_runs in access exclusive mode')
    const running = rig.start(['backup', path])
    await eventually(async () => (await readdir(folder)).some((name) => name.endsWith('.part')), OFTEN)
    await running.kill('SIGKILL')
    expect(await readFile(path, 'utf8')).toBe('old')
  })

  it('that fills the disk ends with 4 and the path, and leaves no file', async () => {
    // Every write to this device fails as on a full disk.
    const refused = await rig.musette(['backup', '/dev/full'])
    expect(refused.stderr).toMatch(/\/dev\/full cannot be written: the disk is full \(ENOSPC\); .* make room/)
    expect(refused.code).toBe(4)
    const missing = await rig.musette(['backup', join(rig.dataDir, 'nowhere', 'a.tar')])
    expect(missing.stderr).toMatch(/\S+a\.tar cannot be written \(ENOENT/)
    expect(missing.code).toBe(2)
  })
})

describe('a restore', () => {
  it('that is killed in the middle leaves an empty database, which can be restored then', async () => {
    const url = await openTarget()
    const env = { DATABASE_URL: url }
    const pipe = join(await openFolder(), 'pipe')
    execFileSync('sh', ['-c', 'mkfifo "$0"', pipe])
    const running = rig.start(['restore', pipe], { env })
    const bytes = await readFile(file)
    const writer = await open(pipe, 'w')
    await writer.write(bytes, 0, bytes.length - 20_000)
    await eventually(async () => {
      const copying =
        "select from pg_stat_activity where datname = current_database() and query like 'COPY \"training%'"
      return (await queryOnce(url, copying)).length > 0
    }, OFTEN)
    await running.kill('SIGKILL')
    await writer.close()
    await eventually(async () => {
      const [row] = await queryOnce(url, "select to_regclass('training.accounts') is null as gone")
      return row?.gone
    })
    const restored = await rig.musette(['restore', file], { env })
    expect(restored.code, restored.stderr).toBe(0)
    expect(await contentOf(url)).toEqual(await contentOf(rig.databaseUrl))
  })

  it.each([
    ['a file that is no backup', 'package.json', /this is not a backup of musette/],
    ['a file that is not there', 'nowhere.tar', /\S*nowhere\.tar cannot be read \(ENOENT/],
  ])('of %s is refused with a sentence', async (_, path, sentence) => {
    const refused = await rig.musette(['restore', join(process.cwd(), path)])
    expect(refused.stderr).toMatch(sentence)
    expect(refused.code).toBe(2)
  })
})
