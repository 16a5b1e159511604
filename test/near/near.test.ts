import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { runInThisContext } from 'node:vm'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openTempDir } from '../kit/temp-dir.ts'
import { readChanges } from './changes.ts'
import { makeNearest, takeWithin } from './choose.ts'
import { withMarks } from './declarations.ts'
import { readCheckout } from './imports.ts'
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
  'src/features/dashboard/pages/activity/facts.tsx': 'export const Facts = () => 1\n',
  ...Object.fromEntries(
    [
      ...['core/mirror/list', 'core/mirror/unknown', 'core/store/store', 'flows/wide', 'flows/narrow'],
      ...['flows/verbs', 'features/dashboard/activity-page', 'features/dashboard/frame'],
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
const ALL = Object.keys(FILES).filter((path) => path.endsWith('.test.ts'))

describe('the nearest tests', () => {
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
  ])('of %s (%s:%i) are %j', (_change, path, line, near) => {
    const nearest = makeNearest(new Map(Object.entries(FILES)), RECORD)
    const found = nearest([{ path, text: FILES[path] ?? '', lines: [line] }])
    expect(found.map((file) => /([\w-]+)\.test/.exec(file)?.[1]).join(' ')).toBe(near)
  })

  it('are taken as long as they take less than the limit together, and a quick one after one that is too slow', () => {
    const record = new Map(RECORD).set('test/flows/wide.test.ts', { functions: {}, verbs: [], seconds: 300 })
    const files = ['test/flows/wide.test.ts', ...ALL.filter((file) => file !== 'test/flows/wide.test.ts')]
    const { chosen, seconds } = takeWithin(record, files, 20)
    expect(chosen.length).toBeGreaterThan(1)
    expect(chosen).not.toContain('test/flows/wide.test.ts')
    expect(chosen.length).toBeLessThan(files.length - 1)
    expect(seconds).toBeLessThanOrEqual(20)
  })
})

it('reads the lines that differ from a commit, in files that are new, changed, renamed, deleted and unknown to git', async () => {
  const folder = await openTempDir('near')
  onTestFinished(() => folder.close())
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder.path, path)), { recursive: true })
    writeFileSync(join(folder.path, path), text)
  }
  const who = ['-c', 'user.name=a', '-c', 'user.email=a@example.org']
  const git = (...args: string[]) =>
    execFileSync('git', [...who, ...args], { cwd: folder.path, stdio: 'ignore' })
  git('init')
  write('test/a.test.ts', '')
  write('src/a.ts', 'one\ntwo\nthree\n')
  write('src/old.ts', 'a\nb\nc\nd\ne\nf\n')
  write('src/gone.ts', 'gone\n')
  git('add', '.')
  git('commit', '-m', 'a')
  write('src/a.ts', 'one\n2\nthree\nfour\n')
  write('src/new.ts', 'x\ny')
  renameSync(join(folder.path, 'src/old.ts'), join(folder.path, 'src/renamed.ts'))
  write('src/renamed.ts', 'a\nb\nc\nd\ne\nF\n')
  rmSync(join(folder.path, 'src/gone.ts'))
  git('add', '-N', 'src/renamed.ts')
  const changes = readChanges(folder.path, 'HEAD').map(({ path, lines }) => `${path} ${lines}`)
  expect(changes.sort().join('; ')).toBe(
    'src/a.ts 2; src/a.ts 2,4; src/gone.ts 1; src/new.ts 1,2; src/old.ts 6; src/renamed.ts 6',
  )
  const all = [...readCheckout(folder.path).keys()].sort().join(' ')
  expect(all).toBe('src/a.ts src/new.ts src/renamed.ts test/a.test.ts')
})

describe('marked code', () => {
  it.each([
    ['function f(a = 1) { return a }; f()', ['f']],
    ['const f = () => 1; const g = () => f(); g()', ['f', 'g']],
    ['const f = () => ({ a: 1 }); f().a', ['f']],
    ['const f = (a) => (b) => a + b; f(1)(2)', ['f']],
    ['const f = async () => await 1; f()', ['f']],
    ['const o = { run() { return 1 }, key: () => 2, other: () => 3 }; o.run(); o.key()', ['o.run', 'o.key']],
    ['class A { constructor() { this.a = 1 } m() { return 2 } }; new A().m()', ['A.constructor', 'A.m']],
    ['function* f() { yield 1 }; [...f()]', ['f']],
    ['function f() { const inner = () => 1\nreturn inner() }; f()', ['f', 'f.inner']],
    ['function never() { return 1 }; 2', []],
  ])('%s  runs as before and says that %j ran', (text, names) => {
    const path = `src/${text}`
    const marked = withMarks(path, text)
    expect(marked.split('\n')).toHaveLength(text.split('\n').length)
    const run = (code: string) => runInThisContext(`{${code}}`)
    expect(String(run(marked))).toEqual(String(run(text)))
    const { names: all = [], marks = [] } = globalThis.__ran?.[path] ?? {}
    delete globalThis.__ran?.[path]
    expect(all.filter((_name, index) => marks[index] === 1)).toEqual(names)
  })
})
