import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { readChanges } from './changes.ts'
import { makeNearest, takeWithin } from './choose.ts'
import { readCheckout } from './imports.ts'
import { readRecord } from './record.ts'

// Runs the tests nearest to what changed, less than a minute of them:
//   npm run near [-- --base REV]
//     compares the checkout with the last commit, or with another one. What each test file runs is known from its last run here.
const { values } = parseArgs({ options: { base: { type: 'string', default: 'HEAD' } } })
const root = fileURLToPath(new URL('../..', import.meta.url))
const MAX_SECONDS = 60

const record = readRecord()
const changes = readChanges(root, values.base)
const ofWhole = changes.some(({ path }) => path.startsWith('src/'))
  ? ['test/architecture/architecture.test.ts']
  : []
const nearest = [...new Set([...ofWhole, ...makeNearest(readCheckout(root), record)(changes)])]
const { chosen, seconds } = takeWithin(record, nearest, MAX_SECONDS)
const more = nearest.length - chosen.length
const vitest = ['vitest', 'run', '--config', 'config/vitest.config.ts']
if (nearest.length === 0) say(`no test is near to what changed since ${values.base}`)
else if (chosen.length === 0)
  say(`the nearest takes a minute and more; run: npx ${vitest.join(' ')} ${nearest[0]}`)
else {
  say(`${chosen.length} files of tests, about ${seconds.toFixed(0)} s`)
  if (more > 0) say(`${more} more that can see the change run with: npm test`)
  process.exitCode = spawnSync('npx', [...vitest, ...chosen], { cwd: root, stdio: 'inherit' }).status ?? 1
}

function say(sentence: string): void {
  process.stderr.write(`musette tests: ${sentence}\n`)
}
