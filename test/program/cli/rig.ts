import { makeReleaseStack } from '../../../src/kit/release-stack.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { distPath, type Finished, type Running, startNode } from '../../kit/processes.ts'
import { openTestRedis } from '../../kit/redis.ts'
import { LONGEST_ACTIVITY_SECONDS } from '../../kit/ride.ts'
import { steer } from '../../kit/steer.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'

export type CliRig = {
  sandboxUrl: string
  databaseUrl: string
  dataDir: string
  env: Record<string, string>
  /** runs a verb to its end, as a person would */
  musette(
    args: readonly string[],
    options?: { input?: string; env?: Record<string, string> },
  ): Promise<Finished>
  start(args: readonly string[], options?: { env?: Record<string, string>; typed?: boolean }): Running
  /** signs the rider in, to the account `default` unless named; nothing is checked */
  signIn(account?: string, env?: Record<string, string>): Promise<Finished>
  /** runs a statement in the database */
  rows(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>
  /** sends a request to the sandbox, below /_sandbox/ */
  steer<T = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<T>
  close(): Promise<void>
}

/** Opens a sandbox, a database and a data directory for the command line. */
export async function openCliRig(options: {
  activities: number
  /** without it the rides are short, as processes need them to be no longer */
  longestActivitySeconds?: number
  migrated?: boolean
  queue?: string
  isSignedIn?: boolean
}): Promise<CliRig> {
  const release = makeReleaseStack()
  try {
    const main = distPath('main.js')
    const { activities, longestActivitySeconds = LONGEST_ACTIVITY_SECONDS } = options
    const sandbox = await startSandbox({ activities, longestActivitySeconds })
    release.defer('sandbox', () => sandbox.close())
    const sandboxUrl = sandbox.url
    const database = await openTestDatabase({ migrated: options.migrated ?? true })
    release.defer('database', () => database.close())
    const folder = await openTempDir('cli')
    release.defer('folder', () => folder.close())
    const redis = options.queue === 'redis' ? await openTestRedis() : undefined
    if (redis) release.defer('redis', () => redis.close())
    const env = {
      ...(redis && { REDIS_URL: redis.url }),
      MUSETTE_BASE_URL: sandboxUrl,
      DATABASE_URL: database.url,
      MUSETTE_DATA_DIR: folder.path,
      MUSETTE_REQUESTS_PER_MINUTE: '100000',
      MUSETTE_HTTP: '127.0.0.1:0',
    }
    const musette: CliRig['musette'] = (args, more) =>
      runVerb(args, {
        cwd: folder.path,
        env: { ...env, ...more?.env },
        ...(more?.input !== undefined && { input: more.input }),
      })
    const signIn: CliRig['signIn'] = (account = 'default', env = {}) =>
      musette(['login', account, '--username', 'rider', '--password-stdin'], { input: 'rider', env })
    if (options.isSignedIn) await signIn()
    return {
      sandboxUrl,
      databaseUrl: database.url,
      dataDir: folder.path,
      env,
      musette,
      signIn,
      rows: (text, values) => queryOnce(database.url, text, values),
      start: (args, more) =>
        startNode([main, ...args], { ...more, cwd: folder.path, env: { ...env, ...more?.env } }),
      steer: (method, path, body) => steer(sandboxUrl, method, path, body),
      close: () => release.release(),
    }
  } catch (error) {
    await release.release()
    throw error
  }
}
