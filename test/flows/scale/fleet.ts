import { mkdir, readdir, rename, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeReleaseStack } from '../../../src/kit/release-stack.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { openLine } from '../../kit/postgres-line.ts'
import { distPath, type Running, runNode, startNode } from '../../kit/processes.ts'
import { openOwnRedis } from '../../kit/redis.ts'
import { openSentinels } from '../../kit/redis-groups.ts'
import { LONGEST_ACTIVITY_SECONDS } from '../../kit/ride.ts'
import { steer } from '../../kit/steer.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

/** Several daemons on one database, one queue and one drop folder, and the stand-in service. */
export type Fleet = Awaited<ReturnType<typeof openFleet>>

/** Starts `size` daemons with all roles but the web server, signed in as the rider, and waits until each has started. */
export async function openFleet(input: {
  size: number
  queue: 'postgres' | 'redis' | 'sentinels'
  activities: number
}) {
  const release = makeReleaseStack()
  try {
    const main = distPath('main.js')
    const { activities } = input
    const history = { activities, longestActivitySeconds: LONGEST_ACTIVITY_SECONDS, sampleDelayMs: 0 }
    const sandbox = await startSandbox(history)
    release.defer('sandbox', () => sandbox.close())
    const sandboxUrl = sandbox.url
    const database = await openTestDatabase()
    release.defer('database', () => database.close())
    const line = await openLine(database.url)
    release.defer('line', () => line.close())
    const redis = input.queue === 'redis' ? await openOwnRedis() : undefined
    if (redis) release.defer('redis', () => redis.close())
    const group = input.queue === 'sentinels' ? await openSentinels() : undefined
    if (group) release.defer('sentinels', () => group.close())
    const redisUrl = redis?.url ?? group?.url
    const folder = await openTempDir('fleet')
    release.defer('folder', () => folder.close())
    const env = {
      ...(redisUrl && { REDIS_URL: redisUrl }),
      DATABASE_URL: line.url,
      MUSETTE_BASE_URL: sandboxUrl,
      MUSETTE_DATA_DIR: folder.path,
      MUSETTE_REQUESTS_PER_MINUTE: '100000',
      MUSETTE_CONCURRENCY: '2',
      MUSETTE_POLL_EVERY: '2s',
      MUSETTE_RECONCILE_EVERY: '10s',
      MUSETTE_LAG: '5s',
      // The ledger alone must see that a file was sent, without the rides that the mirror has by then.
      MUSETTE_KNOWN_RIDES: 'send',
      MUSETTE_HTTP: 'off',
    }
    const login = ['login', '--username', 'rider', '--password-stdin']
    const signed = await runNode([main, ...login], { env, input: 'rider' })
    if (signed.code !== 0) throw new Error(signed.stderr)
    const members: Running[] = []
    release.defer('members', () => Promise.all(members.map((member) => member.kill('SIGKILL'))))
    const start = async (place: number) => {
      const member = startNode([main, 'start'], { env, cwd: folder.path })
      members[place] = member
      await member.waitForLine(/"msg":"started"/, 60_000)
    }
    for (let place = 0; place < input.size; place++) await start(place)
    const dropDir = join(folder.path, 'drop')
    const files = async (name: '' | 'done' | 'failed') => {
      // Finished files lie in a folder a month; those that wait, in none.
      const all = { withFileTypes: true, recursive: name !== '' } as const
      const entries = await readdir(join(dropDir, name), all).catch(() => [])
      return entries.filter((entry) => entry.isFile()).map((entry) => entry.name)
    }
    return {
      sandboxUrl,
      /** the database itself, past the line that can be cut */
      databaseUrl: database.url,
      line,
      redis,
      /** of the queue behind sentinels */
      primary: group?.primary,
      /** the daemon in each place now */
      members,
      /** kills the daemon in a place as a power cut would, and starts another there */
      async replace(place: number) {
        await members[place]?.kill('SIGKILL')
        await start(place)
      },
      steer: (method: string, path: string, body?: unknown) => steer(sandboxUrl, method, path, body),
      rows: (text: string) => queryOnce(database.url, text),
      async drop(name: string, bytes: Uint8Array) {
        await mkdir(dropDir, { recursive: true })
        await writeFile(join(dropDir, `${name}.part`), bytes)
        await rename(join(dropDir, `${name}.part`), join(dropDir, name))
      },
      /** names of the files in a folder of the drop folder: '' for those that wait */
      files,
      /** gives every waiting file another time, as a person does who wants it looked at now */
      async touch() {
        const now = new Date()
        for (const name of await files('')) await utimes(join(dropDir, name), now, now).catch(() => undefined)
      },
      close: () => release.release(),
    }
  } catch (error) {
    await release.release()
    throw error
  }
}
