import { isUtf8 } from 'node:buffer'
import { exec } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import {
  ACCOUNT_NAMES,
  ConfigError,
  CredentialsRejectedError,
  errorLine,
  isAccountName,
} from '../../../kit/errors.ts'
import { closeAfter } from '../../../kit/release-stack.ts'
import { countOf, quoteShell } from '../../../kit/text.ts'
import { EXIT } from '../../frame/context.ts'
import { SERVICE, SIGNED_IN } from '../../frame/help-of-verbs.ts'
import { defineVerb, flag, option } from '../../frame/verb.ts'
import { ACCOUNTS } from './login.ts'

/** A line of the file; if `password` is undefined, the password command prints it. */
type Login = { line: number; account: string; username: string; password: string | undefined }

export const accountsAddVerb = defineVerb({
  group: ACCOUNTS,
  name: 'add <file>',
  description: 'sign in the riders listed in a file; skips riders who are already signed in',
  options: {
    passwordCommand: option(
      '--password-command <command>',
      'a command that prints the password for a line without one; {account} and {username} are taken from the line',
    ),
    keepPassword: flag('--keep-password', 'keep the passwords, sealed, to sign in again if a login is lost'),
    json: flag('--json', 'as one JSON object per line'),
  },
  help: {
    notes: [
      'Each line has an account, a user name at the service and a password, unless a command prints the password. They are separated by spaces, or by tabs if one of them contains spaces. Lines that begin with # are comments. Each line is tried once; to try failed lines again, give the same file again.',
    ],
    settings: SERVICE,
    exits: [...SIGNED_IN, 'partial'],
    examples: [
      'musette accounts add riders.txt',
      "musette accounts add riders.txt --password-command 'pass show musette/{account}'",
    ],
  },
  needs: 'nothing',
  before: (_context, { file, passwordCommand }) => readLogins(file, passwordCommand !== undefined),
  async run(context, { file, passwordCommand = '', keepPassword = false, json }, logins) {
    const { openApp } = await import('../../app/app.ts')
    const { findSignedIn, notePlainAddress, signInWhenAllowed } = await import('../../app/sign-in.ts')
    const { config, log, signal, features, print, printJson, note } = context
    return closeAfter(await openApp(config, log, { signal, byHand: true, features }), async (app) => {
      await notePlainAddress(app, { name: logins[0]?.account ?? '', secrets: 'passwords and tokens', note })
      const signedIn = await findSignedIn(app)
      const counts = { signed_in: 0, present: 0, failed: 0 }
      for (const [index, login] of logins.entries()) {
        signal.throwIfAborted()
        const { line, account, username } = login
        let state: keyof typeof counts = 'present'
        let error: string | null = null
        try {
          if (!signedIn.has(account)) {
            const password = login.password ?? (await readPassword(passwordCommand, login, signal))
            const input = { name: account, username, password, keepPassword, signal }
            await signInWhenAllowed(app, input)
            state = 'signed_in'
          }
        } catch (thrown) {
          // Rethrow an error that is not about this line, because every other line would fail too.
          if (!(thrown instanceof CredentialsRejectedError || thrown instanceof ConfigError)) throw thrown
          state = 'failed'
          error = errorLine(thrown)
        }
        counts[state] += 1
        if (json) printJson({ line, account, state, error })
        else if (state === 'signed_in')
          print(`${index + 1} of ${logins.length}: account "${account}" is signed in`)
        if (state === 'failed') note(`musette: line ${line}: account "${account}": ${error}`)
      }
      const failed = countOf(counts.failed, 'line failed', 'lines failed')
      if (!json) print(`${counts.signed_in} signed in, ${counts.present} were already, ${failed}`)
      if (counts.failed === 0) return undefined
      note(`musette: correct the lines that failed; then run: musette accounts add ${quoteShell(file)}`)
      return EXIT.partial
    })
  },
})

/** Reads the logins of a file. Throws ConfigError `no_file`, `open_file`, and `bad_logins`, which names every wrong line. */
async function readLogins(file: string, hasCommand: boolean): Promise<Login[]> {
  const { isReadableByOthers } = await import('../../config/env-file.ts')
  const bytes = await readFile(file).catch((error) => {
    throw new ConfigError('no_file', `cannot read ${file} (${errorLine(error)})`, { cause: error })
  })
  // A byte that is not UTF-8 would become a different letter in a password.
  if (!isUtf8(bytes)) throw new ConfigError('bad_logins', `${file} is not UTF-8; nobody was signed in`)
  const logins = bytes
    .toString()
    .split(/\r?\n/)
    .flatMap((line, index) => {
      // trim() also removes the byte order mark that some editors write first.
      const row = line.trim()
      if (row === '' || row.startsWith('#')) return []
      const [, ...fields] =
        (row.includes('\t') ? /^([^\t]+)\t+([^\t]+)(?:\t+(.+))?$/ : /^(\S+) +(\S+)(?: +(.+))?$/).exec(row) ??
        []
      const [account = '', username = '', password] = fields
      return [{ line: index + 1, account, username, password }]
    })
  if (logins.some(({ password }) => password !== undefined) && isReadableByOthers(file)) {
    const message = `other users of this machine can read the passwords in ${file}; run: chmod 600 ${quoteShell(file)}`
    throw new ConfigError('open_file', message)
  }
  const faults = logins.flatMap(({ line, account, username, password }, index) => {
    const first = logins.findIndex((other) => other.account === account || other.username === username)
    if (username === '') return [`line ${line} is not: account, user name, password`]
    if (!isAccountName(account)) return [`line ${line}: ${ACCOUNT_NAMES}`]
    if (password === undefined && !hasCommand)
      return [`line ${line} has no password; write it, or give --password-command`]
    return first < index ? [`line ${line} has the account or user name of line ${logins[first]?.line}`] : []
  })
  if (faults.length === 0) return logins
  throw new ConfigError('bad_logins', `${file} is wrong, and nobody was signed in:\n  ${faults.join('\n  ')}`)
}

/** Reads the password of a line from the command. Throws ConfigError `password_command`, without the command's output. */
async function readPassword(command: string, login: Login, signal: AbortSignal) {
  const fill = (_word: string, field: 'account' | 'username') => quoteShell(login[field])
  const typed = command.replace(/\{(account|username)\}/g, fill)
  const { stdout } = await promisify(exec)(typed, { signal }).catch((error) => {
    signal.throwIfAborted()
    throw new ConfigError('password_command', `the password command exited with code ${error.code}`)
  })
  const [password = ''] = stdout.split(/\r?\n/)
  if (password === '') throw new ConfigError('password_command', 'the password command printed nothing')
  return password
}
