import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { findIdentity } from '../../../src/core/store/database-facts.ts'
import { openLocalApp } from '../../../src/program/app/local-app.ts'
import { openDatabaseWatch } from '../../../src/program/daemon/database-watch.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { readConfig } from '../../kit/config.ts'
import { eventually } from '../../kit/eventually.ts'
import { makeTestLog } from '../../kit/log.ts'
import { openForAll } from '../../kit/open-for.ts'
import { distPath, runNode, startNode } from '../../kit/processes.ts'
import { makeRide } from '../../kit/ride.ts'
import { steer } from '../../kit/steer.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

const folder = openForAll(() => openTempDir('copied'))
const sandbox = openForAll(() => startSandbox({ activities: 0 }))
const place = (name: string) => join(folder.path, name)
const main = distPath('main.js')
const envOf = (name: string) => ({
  MUSETTE_DATA_DIR: place(name),
  MUSETTE_DROP_DIR: place('drop'),
  MUSETTE_BASE_URL: sandbox.url,
  MUSETTE_AFTER_UPLOAD: 'keep',
  MUSETTE_HTTP: 'off',
})
const copy = (from: string, to: string) => promisify(execFile)('cp', ['-a', place(from), place(to)])

/** Opens the database of a data directory as verbs do, and lets the daemon look at it. */
async function lookAt(name: string) {
  const { log, lines } = makeTestLog()
  const app = await openLocalApp(readConfig(envOf(name)), log)
  const { identity, line, earlierLines } = await app.store.read(findIdentity)
  const watch = await openDatabaseWatch({ ...app, log })
  await watch.close()
  const causes = await app.store.read(({ client }) =>
    client.query(`select detail ->> 'cause' as cause from training.changes where kind = 'restored'`),
  )
  await app.close()
  const isTold = lines.some(({ msg }) => String(msg).includes('is a copy of another one'))
  expect(watch.database.line).toBe(line)
  return { identity, line, earlierLines, causes: causes.rows.map(({ cause }) => cause), isTold }
}

beforeAll(async () => {
  await mkdir(place('drop'))
  const login = ['login', '--username', 'rider', '--password-stdin', '--timezone', 'UTC']
  const signedIn = await runNode([main, ...login], { env: envOf('first'), input: 'rider' })
  expect(signedIn).toMatchObject({ code: 0 })
})

it('a copy of a data directory gets its own line and keeps it', async () => {
  const first = await lookAt('first')
  await copy('first', 'copy')
  const copied = await lookAt('copy')
  expect(copied).toMatchObject({ identity: first.identity, earlierLines: [], causes: ['copy'], isTold: true })
  expect(copied.line).not.toBe(first.line)
  expect(await lookAt('copy')).toEqual({ ...copied, isTold: false })
  expect(await lookAt('first')).toEqual({ ...first, causes: [], isTold: false })
})

it('daemons of a data directory and of its copy upload a shared file once, and the copy says so', async () => {
  await copy('first', 'second')
  const start = (name: string) => {
    const daemon = startNode([main, 'start'], { env: envOf(name) })
    onTestFinished(async () => void (await daemon.kill()))
    return daemon
  }
  const first = start('first')
  await first.waitForLine(/watching the drop folder/)
  const second = start('second')
  await second.waitForLine(/another database with the same identity/)
  await writeFile(place('drop/ride.fit'), makeRide())
  const uploads = async () => (await steer<{ uploads: unknown }>(sandbox.url, 'GET', 'counts')).uploads
  const isSent = async () => Object.values(Object(await uploads())).some((count) => count !== 0)
  await eventually(isSent, { what: 'the upload', timeoutMs: 20_000 })
  const said = (verb: string) => runNode([main, verb], { env: envOf('second') })
  for (const { stdout, stderr } of await Promise.all([said('status'), said('doctor')]))
    expect(`${stdout}${stderr}`.replaceAll(/\s+/g, ' ')).toContain(
      `run: rm ${place('drop/.musette-database.json')}`,
    )
  expect(await uploads()).toEqual({ accepted: 1, refused: 0 })
})
