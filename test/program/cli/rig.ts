import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { openTogether } from '../../kit/open-together.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { distPath, startNode } from '../../kit/processes.ts'
import { LONGEST_ACTIVITY_SECONDS } from '../../kit/ride.ts'
import { steer } from '../../kit/steer.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'

export type CliRig = Awaited<ReturnType<typeof openCliRig>>

type More = { env?: Record<string, string> }

/** Opens a sandbox of short rides, a database and a data directory for the command line. */
export async function openCliRig(options: { activities: number; migrated?: boolean; isSignedIn?: boolean }) {
  return openTogether(async (keep) => {
    const main = distPath('main.js')
    const { activities, migrated = true } = options
    const sandbox = await keep(startSandbox({ activities, longestActivitySeconds: LONGEST_ACTIVITY_SECONDS }))
    const database = await keep(openTestDatabase({ migrated }))
    const folder = await keep(openTempDir('cli'))
    const env: Record<string, string> = {
      MUSETTE_BASE_URL: sandbox.url,
      DATABASE_URL: database.url,
      MUSETTE_DATA_DIR: folder.path,
      MUSETTE_REQUESTS_PER_MINUTE: '100000',
      MUSETTE_HTTP: '127.0.0.1:0',
    }
    /** runs a verb to its end, as a person would */
    const musette = (args: readonly string[], more: More & { input?: string } = {}) =>
      runVerb(args, { ...more, cwd: folder.path, env: { ...env, ...more.env } })
    /** signs the rider in, to the account `default` unless named; checks nothing */
    const signIn = (account = 'default', env: Record<string, string> = {}) =>
      musette(['login', account, '--username', 'rider', '--password-stdin'], { input: 'rider', env })
    if (options.isSignedIn) await signIn()
    return {
      sandboxUrl: sandbox.url,
      databaseUrl: database.url,
      dataDir: folder.path,
      env,
      musette,
      signIn,
      rows: (text: string, values?: unknown[]) => queryOnce(database.url, text, values),
      start: (args: readonly string[], more: More & { typed?: boolean } = {}) =>
        startNode([main, ...args], { ...more, cwd: folder.path, env: { ...env, ...more.env } }),
      /** sends a request to the sandbox, below /_sandbox/ */
      steer: <T = Record<string, unknown>>(method: string, path: string, body?: unknown) =>
        steer<T>(sandbox.url, method, path, body),
    }
  })
}
