import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import { inject } from 'vitest'
import { findRedisBinary } from '../../kit/binaries.ts'
import { openTogether } from '../../kit/open-together.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { openOwnRedis } from '../../kit/redis.ts'
import { openCliRig } from '../../program/cli/rig.ts'
import { openHostile } from './hostile.ts'
import { SECRETS } from './marked.ts'

const SIGN_IN = ['login', '--username', 'marked', '--password-stdin', '--keep-password']

type Tokens = { access: string[]; refresh: string[] }
type More = { input?: string; env?: Record<string, string> }

/** Opens an installation in which every secret is marked, on a service that can turn hostile; nobody is signed in. */
export async function openLeakRig() {
  return openTogether(async (keep) => {
    const role = `marked_${randomBytes(4).toString('hex')}`
    const server = inject('postgresUrl')
    await queryOnce(server, `create role ${role} superuser login password '${SECRETS.databasePassword}'`)
    await keep({ close: () => queryOnce(server, `drop role ${role}`) })
    const rig = await keep(openCliRig({ activities: 2 }))
    await rig.steer('PATCH', 'settings', { sample_delay_ms: 0 })
    await rig.steer('POST', 'riders', { username: 'marked', password: SECRETS.password, activities: 3 })
    const hostile = await keep(openHostile(rig.sandboxUrl))
    const login = { username: role, password: SECRETS.databasePassword }
    const databaseUrl = Object.assign(new URL(rig.databaseUrl), login).href
    const redis = findRedisBinary() ? await keep(openOwnRedis()) : undefined
    const env = {
      // A service that serves no list could not say whether it has a ride.
      MUSETTE_KNOWN_RIDES: 'send',
      DATABASE_URL: databaseUrl,
      MUSETTE_BASE_URL: hostile.url,
      MUSETTE_SECRET_KEY: SECRETS.key,
      MUSETTE_HTTP_TOKEN: SECRETS.httpToken,
      MUSETTE_LOG_LEVEL: 'trace',
    }
    let said = ''
    const musette = async (args: readonly string[], more: More = {}) => {
      const end = await rig.musette(args, { ...more, env: { ...env, ...more.env } })
      said += `$ musette ${args[0]}\n${end.stdout}${end.stderr}\n`
      return end
    }
    return {
      hostile,
      databaseUrl,
      /** undefined if this machine has no redis-server */
      redisUrl: redis && (await withPassword(redis.url)),
      dataDir: rig.dataDir,
      /** runs a verb to its end at the most verbose log level; its output is kept */
      musette,
      start: (more: Record<string, string>) => rig.start(['start'], { env: { ...env, ...more } }),
      signIn: () => musette(SIGN_IN, { input: SECRETS.password }),
      /** the output of all verbs so far */
      said: () => said,
      /** every token that the service has issued */
      async tokens() {
        const { access, refresh } = await rig.steer<Tokens>('GET', 'tokens')
        return [...access, ...refresh]
      },
    }
  })
}

async function withPassword(url: string): Promise<string> {
  const redis = new Redis(url)
  await redis.config('SET', 'requirepass', SECRETS.redisPassword)
  redis.disconnect()
  return url.replace('redis://', `redis://:${SECRETS.redisPassword}@`)
}
