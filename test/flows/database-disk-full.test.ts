import { chown, mkdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { eventually } from '../kit/eventually.ts'
import { findFreePort } from '../kit/listen.ts'
import { openForEach, openForTest } from '../kit/open-for.ts'
import { openTestDatabase, queryOnce } from '../kit/postgres.ts'
import { distPath, startNode } from '../kit/processes.ts'
import { canMount, fillDisk, openSmallDisk } from '../kit/small-disk.ts'
import { openTempDir } from '../kit/temp-dir.ts'
import { look } from '../program/doctor/rig.ts'

const folder = openForEach(() => openTempDir('full'))
const SOON = { timeoutMs: 60_000, everyMs: 200 }

/** Opens a database whose files are on a small disk. */
async function openOnSmallDisk() {
  const disk = await openSmallDisk(64)
  const place = join(disk, 'postgres')
  await mkdir(place, { mode: 0o700 })
  const { url } = await openForTest(openTestDatabase())
  const server = Object.assign(new URL(url), { pathname: '/postgres' }).href
  const name = new URL(url).pathname.slice(1)
  const [answer] = await queryOnce(server, `SELECT current_setting('data_directory') AS dir`)
  const { uid, gid } = await stat(String(answer?.dir))
  await chown(place, uid, gid)
  await queryOnce(server, `CREATE TABLESPACE ${name} LOCATION '${place}'`)
  onTestFinished(async () => {
    await queryOnce(server, `DROP DATABASE ${name} WITH (FORCE)`)
    await queryOnce(server, `DROP TABLESPACE ${name}`)
  })
  await queryOnce(server, `ALTER DATABASE ${name} SET TABLESPACE ${name}`)
  const fillers: string[] = []
  return {
    env: { DATABASE_URL: url, MUSETTE_DATA_DIR: folder.path },
    fill: async () => void fillers.push(await fillDisk(disk, 0, `.filler-${fillers.length}`)),
    free: () => Promise.all(fillers.splice(0).map((filler) => rm(filler))),
  }
}

// Mounting a small disk needs root and Linux.
describe.skipIf(!canMount())('a Postgres server with a full disk', () => {
  it('is a problem for doctor, which tries to write there', async () => {
    const { env, fill, free } = await openOnSmallDisk()
    expect(await look('database', env)).toEqual([])
    await fill()
    expect(await look('database', env)).toEqual([
      {
        ...{ state: 'problem', kind: 'unreachable' },
        found: expect.stringMatching(
          /^the database's disk is full: .*; make room on the disk of the database server/,
        ),
        run: 'musette doctor',
      },
    ])
    await free()
    expect(await look('database', env)).toEqual([])
  })

  it('makes /readyz unavailable, and the daemon waits and continues by itself', async () => {
    const { env, fill, free } = await openOnSmallDisk()
    await fill()
    const port = await findFreePort()
    const daemon = startNode([distPath('main.js'), 'start'], {
      env: { ...env, MUSETTE_HTTP: `127.0.0.1:${port}` },
    })
    onTestFinished(async () => void (await daemon.kill('SIGKILL')))
    const ready = async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`)
      return { status: answer.status, database: JSON.parse(await answer.text()).parts.database }
    }
    await daemon.waitForLine(/waiting for the database.*the database's disk is full: .*make room/, 60_000)
    const waits = { status: 503, database: 'its disk is full; musette waits for it' }
    expect(await eventually(ready, SOON)).toEqual(waits)
    await free()
    await daemon.waitForLine(/"msg":"started"/, 60_000)
    await eventually(async () => (await ready()).status === 200, SOON)
    const full = { status: 503, database: 'its disk is full; run: musette doctor' }
    await eventually(async () => {
      await fill()
      expect(await ready()).toEqual(full)
      return true
    }, SOON)
    await free()
    await eventually(async () => (await ready()).status === 200, SOON)
  }, 120_000)
})
