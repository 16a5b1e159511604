import { once } from 'node:events'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { type Config, readConfig } from '../../config/config.ts'
import { openDaemon } from '../../daemon/daemon.ts'
import { openHouse } from '../../daemon/house.ts'
import { ROLES } from '../../daemon/roles.ts'
import { signInWithPassword } from '../../daemon/sign-in.ts'
import { findSharedUrl } from '../../embedded/embedded.ts'
import { makeReleaseStack } from '../../kit/release-stack.ts'
import { makeLogger } from '../../log.ts'
import { startSandbox } from '../../sandbox/sandbox.ts'
import type { Context } from '../context.ts'
import { followBackfill, followUpload } from './follow.ts'
import { printQueries } from './queries.ts'

export type DemoOptions = { once?: boolean; activities: number }

/** Shows everything on this machine: stand-in service, embedded Postgres, daemon, upload, SQL. Ends after `once`. */
export async function demo(context: Context, options: DemoOptions): Promise<undefined> {
  const release = makeReleaseStack()
  const startedAt = Date.now()
  try {
    const sandbox = await startSandbox({ activities: options.activities })
    release.defer('sandbox', () => sandbox.close())
    context.note(`stand-in service: ${sandbox.url} (rider "rider", password "rider")`)
    const config = demoConfig(sandbox.url)
    const log = makeLogger({
      level: context.config.logLevel === 'info' ? 'warn' : context.config.logLevel,
      terminal: context.terminal,
    })
    await signIn(config, log, context.signal)
    context.note('signed in as account "default"')
    const daemon = await openDaemon(config, log, { roles: ROLES, signal: context.signal })
    release.defer('daemon', () => daemon.close())
    context.note('daemon: running, on an embedded Postgres')
    await followBackfill(context, daemon, new Date(startedAt))
    await followUpload(context, daemon)
    await printQueries(context, daemon.house)
    context.note(`everything above took ${((Date.now() - startedAt) / 1_000).toFixed(1)} s`)
    context.print(`\ndatabase:  ${await findSharedUrl(config.dataDir)}`)
    context.print(`dashboard: ${daemon.url}`)
    if (options.once) return
    context.note('the daemon goes on; Ctrl-C stops it')
    if (!context.signal.aborted) await once(context.signal, 'abort')
  } finally {
    await release.release()
  }
}

/** Before the daemon starts: in a second run the account still has the address of the stand-in service of the first. */
async function signIn(config: Config, log: Logger, signal: AbortSignal): Promise<void> {
  const house = await openHouse(config, log, { signal })
  try {
    const rider = { username: 'rider', password: 'rider', keepPassword: false }
    await signInWithPassword(house, { name: 'default', ...rider, signal })
  } finally {
    await house.close()
  }
}

/** The demo's own configuration: a folder, a pace and intervals of its own, whatever the environment says. */
function demoConfig(baseUrl: string) {
  const dataDir = join(process.cwd(), '.musette', 'demo')
  return readConfig({
    MUSETTE_BASE_URL: baseUrl,
    MUSETTE_DATA_DIR: dataDir,
    // The stand-in service runs on this machine and need not be spared.
    MUSETTE_REQUESTS_PER_MINUTE: '60000',
    MUSETTE_POLL_EVERY: '30s',
    MUSETTE_HTTP: '127.0.0.1:0',
  })
}
