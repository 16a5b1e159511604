import { readPendingIds, readSecretKeys, secretKeyPath } from '../../../config/secret-key.ts'
import { loginCommand } from '../../../kit/login-command.ts'
import type { Store } from '../../../store/store.ts'
import { findLoginFacts, type LoginFacts } from '../../../store/vault/inspect.ts'
import { UnreadableLoginError } from '../../../store/vault/unreadable.ts'
import type { KeyOptions } from '../../../store/vault/vault.ts'
import { type Finding, leftOut, ok, problem, problemOf, warning } from '../finding.ts'
import type { Patient } from '../patient.ts'

/** Looks whether the key at hand opens every login. It makes no key. */
export async function checkSecretKey({ config, mirror }: Patient): Promise<Finding[]> {
  const keys = readKeys(config)
  const place = config.secretKey ? 'MUSETTE_SECRET_KEY' : secretKeyPath(config.dataDir)
  const found = await mirror()
  if ('reason' in found && keys) return [leftOut(`${found.reason}: ${place} is there, and may fit or not`)]
  const logins = 'reason' in found ? [] : await findLogins(found.store, config)
  const shut = logins.filter(({ opens }) => opens !== true)
  if (shut.length > 0) return shut.map((login) => judgeShut(login, keys ? place : `a lost key (${place})`))
  if (!keys) return [ok('there is no key yet; the first login makes it')]
  const pending = config.secretKey ? [] : readPendingIds(config.dataDir)
  const cut = pending.filter((id) => logins.some(({ keyId }) => keyId === id))
  if (cut.length > 0) {
    const unfinished = 'a rotation of the key was cut off; the next start of any verb finishes it'
    return [warning(unfinished, 'musette status')]
  }
  return [ok(`${place} opens ${logins.length === 1 ? 'the one login' : `all ${logins.length} logins`}`)]
}

/** Finds what can be told of every login, opened with the keys at hand. */
export async function findLogins(store: Store, config: Patient['config']): Promise<LoginFacts[]> {
  const keys = readKeys(config)
  return store.read((tx) => findLoginFacts(tx, { keys, spoolDir: config.dataDir }))
}

function judgeShut({ account, keyId, opens }: LoginFacts, place: string): Finding {
  if (opens instanceof UnreadableLoginError && opens.code !== 'secret_key_mismatch')
    return problemOf(opens, loginCommand(account))
  const found = `the login of account "${account}" was sealed with another key (id ${keyId}) than ${place}; put that one back, or sign in again`
  return problem('configuration', found, loginCommand(account))
}

/** The keys at hand; undefined when there are none. Throws ConfigError for a key file that cannot be used. */
function readKeys({ secretKey, dataDir }: Patient['config']): KeyOptions | undefined {
  if (secretKey) return { secretKey }
  const [first, ...others] = readSecretKeys(dataDir)
  return first && { secretKey: first, readKeys: () => [first, ...others] }
}
