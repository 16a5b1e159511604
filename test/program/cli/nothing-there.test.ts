import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { eventually } from '../../kit/eventually.ts'
import { openForAll, openForEach } from '../../kit/open-for.ts'
import { listProcessesNaming } from '../../kit/processes.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'
import { LINES } from './lines.ts'
import { openCliRig } from './rig.ts'

const folder = openForEach(() => openTempDir('nothing'))

const musette = (args: readonly string[], env: Record<string, string> = {}) =>
  runVerb(args, { cwd: folder.path, env: { MUSETTE_HTTP: 'off', ...env }, isWithoutData: true })

describe('a folder without data', () => {
  it('stays unchanged, and each verb names the next command', async () => {
    for (const line of [...LINES.asks, ...LINES.connects]) {
      const { code, stdout, stderr } = await musette(line)
      const dataDir = join(folder.path, '.musette')
      expect(stderr).toContain(`musette: there is no data in ${dataDir}; run: musette login, or musette demo`)
      expect({ line, code, stdout }).toEqual({ line, code: 3, stdout: '' })
      expect(await readdir(folder.path), line.join(' ')).toEqual([])
    }
    // These verbs find faults and settings, even if there are no data.
    for (const line of [['doctor'], ['config'], ['config', '--json']]) {
      const { stdout, stderr } = await musette(line)
      expect({ line, stderr }).toEqual({ line, stderr: '' })
      expect(stdout).toContain('MUSETTE_BASE_URL')
      expect(await readdir(folder.path), line.join(' ')).toEqual([])
    }
    const dataDir = join(folder.path, 'far', 'away')
    const { code, stderr } = await musette(['status'], { MUSETTE_DATA_DIR: dataDir })
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining(`no data in ${dataDir};`) })
    expect(await readdir(folder.path)).toEqual([])
    expect(await listProcessesNaming(folder.path)).toEqual([])
  }, 180_000)

  it('makes verbs name the data of the demo, if only that exists', async () => {
    await mkdir(join(folder.path, '.musette/demo/postgres'), { recursive: true })
    const { code, stderr } = await musette(['status'])
    expect(stderr).toMatch(/for the data of the demo, set MUSETTE_DATA_DIR=\S+\/\.musette\/demo$/m)
    expect(code).toBe(3)
  })
})

describe('a database of the user', () => {
  const rig = openForAll(() => openCliRig({ activities: 1, migrated: false }))

  it('stays empty, and each reading verb names the next command', async () => {
    for (const args of LINES.asks) {
      const { code, stdout, stderr } = await rig.musette(args)
      const says = expect.stringMatching(/database is empty; run: musette login/)
      expect({ args, code, stdout, stderr }).toEqual({ args, code: 3, stdout: '', stderr: says })
    }
    const schemas = "select nspname from pg_namespace where nspname !~ '^(pg_|information_schema$|public$)'"
    expect(await rig.rows(schemas)).toEqual([])
    expect(await readdir(rig.dataDir)).toEqual([])
  }, 300_000)

  it('is read without creating a file, on a machine without own data', async () => {
    await rig.signIn()
    const env = { DATABASE_URL: rig.databaseUrl, MUSETTE_DATA_DIR: join(folder.path, 'data') }
    for (const args of LINES.reads) {
      // A change is printed only when no transaction of the whole server, including those of other tests, is older than it.
      const isRead = async () => (await musette(args, env)).stdout !== ''
      await eventually(isRead, { everyMs: 500, what: `an answer of ${args.join(' ')}` })
      expect(await readdir(folder.path), args.join(' ')).toEqual([])
    }
  }, 300_000)
})
