import { readFileSync } from 'node:fs'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { ConfigError, commandFor } from '../kit/errors.ts'
import { makeReleaseStack } from '../kit/release-stack.ts'
import { systemClock } from '../kit/time.ts'
import type { MirrorDeps, MirrorOptions } from '../mirror/mirror.ts'
import { openService, type Service, type ServiceObserver } from '../service/service.ts'
import { type Account, findAccount } from '../store/account-rows.ts'
import { checkSchema } from '../store/migrate.ts'
import { recordPausesEnded } from '../store/pauses.ts'
import { makeSamplesVacuum } from '../store/samples/vacuum.ts'
import { openStore, type Store } from '../store/store.ts'
import { readOrMakeSecretKey, readSecretKeys } from '../store/vault/key-file.ts'
import { type KeyOptions, makeTokenVault, type Vault } from '../store/vault/vault.ts'
import { makeWorkoutFolder } from '../workoutfolder/workout-folder.ts'
import { finishRotation } from './key-rotation.ts'
import { openDatabase } from './open-database.ts'
import { parkIfDamaged } from './unreadable-logins.ts'

/** The parts that verbs and daemon share; `close` stops them in reverse order. */
export type App = {
  config: Config
  log: Logger
  databaseUrl: string
  store: Store
  vault: Vault
  service: Service
  mirror: MirrorDeps
  mirrorOptions: MirrorOptions
  close(): Promise<void>
}

/** Database connections besides one for each concurrent fetch: token refreshes hold one during their request, polls need the rest. */
export const CONNECTIONS_BESIDE_FETCHES = 6

/**
 * Opens database, vault and service client from the configuration. The embedded Postgres is migrated to this version; the
 * user's own database is only checked: ConfigError when it is at another version, TransientError when it is unreachable. The
 * `signal` cancels the opening only; the `observer` is called for every request to the service; `longestPauseMs` and
 * `byHand` are options of the service client.
 */
export async function openApp(
  config: Config,
  log: Logger,
  options: {
    signal?: AbortSignal
    observer?: ServiceObserver | undefined
    longestPauseMs?: number
    byHand?: boolean
  } = {},
): Promise<App> {
  const release = makeReleaseStack((step, error) => log.error({ error, step }, 'could not stop a part'))
  try {
    const database = await openDatabase(config, log, options.signal)
    release.defer('database', () => database.close())
    const store = openStore(
      { log },
      {
        connectionString: database.url,
        maxConnections: config.service.concurrency + CONNECTIONS_BESIDE_FETCHES,
      },
    )
    release.defer('store', () => store.close())
    await store.read(checkSchema)
    const vault = makeTokenVault({ store, log }, { ...keysOf(config), spoolDir: config.dataDir })
    await finishRotation({ store, log }, config)
    const { concurrency, requestsPerMinute } = config.service
    const service = openService(
      { vault, log, observer: options.observer },
      {
        concurrency,
        requestsPerMinute,
        userAgent: `musette/${VERSION}`,
        longestPauseMs: options.longestPauseMs,
        byHand: options.byHand ?? false,
      },
    )
    release.defer('service', () => service.close())
    return {
      config,
      log,
      databaseUrl: database.url,
      store,
      vault,
      service,
      mirror: {
        store,
        serviceOf: (account) => service.forAccount(account),
        listDefaultWorkouts: (baseUrl, signal) => service.listDefaultWorkouts(baseUrl, signal),
        workoutFolder:
          config.workoutDir === undefined
            ? undefined
            : makeWorkoutFolder({ log }, { dir: config.workoutDir }),
        vacuum: makeSamplesVacuum({ store, log }),
        log,
        now: systemClock,
      },
      mirrorOptions: config.mirror,
      close: () => release.release(),
    }
  } catch (error) {
    await release.release().catch(() => undefined)
    throw error
  }
}

/** Returns the vault's keys: a key in the data directory may change while this process runs, one from the environment cannot. */
function keysOf({ secretKey, dataDir }: Config): KeyOptions {
  if (secretKey) return { secretKey }
  return { secretKey: readOrMakeSecretKey(dataDir), readKeys: () => readSecretKeys(dataDir) }
}

/** Ends the pauses that were recorded while this machine's clock was ahead, and logs their number. */
export async function endPauses({
  mirror: { store, log, now },
  mirrorOptions: { lagMs },
}: Pick<App, 'mirror' | 'mirrorOptions'>): Promise<void> {
  const pauses = await store.transaction((tx) => recordPausesEnded(tx, { now: now(), lagMs }))
  if (pauses > 0) log.warn({ pauses }, 'pauses that were made while the clock was ahead are ended')
}

/** The version in package.json, which is two folders above both src/app and dist/app. */
export const VERSION: string = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
).version

/** Finds an account by name. Throws ConfigError `no_account`, whose message has the command that makes it. */
export async function accountNamed(app: Pick<App, 'store'>, name: string): Promise<Account> {
  const account = await app.store.read((tx) => findAccount(tx, name))
  if (account) return account
  throw new ConfigError('no_account', `there is no account "${name}" yet; run: ${commandFor('login', name)}`)
}

/**
 * Finds an account by name and checks that its login can be read. Throws ConfigError `no_account`, and UnreadableLoginError
 * before any other work.
 */
export async function accountToUse(app: Pick<App, 'store' | 'vault'>, name: string): Promise<Account> {
  const account = await accountNamed(app, name)
  try {
    await app.vault.read(account.accountId)
  } catch (error) {
    await parkIfDamaged(app, error)
    throw error
  }
  return account
}
