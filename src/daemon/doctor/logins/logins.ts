import { formatDuration } from '../../../kit/durations.ts'
import { loginCommand } from '../../../kit/login-command.ts'
import { findStandings, type Standing } from '../../../store/standing.ts'
import type { LoginFacts } from '../../../store/vault/inspect.ts'
import { type Finding, leftOut, ok, problem, problemOf, warning } from '../finding.ts'
import type { Patient } from '../patient.ts'
import { findLogins } from './secret-key.ts'

/** A token is renewed by six tenths of its life at the latest; by this share a daemon should long have done it. */
const RENEWED_BY = 0.7

/** Looks whether each account is signed in, and how old its tokens are. */
export async function checkLogins({ config, mirror }: Patient): Promise<Finding[]> {
  const found = await mirror()
  if ('reason' in found && !found.fresh) return [leftOut(found.reason)]
  const standings = 'reason' in found ? [] : await found.store.read(findStandings)
  if (standings.length === 0 || 'reason' in found) {
    return [problem('credentials', 'there is no account yet', 'musette login')]
  }
  const logins = await findLogins(found.store, config)
  return standings.flatMap((standing) => {
    const login = logins.find(({ account }) => account === standing.account)
    const findings = [judgeLogin(standing, login), ...judgeSpool(standing.account, login)]
    return [...findings, ...judgeAddress(standing, config.service.baseUrl)]
  })
}

function judgeLogin({ account, needs_login }: Standing, login: LoginFacts | undefined): Finding {
  const name = `account "${account}"`
  if (needs_login || !login) return problem('credentials', `${name} needs a login`, loginCommand(account))
  const now = Date.now()
  const age = now - login.obtainedAt.getTime()
  const left = login.expiresAt.getTime() - now
  if (login.failures > 0) {
    const next = login.notBefore ? `; the next attempt comes after ${login.notBefore.toISOString()}` : ''
    return warning(`${name}: ${login.failures} refreshes in a row have failed${next}`, 'musette status')
  }
  if (left <= 0) {
    const found = `${name}: its token ended ${formatDuration(-left)} ago; the next sync refreshes it`
    return warning(found, syncCommand(account))
  }
  const found = `${name} is signed in; its token is ${formatDuration(age)} old and ends in ${formatDuration(left)}`
  return age > RENEWED_BY * (age + left)
    ? warning(`${found}, so no daemon renews it`, 'musette start')
    : ok(found)
}

function judgeSpool(account: string, login: LoginFacts | undefined): Finding[] {
  if (login?.spool === 'waiting') {
    const found = `account "${account}": newer tokens wait in a spool file, because the database did not take them; the next sync puts them in place`
    return [warning(found, syncCommand(account))]
  }
  if (!login || login.spool === 'none') return []
  return [problemOf(login.spool, loginCommand(account))]
}

function judgeAddress({ account, base_url }: Standing, configured: string | undefined): Finding[] {
  if (configured === undefined || configured === base_url) return []
  const found = `account "${account}" is signed in to ${base_url}, and MUSETTE_BASE_URL is another address, which only counts at a login`
  return [warning(found, loginCommand(account))]
}

function syncCommand(account: string): string {
  return account === 'default' ? 'musette sync' : `musette sync ${account}`
}
