import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import { inject } from 'vitest'
import { makeReleaseStack } from '../../../src/kit/release-stack.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { findRedisBinary } from '../../kit/binaries.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { distPath, startNode } from '../../kit/processes.ts'
import { openRedisServer } from '../../kit/redis-server.ts'
import { LONGEST_ACTIVITY_SECONDS } from '../../kit/ride.ts'
import { steer } from '../../kit/steer.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'
import { openHostile } from './hostile.ts'
import { SECRETS } from './marked.ts'

/** An installation every one of whose secrets is marked, on a service that can turn hostile. */
export type LeakRig = Awaited<ReturnType<typeof openLeakRig>>

const SIGN_IN = ['login', '--username', 'marked', '--password-stdin', '--keep-password']

type Tokens = { access: string[]; refresh: string[] }

/** Opens it; nobody is signed in. */
export async function openLeakRig() {
  const release = makeReleaseStack()
  try {
    const main = distPath('main.js')
    const history = { activities: 2, longestActivitySeconds: LONGEST_ACTIVITY_SECONDS, sampleDelayMs: 0 }
    const sandbox = await startSandbox(history)
    release.defer('sandbox', () => sandbox.close())
    const rider = { username: 'marked', password: SECRETS.password, activities: 3 }
    await steer(sandbox.url, 'POST', 'riders', rider)
    const hostile = await openHostile(sandbox.url)
    release.defer('hostile', () => hostile.close())
    const role = `marked_${randomBytes(4).toString('hex')}`
    const server = inject('postgresUrl')
    await queryOnce(server, `create role ${role} superuser login password '${SECRETS.databasePassword}'`)
    release.defer('role', () => queryOnce(server, `drop role ${role}`))
    const database = await openTestDatabase()
    release.defer('database', () => database.close())
    const login = { username: role, password: SECRETS.databasePassword }
    const databaseUrl = Object.assign(new URL(database.url), login)
    const binary = findRedisBinary()
    const redis = binary ? await openRedisServer(binary) : undefined
    if (redis) release.defer('redis', () => redis.close())
    const folder = await openTempDir('leaks')
    release.defer('folder', () => folder.close())
    const env = {
      // A service that answers no list could not say whether it has a ride.
      MUSETTE_KNOWN_RIDES: 'send',
      DATABASE_URL: databaseUrl.href,
      MUSETTE_BASE_URL: hostile.url,
      MUSETTE_DATA_DIR: folder.path,
      MUSETTE_SECRET_KEY: SECRETS.key,
      MUSETTE_HTTP: '127.0.0.1:0',
      MUSETTE_HTTP_TOKEN: SECRETS.httpToken,
      MUSETTE_LOG_LEVEL: 'trace',
      MUSETTE_REQUESTS_PER_MINUTE: '100000',
    }
    let said = ''
    type More = { input?: string; env?: Record<string, string> }
    const musette = async (args: readonly string[], more: More = {}) => {
      const end = await runVerb(args, {
        cwd: folder.path,
        ...more,
        env: { ...env, ...more.env },
      })
      said += `$ musette ${args[0]}\n${end.stdout}${end.stderr}\n`
      return end
    }
    return {
      hostile,
      databaseUrl: databaseUrl.href,
      /** undefined when this machine has no redis-server */
      redisUrl: redis && (await withPassword(redis.url)),
      dataDir: folder.path,
      /** runs a verb to its end, at the level of the log that says most; what it says is kept */
      musette,
      start: (more: Record<string, string>) =>
        startNode([main, 'start'], { cwd: folder.path, env: { ...env, ...more } }),
      signIn: () => musette(SIGN_IN, { input: SECRETS.password }),
      /** everything that the verbs so far have said */
      said: () => said,
      /** every token that the service has given out */
      async tokens() {
        const { access, refresh } = await steer<Tokens>(sandbox.url, 'GET', 'tokens')
        return [...access, ...refresh]
      },
      close: () => release.release(),
    }
  } catch (error) {
    await release.release()
    throw error
  }
}

async function withPassword(url: string): Promise<string> {
  const redis = new Redis(url)
  await redis.config('SET', 'requirepass', SECRETS.redisPassword)
  redis.disconnect()
  return url.replace('redis://', `redis://:${SECRETS.redisPassword}@`)
}
