import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { makeReleaseStack } from '../../../src/kit/release-stack.ts'
import { runNode, startNode } from '../../kit/processes.ts'
import { makeRide } from '../../kit/ride.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

// Keeps a database that a released version made, and that version's answers from it, for upgrade/older.test.ts:
//   node --import tsx test/flows/upgrade/make-database.ts dist/release/musette-1.2.0.tgz

/** Questions that each later version answers in the same way. Columns are named, because later versions may add some. */
const QUESTIONS = [
  `select path, a.name, a.started_at_local, a.elapsed_s, xss, avg_power, work_kj, mean_hr, weighted_power
    from training.activities a left join training.ride_measures using (activity_id) order by path`,
  `select path, count(t) as samples, sum(power) as power, sum(hr) as hr, min(t) as first, max(t) as last
    from training.activities left join training.samples using (activity_id) group by path order by path`,
  'select path, duration_s, watts from training.power_curves join training.activities using (activity_id) order by path, duration_s',
  'select file_name, state, content_id from training.uploads order by file_name',
  "select kind, count(*) as changes from training.changes where kind <> 'restored' group by kind order by kind",
  'select name, timezone from training.accounts',
]

const [tarball] = process.argv.slice(2)
if (!tarball) throw new Error('name the tarball of a release')
const version = /^musette-(.*)\.tgz$/.exec(basename(tarball))?.[1]
const release = makeReleaseStack()
try {
  const folder = await openTempDir('made-by')
  release.defer('folder', () => folder.close())
  const prefix = join(folder.path, 'prefix')
  await promisify(execFile)('npm', ['install', '--global', '--prefix', prefix, resolve(tarball)])
  const bin = join(prefix, 'bin/musette')
  const sandbox = startNode(
    [bin, 'sandbox', '--port', '0', '--activities', '4', '--longest-activity-seconds', '200'],
    {
      env: { HOME: folder.path },
    },
  )
  release.defer('sandbox', () => sandbox.kill())
  const [baseUrl = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(await sandbox.waitForLine(/http:/)) ?? []
  const env = {
    HOME: folder.path,
    MUSETTE_DATA_DIR: join(folder.path, 'data'),
    MUSETTE_BASE_URL: baseUrl,
    MUSETTE_LAG: '1s',
  }
  const musette = async (args: readonly string[], input = '') => {
    const done = await runNode([bin, ...args], { env, input, timeoutMs: 120_000 })
    if (done.code !== 0) throw new Error(`musette ${args[0]} ended with ${done.code}: ${done.stderr}`)
    return done.stdout
  }
  await musette(['login', '--username', 'rider', '--password-stdin'], 'rider')
  await musette(['accounts', 'set', 'default', '--timezone', 'Europe/Madrid'])
  await musette(['sync'])
  await writeFile(join(folder.path, 'ride.fit'), makeRide())
  await musette(['upload', join(folder.path, 'ride.fit')])
  await musette(['sync'])
  const answers = []
  for (const sql of QUESTIONS) answers.push({ sql, rows: JSON.parse(await musette(['sql', '--json', sql])) })
  const kept = fileURLToPath(new URL(`made-by/${version}`, import.meta.url))
  await writeFile(`${kept}.jsonl`, answers.map((answer) => `${JSON.stringify(answer)}\n`).join(''))
  await musette(['backup', `${kept}.backup`])
} finally {
  await release.release()
}
