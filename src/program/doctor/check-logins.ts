import { findAccounts } from '../../core/store/account-rows.ts'
import { findIdentity } from '../../core/store/database-facts.ts'
import type { Tx } from '../../core/store/store.ts'
import { readPendingIds, secretKeyPath } from '../../core/vault/key-file.ts'
import { KEY_BACK, makeKeyring, orUnreadable, UnreadableLoginError } from '../../core/vault/seal.ts'
import { findEverySealed, makeSpool, unsealRow, unsealSpooled } from '../../core/vault/stored-credentials.ts'
import type { KeyOptions } from '../../core/vault/vault.ts'
import { commandFor } from '../../kit/errors.ts'
import { keysOf } from '../app/local-app.ts'
import { NO_ACCOUNT } from '../frame/findings/core-sources.ts'
import { type Finding, leftOut, ok, problem, problemOf, warning } from '../frame/findings/finding.ts'
import { type DoctorContext, findListed } from './doctor-context.ts'

/** Checks that each account is signed in, how old its tokens are, and which tokens wait in files. */
export async function checkLogins(context: DoctorContext): Promise<Finding[]> {
  const { config, mirror } = context
  const database = await mirror()
  if ('reason' in database) return [database.fresh ? NO_ACCOUNT : leftOut(database.reason)]
  const logins = await database.store.read((tx) => findLogins(tx, config))
  const accounts = await database.store.read(findAccounts)
  const listed = await findListed(context, 'login')
  return listed.flatMap((finding) => {
    const login = logins.find(({ account }) => account === finding.account)
    const baseUrl = accounts.find(({ name }) => name === finding.account)?.baseUrl
    const configured = baseUrl && (config.service.baseUrl ?? baseUrl)
    const elsewhere = `account "${finding.account}" is signed in to ${baseUrl}, and MUSETTE_BASE_URL is another address, which only counts at a login`
    const isShut = login && login.opens !== true && finding.state !== 'problem'
    return [
      isShut ? leftOut(`account "${login.account}": its login cannot be opened; see "secret key"`) : finding,
      ...spoolFindings(login),
      ...(baseUrl === configured ? [] : [warning(elsewhere, commandFor('login', finding.account ?? ''))]),
    ]
  })
}

function spoolFindings(login: LoginFacts | undefined): Finding[] {
  if (!login || login.spool === 'none') return []
  const { account, spool } = login
  if (spool !== 'waiting') return [problemOf(spool, { run: commandFor('login', account) })]
  const found = `account "${account}": newer tokens are in the spool file, because they could not be stored; the next sync stores them`
  return [warning(found, commandFor('sync', account))]
}

/** Checks that each account was polled lately, and whether some of its activities could not be mirrored. */
export async function checkMirrors(context: DoctorContext): Promise<Finding[]> {
  const listed = await findListed(context, 'mirror')
  return listed.length > 0 ? listed : [leftOut(NO_ACCOUNT.found)]
}

/** Checks that the current key decrypts every login. Makes no key. */
export async function checkSecretKey({ config, mirror }: DoctorContext): Promise<Finding[]> {
  const keys = readKeys(config)
  const place = config.secretKey ? 'MUSETTE_SECRET_KEY' : secretKeyPath(config.dataDir)
  const found = await mirror()
  if ('reason' in found && keys) return [leftOut(`${found.reason}: ${place} is there, and may fit or not`)]
  const logins = 'reason' in found ? [] : await found.store.read((tx) => findLogins(tx, config))
  const shut = logins.filter(({ opens }) => opens !== true)
  if (shut.length > 0)
    return shut.map((login) => unreadableLoginFinding(login, keys ? place : `a lost key (${place})`))
  if (!keys) return [ok('there is no key yet; the first login makes it')]
  const pending = config.secretKey ? [] : readPendingIds(config.dataDir)
  const cut = pending.filter((id) => logins.some(({ keyId }) => keyId === id))
  if (cut.length > 0) {
    const unfinished = 'a rotation of the key was cut off; the next start of any verb finishes it'
    return [warning(unfinished, 'musette status')]
  }
  return [ok(`${place} opens ${logins.length === 1 ? 'the one login' : `all ${logins.length} logins`}`)]
}

function unreadableLoginFinding({ account, keyId, opens }: LoginFacts, place: string): Finding {
  if (opens instanceof UnreadableLoginError && opens.code !== 'secret_key_mismatch')
    return problemOf(opens, { run: commandFor('login', account) })
  const found = `the login of account "${account}" was sealed with another key (id ${keyId}) than ${place}; put that one back (${KEY_BACK}), or sign in again`
  return problem('configuration', found, commandFor('login', account))
}

/** Reads the current keys; returns undefined if there are none. Throws ConfigError if a key file cannot be used. */
function readKeys(config: DoctorContext['config']): KeyOptions | undefined {
  const keys = keysOf(config)
  return keys.secretKey && keys
}

/** The facts about a login, without its secrets. */
type LoginFacts = Awaited<ReturnType<typeof findLogins>>[number]

/** Finds the facts about every login. Decrypts it with the current keys and changes nothing, not even spooled tokens. */
async function findLogins(tx: Tx, config: DoctorContext['config']) {
  const keys = readKeys(config)
  const keyring = keys && makeKeyring(keys)
  const spool = makeSpool(config.dataDir, (await findIdentity(tx)).identity)
  const facts = []
  for (const row of await findEverySealed(tx)) {
    const { keyId, obtainedAt, accountId } = row.sealed
    const tryOpen = () => keyring && unsealRow(keyring, row) && (true as const)
    /** true if a known key decrypts the login, otherwise the reason; undefined if there is no key */
    const opens = await orUnreadable(tryOpen, row)
    /** newer tokens in a spool file: none, waiting for the database, or why they cannot be read */
    const spooled = await orUnreadable(async () => {
      const found = await spool.read(accountId)
      if (!found || found.obtainedAt <= obtainedAt) return 'none' as const
      if (keyring) unsealSpooled(keyring.sealerOf(found), found)
      return 'waiting' as const
    }, row)
    facts.push({ account: row.name, keyId, opens, spool: spooled })
  }
  return facts
}
