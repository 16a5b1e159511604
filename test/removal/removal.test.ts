import { execFile } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { FEATURES } from '../../src/features/index.ts'
import { openForTest } from '../kit/open-for.ts'
import { whole } from '../kit/sampling.ts'
import { openTempDir } from '../kit/temp-dir.ts'
import { copyWithout, listDangling } from './remove-feature.ts'

const NAMES = FEATURES.map(({ name }) => name)
/** Removes one random feature, or REMOVE=name; with WHOLE=1 each feature in turn, then all at once. */
const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 1_000_000))
const chosen = process.env.REMOVE ?? (NAMES[seed % NAMES.length] as string)
process.stderr.write(
  `musette tests: removes the feature ${chosen}; again with SEED=${seed} or REMOVE=${chosen}\n`,
)

/** The tests that use no feature, so no removal deletes them. */
const KEPT = /^test\/(?:core|kit|program\/(?:app|cli|doctor))\//
/** The tables of verbs, their help, and the commands that messages name. */
const TABLES = ['cli/lines', 'cli/help', 'doctor/commands'].map((name) => `test/program/${name}`)

it.each(whole ? [...NAMES.map((name) => [name]), NAMES] : [[chosen]])(
  'without the feature %s the program builds, has no remains of it, and its tables fit',
  { timeout: 600_000 },
  async (...features) => {
    const folder = await openForTest(openTempDir('removal'))
    const copy = folder.path
    const removed = copyWithout(features, copy)
    expect(removed.filter((path) => KEPT.test(path))).toEqual([])
    const planted = 'src/core/fit/planted.ts'
    writeFileSync(join(copy, planted), `import '../../features/${features[0]}/feature.ts'\n`)
    expect(listDangling(copy, 'src'), 'what the copy lacks').toEqual([planted])
    rmSync(join(copy, planted))
    // Libraries that only these features need do not count as unused by the core; nor do files that several features share, once all are
    // removed.
    const faultsOf = features.length > 1 ? 'unresolved' : 'files,unresolved'
    const knip = ['--production', '--config', 'config/knip.json', '--include', faultsOf]
    const faults = [
      await run(copy, 'tsc', '--noEmit', '-p', 'tsconfig.json'),
      await run(copy, 'knip', ...knip),
      await run(copy, 'node', 'config/setup.mjs', 'build'),
      await run(
        copy,
        'vitest',
        'run',
        '--config',
        'config/vitest.config.ts',
        '--project',
        'plain',
        ...TABLES,
      ),
    ]
    expect(faults.filter(Boolean)).toEqual([])
  },
)

/** Runs a program in the copy; returns its output if it fails, else an empty text. */
async function run(copy: string, command: string, ...options: string[]): Promise<string> {
  const own = Object.entries(process.env).filter(([name]) => !/^(?:VITEST|WHOLE$|NODE_ENV$)/.test(name))
  const path = `${join(copy, 'node_modules/.bin')}:${process.env.PATH}`
  const env = { ...Object.fromEntries(own), PATH: path, NO_COLOR: '1' }
  return await new Promise((resolve) => {
    const settings = { cwd: copy, env, maxBuffer: 64 * 1024 ** 2 }
    execFile(command, options, settings, (error, stdout, stderr) =>
      resolve(error ? `${command} ${options.join(' ')}\n${stdout}${stderr}` : ''),
    )
  })
}
