import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { BREAKINGS } from './list/all.ts'
import { type Breaking, countParts, type Promised, readPromises } from './promises.ts'

// Breaks each promise of docs/guarantees.md and docs/security.md in one line of a copy of this checkout, and runs the test
// that the page names, which must fail: npm run promises -- [word]... [--copies 2] [--unbroken]
// A word selects by the promise and by the names of page, file and test. With --unbroken each test is first run without the
// break, where it must pass; else `npm test` is taken to be green.
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { copies: { type: 'string', default: '1' }, unbroken: { type: 'boolean', default: false } },
})
const root = fileURLToPath(new URL('../..', import.meta.url))
/** No test takes longer; one that hangs has failed by its own time limit before. */
const LIMIT_MS = 900_000
const NOT_COPIED = ['node_modules', '.git', '.musette']

type Outcome = 'killed' | 'SURVIVED' | 'text not found' | 'test did not run' | 'fails unbroken'
type Pair = { breaking: Breaking; promised: Promised }

const pairs = selectPairs(positionals)
const children = new Set<ChildProcess>()
const outcomes = new Map<Pair, Outcome>()
const waiting = [...pairs]
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)
  process.once(signal, () => process.exit(code))
process.once('exit', () => {
  for (const child of children) child.kill()
})
await Promise.all(Array.from({ length: Number(values.copies) }, () => breakInCopy()))
report()

function selectPairs(words: string[]): Pair[] {
  const lines = readPromises()
  const all = BREAKINGS.flatMap((breaking) => {
    const promised = lines.find(({ promise }) => promise === breaking.promise)
    return promised ? [{ breaking, promised }] : []
  })
  const has = ({ breaking, promised }: Pair, word: string) =>
    [promised.page, promised.promise, breaking.in, promised.file].some((text) =>
      text.toLowerCase().includes(word.toLowerCase()),
    )
  return words.length === 0 ? all : all.filter((pair) => words.some((word) => has(pair, word)))
}

/** Makes a copy of the checkout and breaks in it one promise after the other, as long as there are some. */
async function breakInCopy(): Promise<void> {
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
  for (let pair = waiting.shift(); pair; pair = waiting.shift()) {
    const started = Date.now()
    const outcome = await breakOne(copy, pair)
    outcomes.set(pair, outcome)
    say(row(outcome, `${((Date.now() - started) / 1000).toFixed(0)} s`, pair))
  }
}

async function breakOne(copy: string, { breaking, promised }: Pair): Promise<Outcome> {
  const path = join(copy, breaking.in)
  const text = readFileSync(path, 'utf8')
  if (countParts(text, breaking.from) !== 1) return 'text not found'
  if (values.unbroken && (await runTest(copy, promised)) === 'killed') return 'fails unbroken'
  writeFileSync(
    path,
    text.replace(breaking.from, () => breaking.to),
  )
  try {
    return await runTest(copy, promised)
  } finally {
    writeFileSync(path, text)
  }
}

/** Runs one test in the copy; the tests' own setup builds dist/ again, because a source file is newer. */
async function runTest(copy: string, { file, title }: Promised): Promise<Outcome> {
  const results = join(copy, 'dist/results.json')
  rmSync(results, { force: true })
  const name = title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/%\w/g, '.*')
  const options = ['--reporter=json', `--outputFile=${results}`, '-t', `(^| )${name}$`]
  const vitest = join(copy, 'node_modules/vitest/vitest.mjs')
  const child = spawn(
    process.execPath,
    [vitest, 'run', '--config', 'config/vitest.config.ts', file, ...options],
    {
      cwd: copy,
      stdio: 'ignore',
      timeout: LIMIT_MS,
    },
  )
  children.add(child)
  await new Promise((resolve) => child.once('close', resolve))
  children.delete(child)
  const statuses = readStatuses(results)
  if (statuses.includes('failed')) return 'killed'
  return statuses.includes('passed') ? 'SURVIVED' : 'test did not run'
}

function readStatuses(results: string): string[] {
  type Results = { testResults: Array<{ assertionResults: Array<{ status: string }> }> }
  try {
    const { testResults } = JSON.parse(readFileSync(results, 'utf8')) as Results
    return testResults.flatMap(({ assertionResults }) => assertionResults.map(({ status }) => status))
  } catch {
    return []
  }
}

function report(): void {
  const alive = pairs.filter((pair) => outcomes.get(pair) !== 'killed')
  say(`\n${pairs.length} promises broken, ${pairs.length - alive.length} seen by their tests`)
  for (const pair of alive) say(row(outcomes.get(pair) ?? 'test did not run', '', pair))
  if (alive.length > 0 || pairs.length === 0) process.exitCode = 1
}

function row(outcome: Outcome, took: string, { breaking, promised }: Pair): string {
  return `${outcome.padEnd(16)} ${took.padStart(5)}  ${promised.promise}  (${breaking.in}; ${promised.file})`
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
