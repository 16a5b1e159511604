import { once } from 'node:events'
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findAccountStatuses } from '../../core/store/account-status.ts'
import { readSharedUrl } from '../../embedded/embedded.ts'
import { TransientError } from '../../kit/errors.ts'
import { PROGRAM_FOLDER } from '../../kit/program-folder.ts'
import { closeAfter, makeReleaseStack } from '../../kit/release-stack.ts'
import { formatCount, quoteShell } from '../../kit/text.ts'
import { MINUTE, sleep } from '../../kit/time.ts'
import { type App, openApp } from '../../program/app/app.ts'
import { findUploadOf } from '../../program/app/files/upload-files.ts'
import { signInWithPassword } from '../../program/app/sign-in.ts'
import { type Config, checked, readSettings } from '../../program/config/config.ts'
import type { Context, RunningDaemon } from '../../program/frame/context.ts'
import { printTable } from '../../program/frame/output.ts'
import type { Tools } from '../../program/frame/verb.ts'
import { makeFitFile } from '../../sandbox/fit-file.ts'
import { startSandbox } from '../../sandbox/sandbox.ts'

/** The command of this program: installed, or in a clone. */
const MUSETTE = PROGRAM_FOLDER.includes('node_modules') ? 'musette' : 'npx musette'
const verbOn = ({ dataDir }: Pick<Config, 'dataDir'>) => `MUSETTE_DATA_DIR=${quoteShell(dataDir)} ${MUSETTE}`

type DemoOptions = { once?: boolean; activities: number }

/** Runs the demo: stand-in service, embedded Postgres, daemon, upload and SQL; then waits for the signal, unless `once` is set. */
export async function demo(context: Tools<'nothing'>, options: DemoOptions): Promise<undefined> {
  const release = makeReleaseStack()
  const startedAt = Date.now()
  try {
    const sandbox = await startSandbox({ activities: options.activities })
    release.defer('sandbox', () => sandbox.close())
    context.note(`stand-in service: ${sandbox.url} (rider "rider", password "rider")`)
    const config = demoConfig(context, sandbox.url)
    await signIn(config, context)
    context.note('signed in as account "default"')
    const daemon = await context.openDaemon({ ...context, config })
    release.defer('daemon', () => daemon.close())
    context.note('daemon: running, on an embedded Postgres')
    await followBackfill(context, daemon, new Date(startedAt))
    await followUpload(context, daemon)
    await printQueries(context, daemon.app)
    context.note(`everything above took ${(context.took() / 1_000).toFixed(1)} s`)
    context.print(`\ndatabase:  ${await readSharedUrl(config.dataDir)}`)
    context.print(`dashboard: ${daemon.url}`)
    if (options.once) {
      context.print('\nDatabase and dashboard stop with the demo. Its data stays; these commands read it:')
      context.print(`  ${verbOn(config)} db-url    # starts the database again at that address`)
      context.print(`  ${verbOn(config)} sql 'select * from training.weekly_summary'`)
      context.print(`  ${MUSETTE} demo    # continues, with the dashboard`)
      return
    }
    context.note('the daemon keeps running; Ctrl-C stops it')
    if (!context.signal.aborted) await once(context.signal, 'abort')
  } finally {
    await release.release()
  }
}

/** Signs in before the daemon starts, because in a second run the account still has the address of the first run's stand-in service. */
async function signIn(config: Config, { log, signal, features }: Context): Promise<void> {
  const rider = { username: 'rider', password: 'rider', keepPassword: false, sameRider: true }
  await closeAfter(await openApp(config, log, { signal, features }), (app) =>
    signInWithPassword(app, { name: 'default', ...rider, signal }),
  )
}

/** Makes the demo's configuration, with data in a separate folder. The environment sets only the data directory. */
function demoConfig({ config, settings }: Context, baseUrl: string) {
  const env = {
    MUSETTE_BASE_URL: baseUrl,
    MUSETTE_DATA_DIR: join(config.dataDir, 'demo'),
    // A rate that never limits, because the stand-in service runs on this machine.
    MUSETTE_REQUESTS_PER_MINUTE: '60000',
    MUSETTE_POLL_EVERY: '30s',
    // The demo moves its file into the folder in one step, so the daemon need not wait for more of the file.
    MUSETTE_SETTLE: '1s',
    MUSETTE_HTTP: '127.0.0.1:0',
    MUSETTE_BACKUP_DIR: 'off',
  }
  return checked(readSettings(settings.features, env)).config
}

const LOOK_EVERY_MS = 200
/** Longest wait for the upload, ms: the stand-in service needs two seconds to make samples, and more on a busy machine. */
const UPLOAD_WITHIN_MS = 2 * MINUTE
const UPLOAD_SECONDS = 20 * 60

/** Shows the progress of the backfill until every listed activity is mirrored; `since` is the time when this demo started. */
async function followBackfill(context: Tools<'nothing'>, daemon: RunningDaemon, since: Date): Promise<void> {
  const line = context.beginProgress('activities')
  for (;;) {
    const [account] = await daemon.app.store.read(findAccountStatuses)
    if (account?.polled_at && account.polled_at >= since) {
      const { activities, wanted, mirrored, samples } = account
      line.show({ done: activities - wanted, total: activities })
      if (wanted === 0) return line.finish(`mirrored ${mirrored} activities, ${formatCount(samples)} samples`)
    }
    await sleep(LOOK_EVERY_MS, context.signal)
  }
}

/**
 * Makes a FIT file of a ride that ends now, puts it into the drop folder and waits until its samples are in SQL. Throws TransientError
 * `upload_not_mirrored` after two minutes.
 */
async function followUpload(context: Context, daemon: RunningDaemon): Promise<void> {
  const { dir } = daemon.app.config.drop
  const startedAt = new Date(Date.now() - UPLOAD_SECONDS * 1_000)
  const fileName = `demo-${startedAt.toISOString().replace(/[:.]/g, '-')}.fit`
  const bytes = makeFitFile({ startedAt, seconds: UPLOAD_SECONDS })
  await mkdir(dir, { recursive: true })
  await writeFile(join(dir, `${fileName}.part`), bytes)
  await rename(join(dir, `${fileName}.part`), join(dir, fileName))
  context.note(`dropped ${fileName} (${bytes.length} bytes) into ${dir}`)
  let shown: string | undefined
  const mirrored = await lookFor(context, async () => {
    const upload = await findUploadOf(daemon.app, { account: 'default', bytes })
    if (upload && upload.state !== shown) {
      shown = upload.state
      context.note(`ledger: ${shown}${upload.activityPath ? `, activity ${upload.activityPath}` : ''}`)
    }
    return upload?.mirroredAt ? upload.mirroredAt.getTime() - upload.seenAt.getTime() : undefined
  })
  if (mirrored === undefined)
    throw new TransientError(
      'upload_not_mirrored',
      `no samples yet; run: ${verbOn(daemon.app.config)} status`,
    )
  context.note(`its samples are in SQL, ${(mirrored / 1_000).toFixed(1)} s after the file was seen`)
  const moved = await lookFor(context, async () => {
    const names = await readdir(join(dir, 'done'), { recursive: true }).catch(() => [])
    return names.find((path) => path.endsWith(fileName))
  })
  context.note(`the file is now ${moved === undefined ? join(dir, fileName) : join(dir, 'done', moved)}`)
}

/** Calls `look` until it finds something; returns undefined after two minutes. */
async function lookFor<T>(context: Context, look: () => Promise<T | undefined>): Promise<T | undefined> {
  for (let waited = 0; waited < UPLOAD_WITHIN_MS; waited += LOOK_EVERY_MS) {
    const found = await look()
    if (found !== undefined) return found
    await sleep(LOOK_EVERY_MS, context.signal)
  }
  return undefined
}

const QUERIES: ReadonlyArray<{ question: string; sql: string }> = [
  {
    question: 'The last five activities:',
    sql: `select started_at_local::date::text as day, left(name, 28) as name, activity_type as type, sample_count as samples,
  round(avg_power)::int as watts, round(xss)::int as xss
from training.activities where absent_since is null order by started_at desc nulls last limit 5`,
  },
  {
    question: 'Load and fitness by year:',
    sql: `select training.season_of(started_at_local::date) as year, count(*)::int as activities,
  round(sum(xss))::int as xss, round(max(sig_ftp))::int as best_ftp
from training.activities where absent_since is null group by 1 order by 1`,
  },
  {
    question: 'Best mean power in rides over the whole history:',
    sql: `select duration_s as seconds, round(max(watts))::int as watts
from training.power_curves where sport = 'cycling' and duration_s in (5, 60, 300, 1200, 3600)
group by 1 order by 1`,
  },
]

async function printQueries(context: Pick<Context, 'print'>, app: Pick<App, 'store'>): Promise<void> {
  for (const { question, sql } of QUERIES) {
    const { rows } = await app.store.read(({ client }) => client.query(sql))
    context.print(`\n${question}`)
    context.print(sql.replace(/^/gm, '  '))
    context.print('')
    printTable(context, rows)
  }
}
