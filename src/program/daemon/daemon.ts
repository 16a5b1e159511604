import type { Logger } from 'pino'
import { makeBackendChoice } from '../../core/jobs/backend.ts'
import { type Jobs, openJobs } from '../../core/jobs/jobs.ts'
import { completeMeasures } from '../../core/mirror/rebuild-activities.ts'
import type { ServiceObserver } from '../../core/service/service.ts'
import { findAccounts, findEndedSessions, recordEndedSession } from '../../core/store/account-rows.ts'
import { recordRunsAbandoned } from '../../core/store/runs.ts'
import { makePartitions } from '../../core/store/samples/partitions.ts'
import { FEATURES } from '../../features/index.ts'
import { errorCode, errorLine, isAbort } from '../../kit/errors.ts'
import { UNFIT } from '../../kit/postgres/read-only-server.ts'
import { makeReleaseStack, startWork } from '../../kit/release-stack.ts'
import { MINUTE, SECOND, sleep } from '../../kit/time.ts'
import { type App, openApp } from '../app/app.ts'
import { CONNECTIONS_OF_PAGES, parkUnreadableLogins } from '../app/local-app.ts'
import { bringToMajor } from '../app/open-database.ts'
import type { Config } from '../config/config.ts'
import { makeCachedProbe } from '../frame/cached-probe.ts'
import { featureHandlers, loadCatalog } from '../frame/feature-jobs.ts'
import type { FactsApp } from '../frame/findings/facts.ts'
import { makeProgressLine } from '../frame/progress.ts'
import { openVisitorStore } from '../query/reading-store.ts'
import { assertNotExposed, openWeb } from '../web/web.ts'
import { openAccountWatch } from './account-watch.ts'
import { openDatabaseWatch } from './database-watch.ts'
import { makeHandlers } from './handlers.ts'
import { makeReadiness } from './probes.ts'
import type { Role } from './roles.ts'
import { waitForServers } from './wait-for-servers.ts'
import { openWatcher } from './watcher.ts'

/** How long a job may wait for a rate-limited service, ms. Then it goes back to the queue, so that jobs for other services run. */
const LONGEST_PAUSE_MS = 5 * SECOND

/** Ended sessions are cached, because a page sends several requests a second. A slow database must not delay a page. */
const ENDED_SESSIONS = { keepMs: 5 * SECOND, timeoutMs: 1 * SECOND }

export type Daemon = {
  app: App & FactsApp
  jobs: Jobs
  /** the URL of the dashboard; undefined if the dashboard is off */
  url: string | undefined
  /** resolves with the error after which the daemon must stop or open again, see openDatabaseWatch */
  failed: Promise<Error>
  close(): Promise<void>
}

type DaemonInput = { roles: readonly Role[]; signal: AbortSignal; watchEveryMs?: number }

/** Error codes of a server that went away while the daemon opened: some servers start twice. */
const WENT_AWAY = new Set([
  ...['database_unreachable', 'database_disk_full', 'database_memory', 'database_full', 'queue_unreachable'],
  ...UNFIT,
])
const MAX_ATTEMPTS = 5
const AGAIN_AFTER_MS = 1 * SECOND

/** Waits until its database and Redis are up, then opens the daemon as openParts does. */
export async function openDaemon(config: Config, log: Logger, input: DaemonInput): Promise<Daemon> {
  const http = input.roles.includes('web') ? config.http : undefined
  if (http) assertNotExposed(http)
  const { show } = makeProgressLine({ terminal: false, note: (line) => log.info(line) }, 'copying rows')
  const changed = await bringToMajor({ config, log, signal: input.signal }, FEATURES, { onProgress: show })
  if (changed) log.warn(changed, 'the embedded Postgres was upgraded to this major version')
  for (let attempt = 1; ; attempt++) {
    await waitForServers({ log }, { config, http, signal: input.signal })
    try {
      return await openParts(config, log, { ...input, http })
    } catch (error) {
      input.signal.throwIfAborted()
      if (attempt === MAX_ATTEMPTS || !WENT_AWAY.has(errorCode(error))) throw error
      log.warn({ attempt, reason: errorLine(error) }, 'the start was interrupted; musette tries again')
      await sleep(AGAIN_AFTER_MS, input.signal)
    }
  }
}

/**
 * Opens every part of the daemon that the roles need. `close` stops the parts in reverse order: web server, watcher, parts of features,
 * schedules and workers, queues, database watch, service client, Postgres. The `signal` cancels the opening and the running jobs. Throws the
 * errors of every part, and UnreadableLoginError if the secret key is wrong.
 */
async function openParts(
  config: Config,
  log: Logger,
  { http, ...input }: DaemonInput & { http: Config['http'] },
): Promise<Daemon> {
  const release = makeReleaseStack((step, error) => log.error({ error, step }, 'could not stop a part'))
  try {
    // Routes add their observers.
    const observers: ServiceObserver[] = []
    const app = await openApp(config, log, {
      signal: input.signal,
      observer: {
        onAnswer: (answer) => void observers.map((each) => each.onAnswer(answer)),
        onPause: (ms) => void observers.map((each) => each.onPause(ms)),
      },
      longestPauseMs: LONGEST_PAUSE_MS,
      features: FEATURES,
      preparation: config.migrateOnStart ? 'migrate' : 'set-up',
    })
    release.defer('app', () => app.close())
    // Open the watch first, because every write takes a number from the database's line.
    const watch = await openDatabaseWatch(app, input.watchEveryMs)
    release.defer('database watch', () => watch.close())
    const wrongKey = await parkUnreadableLogins(app)
    if (wrongKey) throw wrongKey
    for (const { prepare } of FEATURES) await prepare?.(app)
    await app.store.transaction((tx) => recordRunsAbandoned(tx, { startedBefore: new Date() }))
    if (!config.mirror.keepRaw)
      log.info(
        'MUSETTE_KEEP_RAW is false: answers are not kept, and musette rebuild has nothing to rebuild from',
      )
    const startedAt = new Date()
    const jobs = await openJobs(
      {
        log,
        handlers: { ...makeHandlers(app, () => jobs), ...featureHandlers(app, startedAt) },
        signal: input.signal,
        accounts: async () => (await app.store.read(findAccounts)).map(({ accountId }) => accountId),
      },
      {
        backend: makeBackendChoice(config.redisUrl, app.databaseUrl, watch.database),
        roles: { worker: input.roles.includes('worker') },
        catalog: await loadCatalog(config, FEATURES),
        concurrency: config.service.concurrency,
      },
    )
    release.defer('jobs', () => jobs.close())
    if (input.roles.includes('worker')) {
      release.defer('completion of derived rows', openCompletion(app).close)
      release.defer('partitioning', openPartitioning(app).close)
      for (const { name, openInWorker } of FEATURES) {
        const part = await openInWorker?.({ app, jobs, startedAt })
        if (part) release.defer(name, () => part.close())
      }
    }
    if (input.roles.includes('scheduler')) {
      const accounts = await openAccountWatch(app, jobs)
      release.defer('account watch', () => accounts.close())
      await jobs.keepSchedules()
    }
    const isWatched = input.roles.includes('watcher')
    const dropFolder = isWatched ? await openWatcher(app, jobs) : undefined
    if (dropFolder) release.defer('watcher', dropFolder.close)
    const ofPages = { connectionString: app.databaseUrl, maxConnections: CONNECTIONS_OF_PAGES }
    const visitorStore = http && (await openVisitorStore({ log, owner: app.store }, ofPages))
    if (visitorStore) release.defer('connections of pages', visitorStore.close)
    const web =
      visitorStore &&
      (await openWeb(
        {
          app,
          visitorStore,
          jobs,
          features: FEATURES,
          observeRequests: (observer) => observers.push(observer),
          readiness: makeReadiness({ app, jobs, dropFolder }, input.roles),
          isWatched,
          endedSessions: {
            find: makeCachedProbe(() => app.store.read(findEndedSessions), ENDED_SESSIONS),
            record: (session) => app.store.transaction((tx) => recordEndedSession(tx, session)),
          },
        },
        http,
      ))
    if (web) release.defer('web', () => web.close())
    const queue = config.redisUrl ? 'redis' : 'postgres'
    log.info({ url: web?.url, roles: input.roles, database: app.store.server(), queue }, 'started')
    // Start jobs last, because jobs and the opening of the other parts would wait for each other.
    jobs.work()
    return { app, jobs, url: web?.url, failed: watch.changed, close: () => release.release() }
  } catch (error) {
    await release.release().catch(() => undefined)
    throw error
  }
}

/**
 * Derives in the background the values that an older version did not derive from samples; the first sweep derives time zones and forms.
 * Logs a failure; the next start tries again. `close` stops the work.
 */
function openCompletion({ mirror: { store, log } }: Pick<App, 'mirror'>): { close(): Promise<void> } {
  return startWork(async (signal) => {
    try {
      await completeMeasures({ store, log }, signal)
    } catch (error) {
      if (!isAbort(error, signal)) log.error({ reason: errorLine(error) }, 'derived rows are not complete')
    }
  })
}

/** The pause while rows are moved to partitions, so that other work can run, and the pause between looks at finished tables. */
const [MOVE_EVERY_MS, LOOK_EVERY_MS] = [10 * SECOND, MINUTE]

/** Keeps large tables partitioned in the background, see makePartitions. `close` stops the work. */
function openPartitioning({ mirror: { store, log } }: Pick<App, 'mirror'>): { close(): Promise<void> } {
  const partitions = makePartitions({ store, log })
  return startWork(async (signal) => {
    while (!signal.aborted) {
      const isMore = await partitions.keep(signal)
      await sleep(isMore ? MOVE_EVERY_MS : LOOK_EVERY_MS, signal).catch(() => undefined)
    }
  })
}
