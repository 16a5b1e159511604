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

/** The service client waits seconds before it asks a failing server again; here nobody needs that rest. */
const LONGEST_WAIT_MS = 50

/** Tables that with those that refer to them hold everything of an account. */
const EMPTIED = 'training.accounts, training.samples, training.drift, training.fit_records'

/** Opens a sandbox, a database (or takes a migrated one) and an App between them, signed in as the rider. */
export async function openRig(options: {
  activities: number
  /** without it the rides are short: an hour of samples costs the processor more than most tests do */
  longestActivitySeconds?: number
  env?: Record<string, string>
  databaseUrl?: string
  /** what the strict sandbox calls; without it the sandbox is lenient */
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
      // By itself the sandbox names no workout on a Monday.
      const settle = () => steer(started.url, 'PATCH', 'settings', { wotd_type: 'Scheduled' })
      // Connections to the one before on this port are closed, of which `fetch` learns by the next request.
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
      // A daemon that compares an activity by itself makes requests that its test does not count on.
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
      /** the rows of a query that is written as a template with its values */
      sql,
      sync: (more?: Omit<Parameters<typeof syncAccount>[1], 'name'>) =>
        syncAccount(app, { name: 'default', ...more }),
      resync: (choice: ResyncChoice) => resyncAccount(app, { name: 'default', choice }),
      /** the paths of the mirrored activities, the newest first */
      paths: async () =>
        (await sql`select path from training.activities order by started_at desc`).map(
          ({ path }) => `${path}`,
        ),
      /** adds an activity at the service */
      add: (activity: object): Promise<unknown> => steer(sandbox.url, 'POST', 'activities', activity),
      /** changes one at the service */
      edit: (path: unknown, change: object): Promise<unknown> =>
        steer(sandbox.url, 'PATCH', `activities/${path}`, change),
      /** lets each GET of such a path fail, until `heal` */
      fault,
      /** answers each GET of such a path with this body and status 200, until `heal` */
      answer: (path: string, body: unknown) => fault(path, { kind: 'status', status: 200, body }),
      heal: async () => void (await steer(sandbox.url, 'DELETE', 'faults')),
      /** requests by route since the last call */
      async requests() {
        const { requests } = await steer<{ requests: Record<string, number> }>(sandbox.url, 'GET', 'counts')
        await steer(sandbox.url, 'POST', 'counts/reset')
        return requests
      },
      /** empties the sandbox and the database, and signs in anew: the account is another one then */
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

/**
 * Opens one rig for all tests of a file. Before each, the sandbox has no planned failures, the log is empty, and so are the tables
 * `empty`.
 */
export function useRig(options: Parameters<typeof openRig>[0], empty?: string): Rig {
  const rig = openForAll(() => openRig(options))
  beforeEach(async () => {
    await rig.heal()
    if (empty) await rig.rows(`truncate ${empty} cascade`)
    rig.log.lines.length = 0
  })
  return rig
}
