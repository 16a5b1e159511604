import { ConfigError, commandFor } from '../../kit/errors.ts'

/** Why the tokens of an account cannot be read, each with its sentence. */
const SENTENCES = {
  secret_key_mismatch: (who: string) =>
    `the tokens of ${who} were sealed with another key, nothing is touched; ` +
    'put that key in place (MUSETTE_SECRET_KEY or the key file) and start musette again, or sign in again',
  login_damaged: (who: string) => `the tokens of ${who} are damaged in the database`,
  login_elsewhere: (who: string) =>
    `the tokens of ${who} were made at another address than the account's, and are not sent there`,
  spool_damaged: (who: string, file: string) =>
    `the file ${file} with the newest tokens of ${who} is damaged`,
  spool_unreadable: (who: string, file: string) =>
    `the file ${file} with the newest tokens of ${who} cannot be read; correct its owner and mode, or sign in again`,
}

type UnreadableCode = keyof typeof SENTENCES

/** The tokens of one account are unreadable; those of others may be readable. */
export class UnreadableLoginError extends ConfigError {
  declare readonly code: UnreadableCode
  readonly accountId: number

  constructor(code: UnreadableCode, account: { accountId: number; name?: string }, options?: ErrorOptions) {
    const { accountId, name } = account
    const who = name === undefined ? `account ${accountId}` : `account "${name}"`
    const command = name === undefined ? 'musette login ACCOUNT' : commandFor('login', name)
    super(code, `${SENTENCES[code](who, spoolName(accountId))}; run: ${command}`, options)
    this.accountId = accountId
  }

  /** Returns the same error with the account's name in its message. */
  of({ accountId, name }: { accountId: number; name: string }): UnreadableLoginError {
    return new UnreadableLoginError(this.code, { accountId, name }, { cause: this.cause })
  }
}

/** Names an account's spool file in the data directory. */
export function spoolName(accountId: number): string {
  return `tokens-${accountId}.spool`
}
