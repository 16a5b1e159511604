import { expect, it } from 'vitest'
import { makeNearest } from './choose.ts'
import type { TestRecord } from './record.ts'

const POLL = `import { LAG } from './lag.ts'
/** Polls. */
export async function poll() {
  return makeWindow(LAG)
}
const LIMITS = { first: 3 }
export const list = () => LIMITS.first
function made() { return 1 }
`
const FILES: Record<string, string> = {
  'test/core/mirror/poll.test.ts': "import { open } from './open.ts'\n",
  'test/core/mirror/open.ts': "export const open = () => import('../../kit/kit.ts')\n",
  'test/kit/kit.ts': '',
  'src/main.ts': "import './program/cli/cli.ts'\n",
  'src/program/cli/cli.ts': 'export const run = () => 1\n',
  'src/program/cli/verbs/sync.ts':
    "import { poll } from '../../../core/mirror/poll.ts'\ndefineVerb({ name: 'sync', run: poll })\n",
  'src/core/mirror/poll.ts': POLL,
  'src/core/mirror/lag.ts': 'export const LAG = 5\n',
  'src/core/mirror/never-run.ts': 'export function forgotten() {\n  return 1\n}\n',
  'src/core/store/schema/tables.ts': 'export const rides =\n  table()\n',
  'src/features/dashboard/pages/activity/facts.tsx': 'export const Facts = () => 1\n',
  ...Object.fromEntries(
    [
      ...['core/mirror/list', 'core/mirror/unknown', 'core/store/store', 'flows/wide', 'flows/narrow'],
      ...['flows/verbs', 'features/dashboard/activity-page', 'features/dashboard/frame', 'docs/structure'],
    ].map((name) => [`test/${name}.test.ts`, '']),
  ),
}
const RECORD: TestRecord = new Map(
  Object.entries({
    'test/core/mirror/poll.test.ts': { 'src/core/mirror/poll.ts': ['poll'] },
    'test/core/mirror/list.test.ts': { 'src/core/mirror/poll.ts': ['list'] },
    'test/core/store/store.test.ts': { 'src/core/store/store.ts': ['poll'] },
    'test/flows/wide.test.ts': { 'src/core/mirror/poll.ts': ['poll'], 'src/a.ts': ['a'], 'src/b.ts': ['b'] },
    'test/flows/narrow.test.ts': { 'src/core/mirror/poll.ts': ['poll'], 'src/a.ts': ['a'] },
    'test/flows/verbs.test.ts': {},
  }).map(([file, functions]) => [
    file,
    { functions, seconds: 10, verbs: file.includes('verbs') ? ['sync'] : [] },
  ]),
)

it.each<[change: string, path: string, line: number, near: string]>([
  ['a function', 'src/core/mirror/poll.ts', 4, 'poll unknown narrow wide verbs'],
  ['a value of another file, by mentions', 'src/core/mirror/lag.ts', 1, 'unknown poll narrow wide verbs'],
  ['a value beside its function', 'src/core/mirror/poll.ts', 6, 'unknown list verbs'],
  ['a function that no test ran, by its room', 'src/core/mirror/never-run.ts', 2, 'unknown poll list'],
  ['a verb of the built program', 'src/program/cli/cli.ts', 1, 'verbs'],
  ['a comment', 'src/core/mirror/poll.ts', 2, ''],
  ['an import', 'src/core/mirror/poll.ts', 1, ''],
  ['a test', 'test/flows/wide.test.ts', 1, 'wide'],
  ['a helper of a helper', 'test/kit/kit.ts', 1, 'poll'],
  ['a page, by its name', 'src/features/dashboard/pages/activity/facts.tsx', 1, 'activity-page frame'],
  ['a style, by its room', 'src/features/dashboard/shared/page.css', 1, 'activity-page frame'],
  ['a program of a test', 'test/core/store/child.mjs', 1, 'store'],
  ['a migration', 'drizzle/0001_new.sql', 1, 'store'],
])('the nearest tests of %s (%s:%i) are %j', (_change, path, line, near) => {
  const nearest = makeNearest(new Map(Object.entries(FILES)), RECORD)
  const found = nearest([{ path, text: FILES[path] ?? '', lines: [line] }])
  expect(found.map((file) => /([\w-]+)\.test/.exec(file)?.[1]).join(' ')).toBe(near)
})

it.each<[changes: string, paths: string[], near: string]>([
  [
    'a migration with a change of a feature',
    ['drizzle/0001_new.sql', 'src/features/dashboard/pages/activity/facts.tsx'],
    'activity-page frame store',
  ],
  [
    'the tables of a migration',
    ['src/core/store/schema/tables.ts', 'src/core/mirror/never-run.ts'],
    'unknown poll list store',
  ],
  [
    'two rooms',
    ['src/core/mirror/never-run.ts', 'src/features/dashboard/pages/activity/facts.tsx'],
    'activity-page unknown frame poll list',
  ],
  ['the structure of the database', ['drizzle/structure/views/totals.sql'], 'structure'],
])('the tests of each changed folder come first: %s', (_changes, paths, near) => {
  const nearest = makeNearest(new Map(Object.entries(FILES)), RECORD)
  const found = nearest(paths.map((path) => ({ path, text: FILES[path] ?? '', lines: [1, 2] })))
  expect(found.map((file) => /([\w-]+)\.test/.exec(file)?.[1]).join(' ')).toBe(near)
})
