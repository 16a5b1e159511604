import { keysOf } from '../app/local-app.ts'
import { describeLoginProblem, describeUtcDays, freshMs, homeCommandFor } from '../app/status-report.ts'
import { commandFor } from '../kit/errors.ts'
import { formatDuration } from '../kit/time.ts'
import { type AccountStatus, findAccountStatuses, findSharedRiders } from '../store/account-status.ts'
import type { Store } from '../store/store.ts'
import { readPendingIds, secretKeyPath } from '../vault/key-file.ts'
import { findLoginFacts, type LoginFacts } from '../vault/login-facts.ts'
import { UnreadableLoginError } from '../vault/seal.ts'
import type { KeyOptions } from '../vault/vault.ts'
import type { DoctorContext } from './doctor-context.ts'
import { type Finding, leftOut, ok, problem, problemOf, warning } from './finding.ts'

/** A daemon refreshes a token by six tenths of its life at the latest; above this share of it none does. */
const REFRESHED_BY = 0.7

/** Checks that each account is signed in, and how old its tokens are. */
export async function checkLogins({ config, mirror }: DoctorContext): Promise<Finding[]> {
  const found = await mirror()
  if ('reason' in found && !found.fresh) return [leftOut(found.reason)]
  const statuses = 'reason' in found ? [] : await found.store.read(findAccountStatuses)
  if (statuses.length === 0 || 'reason' in found) {
    return [problem('credentials', 'there is no account yet', 'musette login')]
  }
  const logins = await findLogins(found.store, config)
  return statuses.flatMap((status) => {
    const login = logins.find(({ account }) => account === status.account)
    const findings = [loginFinding(status, login), ...spoolFindings(status.account, login)]
    return [...findings, ...addressFindings(status, config.service.baseUrl)]
  })
}

function loginFinding(status: AccountStatus, login: LoginFacts | undefined): Finding {
  const { account } = status
  const name = `account "${account}"`
  const wrong = describeLoginProblem({ ...status, needs_login: status.needs_login || !login })
  if (wrong?.code === 'token_refused') return warning(`${name} ${wrong.found}`, wrong.run)
  if (wrong || !login) return problem('credentials', `${name} ${wrong?.found}`, wrong?.run)
  if (login.opens !== true) return leftOut(`${name}: its login cannot be opened; see "secret key"`)
  const now = Date.now()
  const age = now - login.obtainedAt.getTime()
  const left = login.expiresAt.getTime() - now
  if (login.failures > 0) {
    const next = login.notBefore ? `; the next attempt comes after ${login.notBefore.toISOString()}` : ''
    return warning(`${name}: ${login.failures} refreshes in a row have failed${next}`, 'musette status')
  }
  if (left <= 0) {
    const found = `${name}: its token ended ${formatDuration(-left)} ago; the next sync refreshes it`
    return warning(found, commandFor('sync', account))
  }
  const found = `${name} is signed in; its token is ${formatDuration(age)} old and ends in ${formatDuration(left)}`
  return age > REFRESHED_BY * (age + left)
    ? warning(`${found}, so no daemon renews it`, 'musette start')
    : ok(found)
}

function spoolFindings(account: string, login: LoginFacts | undefined): Finding[] {
  if (login?.spool === 'waiting') {
    const found = `account "${account}": newer tokens are in the spool file, because they could not be stored; the next sync stores them`
    return [warning(found, commandFor('sync', account))]
  }
  if (!login || login.spool === 'none') return []
  return [problemOf(login.spool, { run: commandFor('login', account) })]
}

function addressFindings({ account, base_url }: AccountStatus, configured: string | undefined): Finding[] {
  if (configured === undefined || configured === base_url) return []
  const found = `account "${account}" is signed in to ${base_url}, and MUSETTE_BASE_URL is another address, which only counts at a login`
  return [warning(found, commandFor('login', account))]
}

/** Checks that each account was polled lately, and whether items of it could not be mirrored. */
export async function checkMirrors({ config, mirror }: DoctorContext): Promise<Finding[]> {
  const found = await mirror()
  if ('reason' in found) return [leftOut(found.reason)]
  const statuses = await found.store.read(findAccountStatuses)
  if (statuses.length === 0) return [leftOut('there is no account yet')]
  const shared = statuses.length > 1 ? await found.store.read(findSharedRiders) : []
  return [
    ...statuses.flatMap((status) => [
      pollFinding(status, freshMs(config)),
      ...failureFindings(status),
      ...zoneFindings(status),
    ]),
    ...shared.map((accounts) =>
      warning(
        `the accounts ${accounts.map((name) => `"${name}"`).join(' and ')} have activities in common: they are one rider, whose rides count twice in the views, and each file may be sent for both`,
        `musette logout ${accounts.at(-1)}`,
      ),
    ),
  ]
}

function pollFinding({ account, polled_at, mirrored, activities }: AccountStatus, freshMs: number): Finding {
  const name = `account "${account}"`
  if (!polled_at) return warning(`${name} was never polled`, 'musette start')
  const age = Date.now() - polled_at.getTime()
  const found = `${name}: ${mirrored} of ${activities} activities are here; last good poll ${formatDuration(age)} ago`
  return age > freshMs ? warning(found, 'musette start') : ok(found)
}

function failureFindings({ account, failed, reconcile_error }: AccountStatus): Finding[] {
  const findings: Finding[] = []
  if (failed > 0) {
    const found = `account "${account}": ${failed} activities failed; they are asked for again by themselves`
    findings.push(warning(found, 'musette status'))
  }
  if (reconcile_error) findings.push(warning(`account "${account}": ${reconcile_error}`, 'musette status'))
  return findings
}

function zoneFindings(status: AccountStatus): Finding[] {
  const found = describeUtcDays(status)
  return found === null
    ? []
    : [warning(`account "${status.account}": ${found}`, homeCommandFor(status.account))]
}

/** Checks that the present key opens every login. It makes no key. */
export async function checkSecretKey({ config, mirror }: DoctorContext): Promise<Finding[]> {
  const keys = readKeys(config)
  const place = config.secretKey ? 'MUSETTE_SECRET_KEY' : secretKeyPath(config.dataDir)
  const found = await mirror()
  if ('reason' in found && keys) return [leftOut(`${found.reason}: ${place} is there, and may fit or not`)]
  const logins = 'reason' in found ? [] : await findLogins(found.store, config)
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

/** Finds the facts of every login, opened with the present keys. */
async function findLogins(store: Store, config: DoctorContext['config']): Promise<LoginFacts[]> {
  const keys = readKeys(config)
  return store.read((tx) => findLoginFacts(tx, { keys, spoolDir: config.dataDir }))
}

function unreadableLoginFinding({ account, keyId, opens }: LoginFacts, place: string): Finding {
  if (opens instanceof UnreadableLoginError && opens.code !== 'secret_key_mismatch')
    return problemOf(opens, { run: commandFor('login', account) })
  const found = `the login of account "${account}" was sealed with another key (id ${keyId}) than ${place}; put that one back, or sign in again`
  return problem('configuration', found, commandFor('login', account))
}

/** Reads the present keys; undefined when there are none. Throws ConfigError for a key file that cannot be used. */
function readKeys(config: DoctorContext['config']): KeyOptions | undefined {
  const keys = keysOf(config)
  return keys.secretKey && keys
}
