import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { migrate } from '../../src/core/store/migrate.ts'
import { openEmbeddedPostgres } from '../../src/embedded/embedded.ts'
import { makeReleaseStack } from '../../src/kit/release-stack.ts'
import { makeSilentLog } from '../kit/log.ts'
import { openTempDir } from '../kit/temp-dir.ts'
import { describeFinding, runSeed } from './campaign.ts'
import { FAMILIES } from './plan/plan.ts'
import { openRunDatabase } from './world/database.ts'

// Any number of convergence runs, and then, unless it is of one family, every case of the tests of which `npm test` tries a part:
// npm run converge -- --runs 1000 [--seed 1] [--family crashes] [--keep-going]
const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    family: { type: 'string' },
    'keep-going': { type: 'boolean', default: false },
    'no-shrink': { type: 'boolean', default: false },
  },
})
const families = values.family ? FAMILIES.filter((family) => family === values.family) : FAMILIES
/** The test files that try every case only in a whole run. */
const SAMPLED = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .map((name) => `test/${name}`)
  .filter((path) => path.endsWith('.test.ts') && readFileSync(path, 'utf8').includes('/sampling.ts'))
const release = makeReleaseStack()
try {
  process.exitCode = await converge()
} finally {
  await release.release()
}
if (!values.family) process.exitCode ||= runSampled()

function runSampled(): number {
  const { status } = spawnSync('npx', ['vitest', 'run', '--config', 'config/vitest.config.ts', ...SAMPLED], {
    env: { ...process.env, WHOLE: '1' },
    stdio: 'inherit',
  })
  return status ?? 1
}

async function converge(): Promise<number> {
  const folder = await openTempDir('converge-postgres')
  release.defer('folder', () => folder.close())
  const log = makeSilentLog()
  const server = await openEmbeddedPostgres({ log }, { dataDir: folder.path })
  release.defer('Postgres', () => server.close())
  await migrate({ connectionString: server.url, log })
  const database = await openRunDatabase(server.url)
  release.defer('connection', () => database.close())
  const first = Number(values.seed)
  const started = Date.now()
  let done = 0
  let failed = 0
  for (let seed = first; seed < first + Number(values.runs); seed++) {
    for (const family of families) {
      const finding = await runSeed(database, { seed, family, shrinkMs: values['no-shrink'] ? 0 : 60_000 })
      done += 1
      if (finding) {
        failed += 1
        say(describeFinding(finding))
        if (!values['keep-going']) return report(done, failed, started)
      }
    }
    if (done % 100 < families.length) say(`${done} runs, seed ${seed}, ${failed} failed`)
  }
  return report(done, failed, started)
}

function report(done: number, failed: number, started: number): number {
  say(`${done} runs, ${failed} failed, ${((Date.now() - started) / done).toFixed(0)} ms each`)
  return failed > 0 ? 1 : 0
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
