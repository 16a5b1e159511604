import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { FEATURES } from '../../src/features/index.ts'
import { whole } from '../kit/sampling.ts'
import { openTempDir } from '../kit/temp-dir.ts'
import { copyWithout, listDangling } from './remove-feature.ts'

const NAMES = FEATURES.map(({ name }) => name)
/** One by chance, or REMOVE=name; with WHOLE=1 each is removed, and all of them at once. */
const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 1_000_000))
const chosen = process.env.REMOVE ?? (NAMES[seed % NAMES.length] as string)
process.stderr.write(
  `musette tests: removes the feature ${chosen}; again with SEED=${seed} or REMOVE=${chosen}\n`,
)

/** The tests that use no feature: none of them goes with one. */
const CORE_TESTS = ['test/core/', 'test/kit/']
const PROGRAM_TESTS = ['test/program/app/', 'test/program/cli/', 'test/program/doctor/']
/** Those that take seconds and need no server. */
const QUICK_TESTS = [
  'test/core/normalize/',
  'test/core/mirror/',
  'test/core/store/activity-rows',
  'test/core/upload/',
  'test/core/vault/seal',
  // The tables of verbs, their help and the commands that sentences name.
  'test/program/cli/lines',
  'test/program/cli/help',
  'test/program/doctor/commands',
]

async function openCopyWithout(features: readonly string[]) {
  const folder = await openTempDir('removal')
  onTestFinished(() => folder.close())
  return { copy: folder.path, removed: copyWithout(features, folder.path) }
}

/** Tells what is wrong with a copy: what does not fit together, is not built, or fails. */
async function findFaults(copy: string, tests: readonly string[]): Promise<string[]> {
  const knip = ['--production', '--config', 'config/knip.json']
  const faults = [
    ...listDangling(copy, 'src'),
    await run(copy, 'tsc', '--noEmit', '-p', 'tsconfig.json'),
    // Libraries that only these features need are no fault of the core.
    await run(copy, 'knip', ...knip, '--include', 'files,unresolved'),
    await run(copy, 'node', 'config/setup.mjs', 'build'),
    await run(copy, 'vitest', 'run', '--config', 'config/vitest.config.ts', ...tests),
  ]
  return faults.filter(Boolean)
}

const isOf = (folders: readonly string[]) => (path: string) =>
  folders.some((folder) => path.startsWith(folder))

it.each(whole ? NAMES : [chosen])(
  'without the feature %s the program is built, nothing of it is left over, and core and program pass their quick tests',
  { timeout: 600_000 },
  async (feature) => {
    const { copy, removed } = await openCopyWithout([feature])
    expect(removed.filter(isOf([...CORE_TESTS, ...PROGRAM_TESTS]))).toEqual([])
    expect(await findFaults(copy, ['--project', 'plain', ...QUICK_TESTS])).toEqual([])
  },
)

it.runIf(whole)(
  'without any feature the program is built, and the core passes all its tests',
  { timeout: 3_600_000 },
  async () => {
    const { copy, removed } = await openCopyWithout(NAMES)
    expect(removed.filter(isOf(CORE_TESTS))).toEqual([])
    expect(await findFaults(copy, CORE_TESTS)).toEqual([])
  },
)

it('a file of the core that imports a feature is named when that is removed', async () => {
  const planted = 'src/core/fit/planted.ts'
  const { copy } = await openCopyWithout([chosen])
  const imported = relative(dirname(planted), `src/features/${chosen}/feature.ts`)
  writeFileSync(join(copy, planted), `import '${imported}'\n`)
  expect(listDangling(copy, 'src')).toEqual([planted])
})

/** Runs a program in the copy; returns what it writes when it fails, else nothing. */
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
