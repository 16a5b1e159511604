import { execFileSync } from 'node:child_process'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { acquireLock } from '../../../src/embedded/lock.ts'
import { openMade } from '../../embedded/made.ts'
import { openForTest } from '../../kit/open-for.ts'
import { openTestDatabase } from '../../kit/postgres.ts'
import { distPath, startNode } from '../../kit/processes.ts'
import { sample } from '../../kit/sampling.ts'
import { canMount, fillDisk, openSmallDisk } from '../../kit/small-disk.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'
import { openCliRig } from './rig.ts'

const main = distPath('main.js')
const runNodeVerb = (words: string[], options: { env: Record<string, string> }) =>
  startNode([main, ...words], options).finished
/** What a verb may leave behind for the next verb. */
const KEPT = ['drop', 'postgres.owner', 'postgres.holder', 'postgres.requested']

it('a sync that cannot write what it fetched exits 5, with the number and the reason', async () => {
  const rig = await openForTest(openCliRig({ activities: 12 }))
  await rig.signIn()
  // Postgres reports this for a disk that is full for some rows and not for others.
  await rig.rows(`create function training.disk_full() returns trigger language plpgsql as $$ begin
       raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$;
     create trigger disk_full before update on training.activities for each row
       when (new.detail_state = 'mirrored' and new.activity_id % 12 = 0) execute function training.disk_full()`)
  const full = await rig.musette(['sync'])
  // Activities that were to be recorded in the same batch are not mirrored either; how many these are is chance.
  const [, mirrored, missing] = /(\d+) activit.* here, .*; (\d+) not fetched yet \(/.exec(full.stderr) ?? []
  expect(Number(missing), full.stderr).toBeGreaterThan(0)
  expect(Number(mirrored) + Number(missing)).toBe(12)
  expect(full.stderr).toContain('No space left on device); run: musette sync')
  expect(full.code).toBe(5)
  await rig.rows('drop trigger disk_full on training.activities')
  expect((await rig.musette(['sync'])).stderr).toContain('12 activities here, the newest of 20')
}, 180_000)

it('a verb that waits for the embedded Postgres obeys SIGTERM', async () => {
  const folder = await openForTest(openTempDir('waiting'))
  // This process may run the server, but never does.
  const lock = await acquireLock(folder.path)
  onTestFinished(() => lock?.release())
  const env = { MUSETTE_DATA_DIR: folder.path, MUSETTE_LOG_LEVEL: 'debug' }
  const status = startNode([main, 'status'], { env })
  await status.waitForLine(/waiting for the embedded Postgres/)
  const stopped = { code: 130, stderr: expect.stringContaining('musette: stopped before it finished') }
  expect(await status.kill('SIGTERM')).toMatchObject(stopped)
})

it('a process with a low limit of open files names the number that it needs', async () => {
  const folder = await openForTest(openTempDir('few-files'))
  const env = { MUSETTE_DATA_DIR: folder.path, MUSETTE_BASE_URL: 'http://127.0.0.1:9' }
  const startWith = async (files: number) =>
    expect(
      await startNode([main, 'start'], { env, prefix: ['sh', '-c', `ulimit -n ${files}; exec "$0" "$@"`] })
        .finished,
    ).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(
        /(^|\n)musette: too many open files; raise the limit to 256 or more: ulimit -n 1024, .*\n$/,
      ),
    })
  // Too few files for Node, for a new database, and for its server.
  for (const files of [25, 56]) await startWith(files)
  expect(await startNode([main, 'migrate'], { env }).finished).toMatchObject({ code: 0 })
  await startWith(56)
})

// Mounting a small disk needs root and Linux.
describe.skipIf(!canMount())('on a full disk', () => {
  it('a verb says that the disk is full, and what to do', async () => {
    const env = { MUSETTE_DATA_DIR: join(await openSmallDisk(40), 'data') }
    const { code, stderr } = await startNode([main, 'migrate'], { env }).finished
    expect(stderr).toMatch(
      /does not start: (no space left on device: \S+|the disk of \S+ has \d+ MB left, and Postgres needs 32 MB to start); make room on that disk; run: df -h \S+/,
    )
    expect(code).toBe(4)
  })

  it('every verb of the database exits 4 with 0 bytes or 0 files free, and leaves nothing behind', async () => {
    const made = await openForTest(openMade())
    const dataDir = join(await openSmallDisk(80, 2_500), 'data')
    execFileSync('cp', ['-a', made.path, dataDir])
    const env = { MUSETTE_DATA_DIR: dataDir, MUSETTE_BASE_URL: 'http://127.0.0.1:9', MUSETTE_HTTP: 'off' }
    const before = await readdir(dataDir)
    const lines = sample(['status', 'sync', 'migrate --plan', 'migrate', 'sql select', 'db-url'], 2)
    const filler = await fillDisk(dirname(dataDir))
    const full = [...lines.map((line) => [line, runVerb] as const), ['start', runNodeVerb] as const]
    for (const [line, run] of full)
      expect({ line, ...(await run(line.split(' '), { env, input: 'x' })) }).toMatchObject({
        code: 4,
        stderr: expect.stringMatching(/no space left on device.*; make room on that disk; run: df -h/),
      })
    await rm(filler)
    for (let number = 0; ; number += 1)
      if (await writeFile(join(dirname(dataDir), `${number}`), '').catch(() => true)) break
    expect(await runVerb(['status'], { env })).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('no space left on device'),
    })
    const left = (await readdir(dataDir)).filter((name) => !before.includes(name) && !KEPT.includes(name))
    expect(left).toEqual([])
  })

  it('an answer whose last bytes do not fit does not count as complete', async () => {
    const disk = await openSmallDisk(1)
    const database = await openForTest(openTestDatabase())
    const { code, stderr } = await startNode([main, 'sql', '--csv', `select repeat('x', 3000000)`], {
      prefix: ['sh', '-c', `exec "$0" "$@" > ${disk}/answer.csv`],
      env: { DATABASE_URL: database.url },
    }).finished
    expect(stderr).toContain('standard output cannot be written: the disk is full (ENOSPC)')
    expect(code).toBe(4)
  }, 180_000)
})
