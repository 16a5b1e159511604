import { beforeEach } from 'vitest'
import type { ResyncChoice } from '../../../src/core/mirror/sync-activities.ts'
import type { Account } from '../../../src/core/store/account-rows.ts'
import { FEATURES } from '../../../src/features/index.ts'
import { makeReleaseStack, type ReleaseStack } from '../../../src/kit/release-stack.ts'
import { sleep } from '../../../src/kit/time.ts'
import { type App, openApp } from '../../../src/program/app/app.ts'
import { signInWithPassword } from '../../../src/program/app/sign-in.ts'
import { resyncAccount, syncAccount } from '../../../src/program/app/sync-account.ts'
import type { FactsApp } from '../../../src/program/frame/findings/facts.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { readConfig } from '../../kit/config.ts'
import { makeTestLog } from '../../kit/log.ts'
import { openForAll } from '../../kit/open-for.ts'
import { makeSqlTag, openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { LONGEST_ACTIVITY_SECONDS } from '../../kit/ride.ts'
import { steer } from '../../kit/steer.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

export type Rig = Awaited<ReturnType<typeof openRig>>

/** Maximum backoff of the service client in tests, ms: by default it waits seconds before it retries a failing server. */
const LONGEST_WAIT_MS = 50

/** Truncating these tables with CASCADE empties all of an account's data. */
const EMPTIED = 'training.accounts, training.samples, training.drift, training.fit_records'

/** Opens a sandbox, a database (or uses a migrated one) and an App between them, signed in as the rider. */
export async function openRig(options: {
  activities: number
  /** without it the rides are short: most tests take less time than mirroring an hour of samples */
  longestActivitySeconds?: number
  env?: Record<string, string>
  databaseUrl?: string
  /** called for each deviation from the document by the strict sandbox; without it the sandbox is lenient */
  strict?: (deviation: string) => void
}) {
  const release = makeReleaseStack()
  try {
    const { activities, strict, longestActivitySeconds = LONGEST_ACTIVITY_SECONDS } = options
    const startService = async (port = 0) => {
      const started = await startSandbox({
        activities,
        longestActivitySeconds,
        strict,
        sampleDelayMs: 0,
        port,
      })
      // By default the sandbox names no workout on Mondays.
      const settle = () => steer(started.url, 'PATCH', 'settings', { wotd_type: 'Scheduled' })
      // Connections to the previous sandbox on this port are closed; `fetch` notices that at its next request.
      await settle().catch(settle).catch(settle)
      return started
    }
    let sandbox = await startService()
    release.defer('sandbox', () => sandbox.close())
    const databaseUrl = options.databaseUrl ?? (await openDatabase(release))
    const folder = await openTempDir('mirror')
    release.defer('folder', () => folder.close())
    const config = readConfig({
      MUSETTE_BASE_URL: sandbox.url,
      DATABASE_URL: databaseUrl,
      MUSETTE_DATA_DIR: folder.path,
      MUSETTE_REQUESTS_PER_MINUTE: '100000',
      // A scheduled comparison would make requests that its test does not expect.
      MUSETTE_SCRUB_PER_DAY: '0',
      ...options.env,
    })
    const log = makeTestLog()
    const app = await openApp(config, log.log, {
      features: FEATURES,
      sleep: (ms, signal) => sleep(Math.min(ms, LONGEST_WAIT_MS), signal),
    })
    release.defer('app', () => app.close())
    const login = { name: 'default', username: 'rider', password: 'rider', keepPassword: false }
    let account = await signInWithPassword(app, login)
    const fault = async (path: string, planned: Record<string, unknown>) => {
      await steer(sandbox.url, 'POST', 'faults', { method: 'GET', path, times: 'always', ...planned })
    }
    const sql = makeSqlTag((text, values) => queryOnce(databaseUrl, text, values))
    return {
      app: app as App & FactsApp,
      get account(): Account {
        return account
      },
      log,
      dataDir: folder.path,
      sandboxUrl: sandbox.url,
      databaseUrl,
      /** sends a request to the sandbox, below /_sandbox/ */
      steer: <T = Record<string, unknown>>(method: string, path: string, body?: unknown) =>
        steer<T>(sandbox.url, method, path, body),
      rows: (text: string, values?: unknown[]) => queryOnce(databaseUrl, text, values),
      /** returns the rows of a query that is written as a template with its values */
      sql,
      sync: (more?: Omit<Parameters<typeof syncAccount>[1], 'name'>) =>
        syncAccount(app, { name: 'default', ...more }),
      resync: (choice: ResyncChoice) => resyncAccount(app, { name: 'default', choice }),
      /** returns the paths of the mirrored activities, newest first */
      paths: async () =>
        (await sql`select path from training.activities order by started_at desc`).map(
          ({ path }) => `${path}`,
        ),
      /** adds an activity at the service */
      add: (activity: object): Promise<unknown> => steer(sandbox.url, 'POST', 'activities', activity),
      /** changes an activity at the service */
      edit: (path: unknown, change: object): Promise<unknown> =>
        steer(sandbox.url, 'PATCH', `activities/${path}`, change),
      /** makes each GET of such a path fail, until `heal` */
      fault,
      /** answers each GET of such a path with this body and status 200, until `heal` */
      answer: (path: string, body: unknown) => fault(path, { kind: 'status', status: 200, body }),
      heal: async () => void (await steer(sandbox.url, 'DELETE', 'faults')),
      /** returns the number of requests by route since the last call */
      async requests() {
        const { requests } = await steer<{ requests: Record<string, number> }>(sandbox.url, 'GET', 'counts')
        await steer(sandbox.url, 'POST', 'counts/reset')
        return requests
      },
      /** empties the sandbox and the database, and signs in again; the account then has a new id */
      async renew() {
        await sandbox.close()
        sandbox = await startService(sandbox.port)
        await queryOnce(databaseUrl, `truncate ${EMPTIED} restart identity cascade`)
        account = await signInWithPassword(app, login)
        log.lines.length = 0
      },
      close: () => release.release(),
    }
  } catch (error) {
    await release.release()
    throw error
  }
}

async function openDatabase(release: ReleaseStack): Promise<string> {
  const database = await openTestDatabase()
  release.defer('database', () => database.close())
  return database.url
}

/** Opens one rig for all tests of a file. Before each test, removes the sandbox's planned failures and empties the log and the tables `empty`. */
export function useRig(options: Parameters<typeof openRig>[0], empty?: string): Rig {
  const rig = openForAll(() => openRig(options))
  beforeEach(async () => {
    await rig.heal()
    if (empty) await rig.rows(`truncate ${empty} cascade`)
    rig.log.lines.length = 0
  })
  return rig
}
