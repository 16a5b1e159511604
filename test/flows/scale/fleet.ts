import { mkdir, readdir, rename, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeReleaseStack } from '../../../src/kit/release-stack.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { type Line, openLine } from '../../kit/postgres-line.ts'
import { distPath, type Running, runNode, startNode } from '../../kit/processes.ts'
import { openOwnRedis } from '../../kit/redis.ts'
import type { RedisServer } from '../../kit/redis-server.ts'
import { steer } from '../../kit/steer.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

/** Several daemons on one database, one queue and one drop folder, and the stand-in service. */
export type Fleet = {
  sandboxUrl: string
  /** the database itself, past the line that can be cut */
  databaseUrl: string
  line: Line
  /** undefined when the queue is in Postgres */
  redis: RedisServer | undefined
  /** the daemon in each place now */
  members: Running[]
  /** kills the daemon in a place as a power cut would, and starts another there */
  replace(place: number): Promise<void>
  steer(method: string, path: string, body?: unknown): Promise<Record<string, unknown>>
  rows(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>
  drop(name: string, bytes: Uint8Array): Promise<void>
  /** names of the files in a folder of the drop folder: '' for those that wait */
  files(folder: '' | 'done' | 'failed'): Promise<string[]>
  /** gives every waiting file another time, as a person does who wants it looked at now */
  touch(): Promise<void>
  close(): Promise<void>
}

/** Starts `size` daemons with all roles but the web server, signed in as the rider, and waits until each has started. */
export async function openFleet(input: {
  size: number
  queue: 'redis' | 'postgres'
  activities: number
}): Promise<Fleet> {
  const release = makeReleaseStack()
  try {
    const main = distPath('main.js')
    const history = ['--activities', String(input.activities), '--sample-delay-ms', '0']
    const sandbox = startNode([main, 'sandbox', '--port', '0', ...history])
    release.defer('sandbox', () => sandbox.kill('SIGKILL'))
    const sandboxUrl = (await sandbox.waitForLine(/^listening /)).replace('listening ', '').trim()
    const database = await openTestDatabase()
    release.defer('database', () => database.close())
    const line = await openLine(database.url)
    release.defer('line', () => line.close())
    const redis = input.queue === 'redis' ? await openOwnRedis() : undefined
    if (redis) release.defer('redis', () => redis.close())
    const folder = await openTempDir('fleet')
    release.defer('folder', () => folder.close())
    const env = {
      ...(redis && { REDIS_URL: redis.url }),
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
    const files = async (name: string) => {
      // Finished files lie in a folder a month; those that wait, in none.
      const all = { withFileTypes: true, recursive: name !== '' } as const
      const entries = await readdir(join(dropDir, name), all).catch(() => [])
      return entries.filter((entry) => entry.isFile()).map((entry) => entry.name)
    }
    return {
      sandboxUrl,
      databaseUrl: database.url,
      line,
      redis,
      members,
      async replace(place) {
        await members[place]?.kill('SIGKILL')
        await start(place)
      },
      steer: (method, path, body) => steer(sandboxUrl, method, path, body),
      rows: (text, values) => queryOnce(database.url, text, values),
      async drop(name, bytes) {
        await mkdir(dropDir, { recursive: true })
        await writeFile(join(dropDir, `${name}.part`), bytes)
        await rename(join(dropDir, `${name}.part`), join(dropDir, name))
      },
      files,
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
