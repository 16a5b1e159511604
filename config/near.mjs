// Runs the tests of what changed since the last commit, about a minute of them: npm run near
// Those of the changed rooms come first, the quickest before the others; it says how many are left to `npm test`.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Seconds of tests; four files run at a time. */
const SECONDS = 100
/** What a test file takes that has not run here before. */
const UNKNOWN_SECONDS = 5
/** Which tests read files that no test imports. */
const READERS = [
  [/^(docs\/|[A-Z]+\.md$)/, 'test/docs/'],
  [/^(drizzle|src\/core\/store\/schema)\//, 'test/core/store/'],
  [/^(Dockerfile|docker-compose|package)/, 'test/container/'],
  [/^config\//, 'test/program/config/'],
]

const changed = [...git('diff', '--name-only', 'HEAD'), ...git('ls-files', '--others', '--exclude-standard')]
const vitest = ['vitest', '--config', 'config/vitest.config.ts']
const related = JSON.parse(run('npx', [...vitest, 'list', '--changed', '--filesOnly', '--json'])).map(
  ({ file }) => file.slice(root.length),
)
const near = changed.flatMap((path) => [
  `test/${/^src\/((?:core|features|program)\/\w+|\w+)/.exec(path)?.[1]}/`,
  ...READERS.filter(([files]) => files.test(path)).map(([, folder]) => folder),
])
const read = readdirSync(`${root}test`, { recursive: true })
  .map((name) => `test/${name}`)
  .filter((name) => name.endsWith('.test.ts') && near.some((folder) => folder && name.startsWith(folder)))
const known = durations()
const secondsOf = (file) => known.get(file) ?? UNKNOWN_SECONDS
const rankOf = (file) => {
  if (changed.includes(file) || file.startsWith('test/architecture/')) return 0
  return near.some((folder) => file.startsWith(folder)) ? 1 : 2
}
const candidates = [...new Set(['test/architecture/architecture.test.ts', ...related, ...read])].sort(
  (a, b) => rankOf(a) - rankOf(b) || secondsOf(a) - secondsOf(b),
)
let left = SECONDS
const chosen = candidates.filter((file) => {
  left -= secondsOf(file)
  return rankOf(file) === 0 || left >= 0
})
if (changed.length === 0) say('nothing has changed since the last commit')
else {
  const others = candidates.length - chosen.length
  if (others > 0) say(`${chosen.length} files of tests are near; ${others} more run only with: npm test`)
  const { status } = spawnSync('npx', [...vitest, 'run', ...chosen], { cwd: root, stdio: 'inherit' })
  process.exitCode = status ?? 1
}

/** Reads what the test files took here the last time, in seconds. */
function durations() {
  const cache = `${root}node_modules/.vite/vitest`
  const results = existsSync(cache) ? readdirSync(cache).map((name) => `${cache}/${name}/results.json`) : []
  return new Map(
    results
      .filter(existsSync)
      .flatMap((path) =>
        JSON.parse(readFileSync(path, 'utf8')).results.map(([name, { duration }]) => [
          name.replace(/^.*?:/, ''),
          duration / 1_000,
        ]),
      ),
  )
}

function git(...args) {
  return run('git', args).split('\n').filter(Boolean)
}

function run(command, args) {
  const { stdout, status, stderr } = spawnSync(command, args, { cwd: root, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`)
  return stdout
}

function say(sentence) {
  process.stderr.write(`musette tests: ${sentence}\n`)
}
