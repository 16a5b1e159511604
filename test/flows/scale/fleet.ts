import { mkdir, readdir, rename, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openTogether } from '../../kit/open-together.ts'
import { openLine } from '../../kit/postgres-line.ts'
import type { Running } from '../../kit/processes.ts'
import { openOwnRedis } from '../../kit/redis.ts'
import { openCliRig } from '../../program/cli/rig.ts'

/** Several daemons on one database, one queue and one drop folder, and the stand-in service. */
export type Fleet = Awaited<ReturnType<typeof openFleet>>

/** Starts two signed-in daemons with all roles except the web server, and waits until each has started. */
export async function openFleet(queue: 'postgres' | 'redis') {
  return openTogether(async (keep) => {
    const rig = await keep(openCliRig({ activities: 16, isSignedIn: true }))
    await rig.steer('PATCH', 'settings', { sample_delay_ms: 0 })
    const line = await keep(openLine(rig.databaseUrl))
    const redis = queue === 'redis' ? await keep(openOwnRedis()) : undefined
    const env = {
      ...(redis && { REDIS_URL: redis.url }),
      DATABASE_URL: line.url,
      MUSETTE_CONCURRENCY: '2',
      MUSETTE_POLL_EVERY: '2s',
      MUSETTE_RECONCILE_EVERY: '10s',
      MUSETTE_LAG: '5s',
      // The ledger alone must notice that a file was sent, without the mirrored rides.
      MUSETTE_KNOWN_RIDES: 'send',
      MUSETTE_HTTP: 'off',
    }
    const members: Running[] = []
    await keep({ close: () => Promise.all(members.map((member) => member.kill('SIGKILL'))) })
    const start = async (place: number) => {
      const member = rig.start(['start'], { env })
      members[place] = member
      await member.waitForLine(/"msg":"started"/, 60_000)
    }
    for (const place of [0, 1]) await start(place)
    const dropDir = join(rig.dataDir, 'drop')
    const files = async (name: '' | 'done' | 'failed') => {
      // Finished files lie in a folder per month; waiting files lie in no subfolder.
      const all = { withFileTypes: true, recursive: name !== '' } as const
      const entries = await readdir(join(dropDir, name), all).catch(() => [])
      return entries.filter((entry) => entry.isFile()).map((entry) => entry.name)
    }
    return {
      sandboxUrl: rig.sandboxUrl,
      /** the database itself, around the line that can be cut */
      databaseUrl: rig.databaseUrl,
      line,
      redis,
      /** the current daemon in each place */
      members,
      /** kills the daemon in a place as a power cut would, and starts another there */
      async replace(place: number) {
        await members[place]?.kill('SIGKILL')
        await start(place)
      },
      steer: rig.steer,
      rows: rig.rows,
      async drop(name: string, bytes: Uint8Array) {
        await mkdir(dropDir, { recursive: true })
        await writeFile(join(dropDir, `${name}.part`), bytes)
        await rename(join(dropDir, `${name}.part`), join(dropDir, name))
      },
      /** names of the files in a subfolder of the drop folder; '' for waiting files */
      files,
      /** sets a new time on every waiting file, as a person does to have it checked now */
      async touch() {
        const now = new Date()
        for (const name of await files('')) await utimes(join(dropDir, name), now, now).catch(() => undefined)
      },
    }
  })
}
