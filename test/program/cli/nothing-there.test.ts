import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeReleaseStack } from '../../../src/kit/release-stack.ts'
import { eventually } from '../../kit/eventually.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { listProcessesNaming } from '../../kit/processes.ts'
import { openTempDir, type TempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'
import { LINES } from './lines.ts'
import { openCliRig } from './rig.ts'

/** They find faults and settings, also where nothing is. */
const LOOKING = [['doctor'], ['config'], ['config', '--json']]

const release = makeReleaseStack()
let folder: TempDir
beforeEach(async () => {
  folder = await openTempDir('nothing')
})
afterEach(async () => {
  await release.release()
  await folder.close()
})

const musette = (args: readonly string[], env: Record<string, string> = {}) =>
  runVerb(args, { cwd: folder.path, env: { MUSETTE_HTTP: 'off', ...env }, isWithoutData: true })

describe('a folder without data', () => {
  it.each([...LINES.asks, ...LINES.connects].map((line) => [line.join(' '), line] as const))(
    'stays unchanged, and %s says what to type',
    async (_, args) => {
      const { code, stdout, stderr } = await musette(args)
      const dataDir = join(folder.path, '.musette')
      expect(stderr).toContain(`musette: there is no data in ${dataDir}; run: musette login, or musette demo`)
      expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
      expect(await readdir(folder.path)).toEqual([])
      expect(await listProcessesNaming(folder.path)).toEqual([])
    },
  )

  it.each(LOOKING)('stays unchanged after %s %s', async (...args) => {
    const { stdout, stderr } = await musette(args)
    expect(stderr).toBe('')
    expect(stdout).toContain('MUSETTE_BASE_URL')
    expect(await readdir(folder.path)).toEqual([])
  })

  it('from MUSETTE_DATA_DIR is not created', async () => {
    const dataDir = join(folder.path, 'far', 'away')
    const { code, stderr } = await musette(['status'], { MUSETTE_DATA_DIR: dataDir })
    expect({ code, stderr }).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`no data in ${dataDir};`),
    })
    expect(await readdir(folder.path)).toEqual([])
  })

  it('makes verbs name the data of the demo, if only that exists', async () => {
    await mkdir(join(folder.path, '.musette/demo/postgres'), { recursive: true })
    const { code, stderr } = await musette(['status'])
    expect(stderr).toMatch(/the data of the demo is read with MUSETTE_DATA_DIR=\S+\/\.musette\/demo$/m)
    expect(code).toBe(3)
  })
})

describe('an empty database of the user', () => {
  it('stays empty, and each reading verb says what to type', async () => {
    const rig = await openCliRig({ activities: 1, migrated: false })
    release.defer('rig', () => rig.close())
    for (const args of LINES.asks) {
      const { code, stdout, stderr } = await rig.musette(args)
      expect({ args, stderr }).toEqual({
        args,
        stderr: expect.stringMatching(/database is empty; run: musette login/),
      })
      expect({ args, code, stdout }).toEqual({ args, code: 3, stdout: '' })
    }
    const schemas = await queryOnce(
      rig.databaseUrl,
      "select nspname from pg_namespace where nspname !~ '^(pg_|information_schema$|public$)'",
    )
    expect(schemas).toEqual([])
    expect(await readdir(rig.dataDir)).toEqual([])
  }, 300_000)
})

describe('a database of the user with data, on a machine that has none of its own', () => {
  it('is read without creating a file', async () => {
    const rig = await openCliRig({ activities: 1 })
    release.defer('rig', () => rig.close())
    await rig.signIn()
    const dataDir = join(folder.path, 'data')
    for (const args of LINES.reads) {
      // A change is printed when no transaction of the whole server, other tests' too, is older than it.
      const isRead = async () => {
        const env = { DATABASE_URL: rig.databaseUrl, MUSETTE_DATA_DIR: dataDir }
        return (await musette(args, env)).stdout !== ''
      }
      await eventually(isRead, { everyMs: 500, what: `an answer of ${args.join(' ')}` })
      expect(await readdir(folder.path), args.join(' ')).toEqual([])
    }
    const there = await rig.musette(['status'])
    expect(there).toMatchObject({ code: 0, stdout: expect.stringContaining('signed in') })
  }, 300_000)
})
