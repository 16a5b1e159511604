import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { type Jobs, openJobs } from '../jobs/jobs.ts'
import { DAY, HOUR, SECOND } from '../kit/durations.ts'
import { makeReleaseStack } from '../kit/release-stack.ts'
import { findAccounts } from '../store/accounts.ts'
import { recordRunsAbandoned } from '../store/runs.ts'
import { openWeb } from '../web/web.ts'
import { makeHandlers } from './handlers.ts'
import { type House, openHouse } from './house.ts'
import { findReadiness } from './readiness.ts'
import type { Role } from './roles.ts'
import { findStatus } from './status.ts'
import { openWatcher } from './watcher.ts'

export type Daemon = {
  house: House
  jobs: Jobs
  /** the dashboard's address; undefined when it is off */
  url: string | undefined
  close(): Promise<void>
}

/** Tokens live for a week and are refreshed at half of it; a look twice a day is early enough. */
const REFRESH_LOOK_EVERY_MS = DAY / 2
/** Loads and status move with the hours; a row is kept only when they did. */
const TRAINING_INFO_EVERY_MS = 1 * HOUR
/** What a crash or a flushed queue left behind, and what was paused, is found again within this. */
const SWEEP_EVERY_MS = 10 * SECOND

/**
 * Builds every part of the daemon from the configuration and starts it; `close` stops it in the reverse of this order:
 * watcher, schedules and workers, queues, service client, Postgres, log.
 */
export async function openDaemon(
  config: Config,
  log: Logger,
  input: { roles: readonly Role[]; signal: AbortSignal },
): Promise<Daemon> {
  const release = makeReleaseStack((step, error) => log.error({ error, step }, 'could not stop a part'))
  try {
    const house = await openHouse(config, log)
    release.defer('house', () => house.close())
    await assertKeyFits(house)
    await house.store.transaction((tx) => recordRunsAbandoned(tx, { startedBefore: new Date() }))
    const jobs = await openJobs(
      {
        log,
        handlers: makeHandlers(house, () => jobs),
        signal: input.signal,
        accounts: async () => {
          const accounts = await house.store.read(findAccounts)
          return accounts.map((account) => account.accountId)
        },
      },
      {
        backend: config.redisUrl
          ? { kind: 'redis', url: config.redisUrl }
          : { kind: 'postgres', url: house.databaseUrl },
        roles: { scheduler: input.roles.includes('scheduler'), worker: input.roles.includes('worker') },
        every: {
          poll: config.mirror.pollEveryMs,
          reconcile: config.mirror.reconcileEveryMs,
          refresh: REFRESH_LOOK_EVERY_MS,
          sweep: SWEEP_EVERY_MS,
          trainingInfo: TRAINING_INFO_EVERY_MS,
          workouts: DAY,
        },
        concurrency: config.service.concurrency,
      },
    )
    release.defer('jobs', () => jobs.close())
    const watcher = input.roles.includes('watcher') ? await openWatcher(house, jobs) : undefined
    if (watcher) release.defer('watcher', () => watcher.close())
    const web = await openDaemonWeb(house, jobs, input.roles)
    if (web) release.defer('web', () => web.close())
    log.info({ url: web?.url, roles: input.roles, queue: config.redisUrl ? 'redis' : 'postgres' }, 'started')
    return { house, jobs, url: web?.url, close: () => release.release() }
  } catch (error) {
    await release.release().catch(() => undefined)
    throw error
  }
}

async function openDaemonWeb(house: House, jobs: Jobs, roles: readonly Role[]) {
  const { http } = house.config
  if (!http || !roles.includes('web')) return undefined
  const { log } = house
  return openWeb(
    { log, readiness: () => findReadiness(house, jobs), overview: () => findStatus(house) },
    http,
  )
}

/** A wrong key is said once at the start, as a ConfigError, and not at every job for as long as the daemon runs. */
async function assertKeyFits(house: House): Promise<void> {
  for (const { accountId } of await house.store.read(findAccounts)) await house.vault.read(accountId)
}
