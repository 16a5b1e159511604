import type { Logger } from 'pino'
import { type Account, findAccount, findAccounts } from '../../core/store/account-rows.ts'
import { findIdentity } from '../../core/store/database-facts.ts'
import { findPasses, openStore, type Store } from '../../core/store/store.ts'
import { oldKeyPath, readKeyFile, readOrMakeSecretKey, readSecretKeys } from '../../core/vault/key-file.ts'
import { orUnreadable, UnreadableLoginError } from '../../core/vault/seal.ts'
import { type KeyOptions, makeTokenVault } from '../../core/vault/vault.ts'
import { ACCOUNT_NAMES, ConfigError, commandFor, isAccountName } from '../../kit/errors.ts'
import { makeReleaseStack } from '../../kit/release-stack.ts'
import { SECOND, sleep } from '../../kit/time.ts'
import type { Config } from '../config/config.ts'
import { finishRotation } from './key-rotation.ts'
import {
  assertDatabase,
  type Database,
  followCopiedData,
  openUnmigrated,
  type Preparation,
  prepareDatabase,
} from './open-database.ts'

/** The parts of an App on this machine, for verbs that make no request to the service; `close` stops the parts in reverse order. */
export type LocalApp = Awaited<ReturnType<typeof openLocalApp>>

/**
 * Database connections in addition to one per concurrent fetch: token refreshes hold one during their request, a pass holds one, a publisher
 * keeps one for its lock, polls and pages need the rest.
 */
export const CONNECTIONS_BESIDE_FETCHES = 8
/** The number of these connections that pages read with, see openVisitorStore. */
export const CONNECTIONS_OF_PAGES = 3

/**
 * Opens the database and the vault of the configuration. The embedded Postgres is migrated to this version, and created unless
 * `preparation` is `check`. The user's own database is checked and migrated as far as `preparation` allows; with `read`, it may be a
 * standby. Throws ConfigError if it has another version, TransientError if it is unreachable. The `signal` cancels the opening, and the
 * wait of `close` for other processes.
 */
export async function openLocalApp(
  config: Config,
  log: Logger,
  signal = new AbortController().signal,
  preparation: Preparation | 'read' = 'check',
) {
  const release = makeReleaseStack((step, error) => log.error({ error, step }, 'could not stop a part'))
  try {
    const onlyReads = preparation === 'read'
    const prepared = onlyReads ? 'check' : preparation
    if (prepared === 'check') await assertDatabase(config)
    const database = await openUnmigrated(config, log, signal)
    release.defer('database', () => database.close())
    const store = openStore(
      { log },
      {
        connectionString: database.url,
        maxConnections: config.service.concurrency + CONNECTIONS_BESIDE_FETCHES - CONNECTIONS_OF_PAGES,
        onlyReads,
      },
    )
    release.defer('store', () => store.close())
    release.defer('passes of others', () => untilOthersPassed({ store, log }, database, signal))
    await prepareDatabase(
      { store, config, log, signal },
      { ...database, preparation: config.databaseUrl ? prepared : 'migrate' },
    )
    await followCopiedData({ log }, { database, dataDir: config.dataDir })
    const { identity } = await store.read(findIdentity)
    const vault = makeTokenVault({ store, log }, { ...keysOf(config), spoolDir: config.dataDir, identity })
    await finishRotation({ store, log }, config)
    return { config, log, databaseUrl: database.url, store, vault, close: () => release.release() }
  } catch (error) {
    await release.release().catch(() => undefined)
    throw error
  }
}

/**
 * Waits until no process has a pass, if this process runs the embedded Postgres: stopping the server would make those passes fail. A signal
 * ends the wait.
 */
async function untilOthersPassed(
  { store, log }: Pick<LocalApp, 'store' | 'log'>,
  { isRunHere }: Database,
  signal: AbortSignal,
): Promise<void> {
  for (let waited = 0; isRunHere?.() && !signal.aborted; waited += 1) {
    const passes = await store.read(findPasses).catch(() => [])
    if (passes.length === 0) return
    if (waited === 1) log.warn('the embedded Postgres keeps running until another command has ended its pass')
    await sleep(SECOND, signal).catch(() => undefined)
  }
}

/**
 * Returns the vault's keys. A key in the data directory may change while this process runs; a key from the environment cannot. Only the
 * verb login makes a key file, and only if no other login was sealed with a lost key.
 */
export function keysOf({ secretKey, dataDir }: Pick<Config, 'secretKey' | 'dataDir'>): KeyOptions {
  if (secretKey) return { secretKey }
  const readKeys = () => readSecretKeys(dataDir)
  const readOldKey = (keyId: string) => readKeyFile(oldKeyPath(dataDir, keyId))
  return { secretKey: readKeys()[0], readKeys, readOldKey, makeFirst: () => readOrMakeSecretKey(dataDir) }
}

/** The most accounts that a message names. */
const MAX_NAMED = 10

/**
 * Returns the account that a verb works on: the named account, or else `default`, or else the only account. Throws ConfigError `no_account`
 * if there is no account, and `which_account`, whose message names the accounts and the command.
 */
export async function findChosenAccount(
  app: Pick<LocalApp, 'store'>,
  { name, verb }: { name: string | undefined; verb: string },
): Promise<string> {
  if (name !== undefined) return name
  const names = (await app.store.read(findAccounts)).map((account) => account.name)
  if (names.includes('default')) return 'default'
  const [first, ...others] = names
  if (first === undefined) throw new ConfigError('no_account', 'there is no account yet; run: musette login')
  if (others.length === 0) return first
  const message = `there are several accounts (${quoteNames(names)}); name one, for example: ${commandFor(verb, first)}`
  throw new ConfigError('which_account', message)
}

/** Finds an account by name. Throws ConfigError `no_account`, whose message names the existing accounts and the command that creates this one. */
export async function accountNamed(app: { store: Pick<Store, 'read'> }, name: string): Promise<Account> {
  const account = await app.store.read((tx) => findAccount(tx, name))
  if (account) return account
  const others = await app.store.read(findAccounts)
  const known = others.length === 0 ? '' : `, only ${quoteNames(others.map((other) => other.name))}`
  const message = isAccountName(name)
    ? `there is no account "${name}" yet${known}; run: ${commandFor('login', name)}`
    : `there can be no account "${name}": ${ACCOUNT_NAMES}; run: musette accounts`
  throw new ConfigError('no_account', message)
}

function quoteNames(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMED).map((name) => `"${name}"`)
  const more = names.length - shown.length
  return new Intl.ListFormat('en-GB').format(more > 0 ? [...shown, `${more} more`] : shown)
}

/** Finds an account by name and checks that its login can be read. Throws ConfigError `no_account` and UnreadableLoginError. */
export async function accountToUse(app: Pick<LocalApp, 'store' | 'vault'>, name: string): Promise<Account> {
  const account = await accountNamed(app, name)
  await app.vault.read(account.accountId).catch(async (error) => {
    // With this code, only this process may have the wrong key.
    if (error instanceof UnreadableLoginError && error.code !== 'secret_key_mismatch')
      await app.vault.parkUnreadable(error)
    throw error
  })
  return account
}

/**
 * Reads the login of every account, or of one account; if that login is doubtful (see findDoubtfulLogins), reads the logins of all
 * accounts. Parks accounts whose login cannot be read, so that the other accounts continue. If no login can be decrypted with the current
 * key, the key is wrong, so parks no account and returns the first error.
 */
export async function parkUnreadableLogins(
  app: Pick<LocalApp, 'vault'>,
  accountId?: number,
): Promise<UnreadableLoginError | undefined> {
  const { vault } = app
  const unreadable: UnreadableLoginError[] = []
  const wanted = await vault.findDoubtful(accountId)
  // The logins of other accounts show whether the key is right.
  const isOne = accountId !== undefined && wanted.doubtful.length > 0
  const { readable, doubtful } = isOne ? await vault.findDoubtful() : wanted
  let isKeyRight = readable > 0
  for (const accountId of doubtful) {
    const found = await orUnreadable(() => vault.read(accountId))
    if (found instanceof UnreadableLoginError) unreadable.push(found)
    else if (found) isKeyRight = true
  }
  if (!isKeyRight && unreadable.every(({ code }) => code === 'secret_key_mismatch')) return unreadable[0]
  for (const error of unreadable) await vault.parkUnreadable(error)
  return undefined
}
