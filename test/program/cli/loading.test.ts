import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import manifest from '../../../package.json' with { type: 'json' }
import { openForAll } from '../../kit/open-for.ts'
import { openTestDatabase } from '../../kit/postgres.ts'
import { distPath, runNode, startNode } from '../../kit/processes.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

type Loaded = { packages: string[]; rooms: string[]; ofFeatures: string[] }

describe('a process of the command line', () => {
  const database = openForAll(openTestDatabase)
  const folder = openForAll(() => openTempDir('loading'))

  const loadedBy = async (...args: string[]): Promise<Loaded> => {
    const coverage = join(folder.path, args.join('-').replace(/\W/g, ''))
    const { code, stderr } = await runNode([distPath('main.js'), ...args], {
      env: {
        DATABASE_URL: database.url,
        MUSETTE_DATA_DIR: folder.path,
        // Node writes the URL of every script that the process has run.
        NODE_V8_COVERAGE: coverage,
      },
    })
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' })
    return readLoaded(coverage)
  }

  it('loads no verb code for its help and its version', async () => {
    const light = {
      packages: ['commander', 'fast-string-width'],
      rooms: ['app', 'cli', 'daemon', 'features', 'frame', 'kit', 'main.ts'],
      // The formats are names of choices in the help.
      ofFeatures: ['export-formats.ts', 'feature.ts', 'index.ts', 'workout-formats.ts'],
    }
    for (const line of [['--version'], ['sync', '--help']]) expect(await loadedBy(...line)).toEqual(light)
  })

  it('loads no MQTT code in a daemon without a broker', async () => {
    const coverage = join(folder.path, 'start')
    const daemon = startNode([distPath('main.js'), 'start'], {
      env: {
        DATABASE_URL: database.url,
        MUSETTE_DATA_DIR: folder.path,
        MUSETTE_HTTP: 'off',
        NODE_V8_COVERAGE: coverage,
      },
    })
    await daemon.waitForLine(/"msg":"started"/)
    expect(await daemon.kill('SIGTERM')).toMatchObject({ code: 0 })
    const { packages, rooms } = await readLoaded(coverage)
    expect(packages).toContain('bullmq')
    expect(packages).not.toContain('mqtt')
    expect(rooms).not.toContain('mqtt')
  })

  it('names lines of src in the stack trace of an error, and keeps lines of libraries', async () => {
    const plant = `Object.defineProperty(process.stdout, 'write', { get() { throw new TypeError('planted') } })`
    const planted = ['--import', `data:text/javascript,${encodeURIComponent(plant)}`]
    const env = { MUSETTE_DATA_DIR: folder.path }
    const { code, stderr } = await runNode([...planted, distPath('main.js'), 'config'], { env })
    expect(code).toBe(1)
    const [, line] =
      /at printConfig \(file:\S+\/src\/program\/cli\/verbs\/config\.ts:(\d+):\d+\)/.exec(stderr) ?? []
    const source = await readFile('src/program/cli/verbs/config.ts', 'utf8')
    expect(source.split('\n')[Number(line) - 1], stderr).toContain('printTable(')
    expect(stderr).toMatch(/at async \w+\.parseAsync \(file:\S+\/dist\/chunks\/\S+\.js:\d+:\d+\)/)
  })
})

/**
 * Reads from its coverage what a process has loaded: packages that the manifest names, rooms of src/, and files of features. A file of dist/
 * counts as everything that the build put into it.
 */
async function readLoaded(coverage: string): Promise<Loaded> {
  const inputs: Record<string, { inputs: Record<string, unknown> }> = JSON.parse(
    await readFile(distPath('.inputs.json'), 'utf8'),
  )
  const packages = new Set<string>()
  const rooms = new Set<string>()
  const ofFeatures = new Set<string>()
  for (const name of await readdir(coverage)) {
    const { result } = JSON.parse(await readFile(join(coverage, name), 'utf8')) as {
      result: Array<{ url: string }>
    }
    for (const { url } of result) {
      const [, built = ''] = /\/(dist\/.+\.js)$/.exec(url) ?? []
      for (const path of url.includes('/node_modules/') ? [url] : Object.keys(inputs[built]?.inputs ?? {})) {
        const [, installed] = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path) ?? []
        if (installed && installed in manifest.dependencies) packages.add(installed)
        const [, room] = /^src\/(?:(?:core|program)\/)?([^/]+)/.exec(path) ?? []
        if (room) rooms.add(room)
        if (room === 'features') ofFeatures.add(basename(path))
      }
    }
  }
  return { packages: [...packages].sort(), rooms: [...rooms].sort(), ofFeatures: [...ofFeatures].sort() }
}
