import { type ChildProcess, spawn } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { makeNearest, takeWithin } from '../near/choose.ts'
import { readCheckout } from '../near/imports.ts'
import { readRecord } from '../near/record.ts'
import { makeMutants, ROOMS } from './mutants.ts'
import { countParts, readBreaks } from './promises.ts'

// Changes one line after the other in a copy of this checkout, and runs the tests that must notice it:
//   npm run promises -- [word]... [--copies 2] [--unbroken]
//     breaks each promise of docs/guarantees.md and docs/security.md in one line, and runs the test that the page names. A word
//     selects by the promise and by the names of page, file and test. With --unbroken each test is first run without the break,
//     where it must pass; else `npm test` is taken to be green.
//   npm run promises -- --mutants 100 [room]... [--seed 1] [--copies 2]
//     makes so many small changes in the rooms that hold the promises, chosen by the seed, and runs the tests that ran the changed
//     function when they ran here last, the nearest first.
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    copies: { type: 'string', default: '1' },
    unbroken: { type: 'boolean', default: false },
    mutants: { type: 'string' },
    seed: { type: 'string', default: '1' },
  },
})
const root = fileURLToPath(new URL('../..', import.meta.url))
/** No test takes longer; one that hangs has failed by its own time limit before. */
const LIMIT_MS = 900_000
/** As long as the first tests of a mutant may take, and all of them. */
const FIRST_SECONDS = 20
const MAX_SECONDS = 240
const NOT_COPIED = ['node_modules', '.git', '.musette']

/** One change of one file, and the tests that must fail by it: files, and a title. */
type Trial = {
  name: string
  in: string
  change: (text: string) => string | undefined
  tests: readonly string[]
  title?: string
}
type Outcome = 'killed' | 'SURVIVED' | 'text not found' | 'test did not run' | 'cut off' | 'fails unbroken'

const record = readRecord()
const trials = values.mutants === undefined ? selectPromises(positionals) : selectMutants(positionals)
const children = new Set<ChildProcess>()
const outcomes = new Map<Trial, Outcome>()
const waiting = [...trials]
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)
  process.once(signal, () => process.exit(code))
process.once('exit', () => {
  for (const child of children) child.kill()
})
await Promise.all(Array.from({ length: Number(values.copies) }, () => tryInCopy()))
report()

function selectPromises(words: string[]): Trial[] {
  return readBreaks().flatMap(({ page, promise, file, title, in: path, from, to }) => {
    const texts = [page, promise, path, file].map((text) => text.toLowerCase())
    const isMeant = words.some((word) => texts.some((text) => text.includes(word.toLowerCase())))
    if (words.length > 0 && !isMeant) return []
    const change = (text: string) => (countParts(text, from) === 1 ? text.replace(from, () => to) : undefined)
    return [{ name: `${promise}  (${path}; ${file})`, in: path, change, tests: [file], title }]
  })
}

function selectMutants(rooms: string[]): Trial[] {
  const all = Object.entries(ROOMS)
    .filter(([room]) => rooms.length === 0 || rooms.includes(room))
    .map(([, folder]) => {
      const paths = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => `${folder}${name}`)
      const mutants = paths.flatMap((path) => makeMutants(path, readFileSync(join(root, path), 'utf8')))
      return inOrderOf(mutants, Number(values.seed))
    })
  // In turn from each room, so that a small number says something of all.
  const longest = Math.max(0, ...all.map((mutants) => mutants.length))
  const inTurn = Array.from({ length: longest }, (_, index) => all.flatMap((mutants) => mutants[index] ?? []))
  const nearest = makeNearest(readCheckout(root), record)
  return inTurn
    .flat()
    .slice(0, Number(values.mutants))
    .map(({ in: path, line, at, from, to }): Trial => {
      const change = (text: string) => `${text.slice(0, at)}${to}${text.slice(at + from.length)}`
      const shown = (text: string) => text.replaceAll(/\s+/g, ' ').slice(0, 70)
      const changed = { path, text: readFileSync(join(root, path), 'utf8'), lines: [line] }
      const tests = takeWithin(record, nearest([changed]), MAX_SECONDS).chosen
      return { name: `${path}:${line}  ${shown(from)}  →  ${shown(to)}`, in: path, change, tests }
    })
}

/** Returns the items in an order of chance that a seed decides. Pure. */
function inOrderOf<T>(items: readonly T[], seed: number): T[] {
  let state = seed
  const draw = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state
  }
  return items
    .map((item) => ({ item, drawn: draw() }))
    .sort((a, b) => a.drawn - b.drawn)
    .map(({ item }) => item)
}

/** Makes a copy of the checkout and tries one change in it after the other, as long as there are some. */
async function tryInCopy(): Promise<void> {
  if (waiting.length === 0) return
  const copy = mkdtempSync(join(tmpdir(), 'musette-promises-'))
  process.once('exit', () => rmSync(copy, { recursive: true, force: true, maxRetries: 3 }))
  // Some tests start programs as another user, who must be able to read them.
  chmodSync(copy, 0o755)
  cpSync(root, copy, {
    recursive: true,
    preserveTimestamps: true,
    filter: (path) => !NOT_COPIED.includes(relative(root, path)),
  })
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  for (let trial = waiting.shift(); trial; trial = waiting.shift()) {
    const started = Date.now()
    const outcome = await tryOne(copy, trial)
    outcomes.set(trial, outcome)
    say(row(outcome, `${((Date.now() - started) / 1000).toFixed(0)} s`, trial))
  }
}

async function tryOne(copy: string, trial: Trial): Promise<Outcome> {
  const path = join(copy, trial.in)
  const text = readFileSync(path, 'utf8')
  const changed = trial.change(text)
  if (changed === undefined) return 'text not found'
  if (values.unbroken && (await runTests(copy, trial)) === 'killed') return 'fails unbroken'
  writeFileSync(path, changed)
  try {
    // The nearest tests notice most changes.
    const first = takeWithin(record, trial.tests, FIRST_SECONDS).chosen
    const others = trial.tests.filter((test) => !first.includes(test))
    const outcome = await runTests(copy, { ...trial, tests: first.length > 0 ? first : others })
    if (outcome === 'killed' || first.length === 0 || others.length === 0) return outcome
    return await runTests(copy, { ...trial, tests: others })
  } finally {
    writeFileSync(path, text)
  }
}

/** Runs the tests of a trial in the copy; the tests' own setup builds dist/ again, because a source file is newer. */
async function runTests(copy: string, { tests, title }: Trial): Promise<Outcome> {
  const results = join(copy, 'dist/results.json')
  rmSync(results, { force: true })
  const name = title?.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/%\w|\\\$\w+/g, '.*')
  const options = [
    '--reporter=json',
    `--outputFile=${results}`,
    '--bail=1',
    // The title of a group of tests ends with a colon.
    ...(name ? ['-t', `(^| )${name}${name.endsWith(':') ? '' : '$'}`] : []),
  ]
  const vitest = join(copy, 'node_modules/vitest/vitest.mjs')
  const child = spawn(
    process.execPath,
    [vitest, 'run', '--config', 'config/vitest.config.ts', ...tests, ...options],
    {
      cwd: copy,
      stdio: 'ignore',
      timeout: LIMIT_MS,
    },
  )
  children.add(child)
  const signal = await new Promise((resolve) => child.once('close', (_code, signal) => resolve(signal)))
  children.delete(child)
  // Whoever ends a slow run proves nothing of its tests.
  if (signal !== null) return 'cut off'
  const { success, statuses } = readResults(results)
  // A file that cannot be loaded any more has no test to show for it.
  if (statuses.includes('failed') || (!success && title === undefined)) return 'killed'
  return statuses.includes('passed') ? 'SURVIVED' : 'test did not run'
}

function readResults(path: string): { success: boolean; statuses: string[] } {
  type Results = { success: boolean; testResults: Array<{ assertionResults: Array<{ status: string }> }> }
  try {
    const { success, testResults } = JSON.parse(readFileSync(path, 'utf8')) as Results
    const statuses = testResults.flatMap(({ assertionResults }) =>
      assertionResults.map(({ status }) => status),
    )
    return { success, statuses }
  } catch {
    return { success: false, statuses: [] }
  }
}

function report(): void {
  const alive = trials.filter((trial) => outcomes.get(trial) !== 'killed')
  const killed = trials.length - alive.length
  const share = `${((100 * killed) / trials.length).toFixed(0)} %`
  say(`\n${trials.length} lines changed, ${killed} seen by their tests (${share})`)
  for (const trial of alive) say(row(outcomes.get(trial) ?? 'test did not run', '', trial))
  if (alive.length > 0 || trials.length === 0) process.exitCode = 1
}

function row(outcome: Outcome, took: string, { name }: Trial): string {
  return `${outcome.padEnd(16)} ${took.padStart(5)}  ${name}`
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
