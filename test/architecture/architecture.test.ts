import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  findCycle,
  listIdleExceptions,
  listPageViolations,
  listPathUses,
  listViolations,
  parseSource,
  readSources,
} from './rooms.ts'

const sources = readSources()
/** Files by their paths, each with its whole text. */
const plant = (...files: ReadonlyArray<[path: string, text: string]>) =>
  files.map(([path, text]) => parseSource(path, text))
const pathsOf = (files: typeof sources) => files.map(({ path }) => path)

describe('the rooms of src', () => {
  it('import only what the table of ARCHITECTURE.md allows, types from the rooms below, and no type from a room above', () => {
    expect(listViolations(sources)).toEqual([])
    const planted = plant(
      ['core/service/planted.ts', `import { openStore } from '../store/store.ts'\n`],
      ['core/normalize/planted.ts', `import { openService } from '../service/service.ts'\n`],
      ['core/mirror/planted.ts', `import { Queue } from 'bullmq'\n`],
      ['program/daemon/planted.ts', `import { FEATURES } from '../../features/index.ts'\n`],
      ['program/daemon/other.ts', `import { openPublisher } from '../../features/mqtt/publisher.ts'\n`],
      ['core/fit/planted.ts', `import { FEATURES } from '../../features/index.ts'\n`],
      ['features/mqtt/planted.ts', `import type { Copy } from '../backup/state.ts'\n`],
      ['features/mqtt/other.ts', `import { openBroker } from './broker.ts'\n`],
      [
        'program/web/planted.ts',
        `import type { Samples } from '../../core/store/samples/encode-samples.ts'\n`,
      ],
      ['core/store/planted.ts', `import type { Read } from '../mirror/mirror.ts'\n`],
    )
    expect(listViolations(planted)).toEqual([
      'core/service/planted.ts imports core/store/store.ts',
      'core/normalize/planted.ts imports core/service/service.ts',
      'core/mirror/planted.ts imports the package bullmq',
      'program/daemon/other.ts imports features/mqtt/publisher.ts',
      'core/fit/planted.ts imports features/index.ts',
      'features/mqtt/planted.ts imports features/backup/state.ts',
      'core/store/planted.ts imports core/mirror/mirror.ts',
    ])
  })

  it('keep each page to its folder, and Node out of the browser', () => {
    expect(listPageViolations(sources)).toEqual([])
    const planted = plant(
      ['features/dashboard/pages/runs/planted.tsx', `import type { View } from '../today/page.tsx'\n`],
      ['features/dashboard/shared/planted.ts', `import { openStore } from '../../../core/store/store.ts'\n`],
      ['features/dashboard/pages/runs/page.tsx', `import { findRuns } from './queries.ts'\n`],
    )
    expect(listPageViolations(planted)).toEqual([
      'features/dashboard/pages/runs/planted.tsx imports features/dashboard/pages/today/page.tsx',
      'features/dashboard/shared/planted.ts imports core/store/store.ts',
      'features/dashboard/pages/runs/page.tsx imports features/dashboard/pages/runs/queries.ts',
    ])
  })

  it('reach files of the drop, workout, backup and export folders through open folders only', () => {
    expect(listPathUses(sources)).toEqual([])
    expect(listIdleExceptions(sources)).toEqual([])
    const planted = plant(
      [
        'core/dropfolder/planted.ts',
        `import { constants, type Stats } from 'node:fs'\nimport { lstat, unlink } from 'node:fs/promises'\n`,
      ],
      ['features/export/planted.ts', `import fs from 'node:fs'\n`],
      ['features/backup/planted.ts', `import { orMissing, openPlainFile } from '../../kit/files.ts'\n`],
      ['features/workoutfiles/planted.ts', `const { rm } = await import('node:fs/promises')\n`],
      ['program/app/files/drop-file.ts', `import type { FileHandle } from 'node:fs/promises'\n`],
      ['core/fit/planted.ts', `import { rm } from 'node:fs/promises'\n`],
    )
    expect(listPathUses(planted).map((line) => line.split(',')[0])).toEqual([
      'core/dropfolder/planted.ts uses lstat',
      'core/dropfolder/planted.ts uses unlink',
      'features/export/planted.ts uses fs',
      'features/backup/planted.ts uses openPlainFile',
      'features/workoutfiles/planted.ts uses import()',
    ])
  })

  it('import each other without a cycle, of types neither', () => {
    expect(findCycle(sources)).toBeUndefined()
    const planted = plant(
      ['kit/a.ts', `import type { B } from './b.ts'\n`],
      ['kit/b.ts', `export { a } from './a.ts'\n`],
    )
    expect(findCycle(planted)).toEqual(['kit/a.ts', 'kit/b.ts', 'kit/a.ts'])
  })

  it.each<[what: string, said: RegExp, where: RegExp]>([
    ['read the environment in config', /process\.env/, /^program\/config\//],
    ['make pools of connections in kit', /new (?:pg\.)?Pool\(/, /^kit\//],
    ['make queues in core/jobs', /new (?:Queue|Worker|IORedis|Redis)\(/, /^core\/jobs\//],
    ['make agents in kit', /new (?:Agent|EnvHttpProxyAgent)\(/, /^kit\//],
    [
      // Of one Node and the next, other roots and powers differ in the last digit, which a comparison would tell as a change.
      'take roots by square roots in core/normalize',
      /\*\* 0?\.\d|Math\.(?:pow|cbrt|exp|log)\b/,
      /^(?!core\/normalize\/)/,
    ],
    [
      // The store of a page and of a download is the visitor's, see openVisitorStore.
      'read as the owner of the database outside of pages',
      /\b(?:owner|web|opened)\.store\b|\b(?:from|join|table) musette\./i,
      /^(?!features\/(?:dashboard\/|[^/]+\/routes\.ts))/,
    ],
    ['make watchers in core/dropfolder', /chokidar\.watch\(/, /^core\/dropfolder\//],
    [
      'connect to Postgres by the client that hides the password',
      /new (?:pg\.)?Client\(|new pg\.Pool\((?!.*Client: PostgresClient)/,
      /^$/,
    ],
    [
      // Node 20 collects those of AbortSignal; in a browser nothing is forgotten.
      'combine signals and timeouts with joinSignals',
      /AbortSignal\.(?:any|timeout)\(/,
      /^features\/dashboard\/shared\//,
    ],
  ])('%s alone', (_what, said, where) => {
    expect(pathsOf(sources.filter(({ path, text }) => said.test(text) && !where.test(path)))).toEqual([])
  })

  it('use only the parts of undici that the built program has', () => {
    const parts: object = createRequire(import.meta.url)('../../config/undici.cjs')
    const imported = sources.flatMap(({ text }) =>
      [...text.matchAll(/^import \{([^}]*)\} from 'undici'/gm)].flatMap(([, names = '']) =>
        names.split(',').map((name) => name.trim()),
      ),
    )
    const taken = imported.filter((name) => name !== '' && !name.startsWith('type '))
    expect(taken).not.toEqual([])
    expect(taken.filter((name) => !Object.hasOwn(parts, name))).toEqual([])
  })

  it('have no file over 400 lines', () => {
    expect(pathsOf(sources.filter(({ text }) => text.split('\n').length > 400))).toEqual([])
  })

  it('are not deep: at most 15 files a folder and two levels of folders in a room or a feature', () => {
    const folders = new Map<string, number>()
    for (const { path } of sources) folders.set(dirname(path), (folders.get(dirname(path)) ?? 0) + 1)
    expect([...folders].filter(([, files]) => files > 15)).toEqual([])
    const roots = /^(?:(?:core|features|program)\/[^/]+|[^/]+)\/?/
    const depthOf = (folder: string) => folder.replace(roots, '').split('/').length
    expect([...folders.keys()].filter((folder) => depthOf(folder) > 2)).toEqual([])
  })
})

it('tests connect to Postgres by test/kit/connect.ts, so that a server that ends a connection ends no process', () => {
  const makes = /new pg\.(?:Client|Pool)\(/
  const own = [
    // Programs that are processes of their own, and one that connects to nothing.
    'embedded/owner-child.ts',
    'flows/upgrade/stop-at-query.mjs',
    'program/config/database-urls.test.ts',
  ]
  expect(pathsOf(readSources('test').filter(({ text }) => makes.test(text))).toSorted()).toEqual(
    [...own, 'kit/connect.ts'].toSorted(),
  )
})

it('tests read whole rows as (t.*)::text: samples, records, messages and tracks have a column t, which t::text would read alone', () => {
  const takesColumn = /(?<![\w.])t::text|(?:to_jsonb|row_to_json)\(t\)/
  const own = 'architecture/architecture.test.ts'
  const found = readSources('test').filter(({ path, text }) => path !== own && takesColumn.test(text))
  expect(pathsOf(found)).toEqual([])
})
