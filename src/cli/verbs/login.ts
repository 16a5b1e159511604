import type { Command } from 'commander'
import { ConfigError } from '../../kit/errors.ts'
import { type Context, noteUnreadableLogins, type Run } from '../context.ts'
import { printTable } from '../output.ts'
import { promptForSecret, promptForText, readInput } from '../prompt.ts'

type LoginOptions = {
  username?: string
  passwordStdin?: boolean
  keepPassword?: boolean
  browser?: boolean
  paste?: boolean
  clientId?: string
  clientSecret?: string
  redirectUri?: string
}

const REDIRECT_URI =
  'with --browser or --paste: the redirect address registered for your application; --browser listens on its port, as in http://127.0.0.1:8976/callback'

/** Adds the verbs `login` and `logout` to the program. */
export function addLoginVerbs(program: Command, run: Run): void {
  program
    .command('login [account]')
    .description('sign in to the service; stores tokens, never the password unless asked to')
    .option('--username <name>', 'your name at the service')
    .option('--password-stdin', 'read the password from standard input')
    .option('--keep-password', 'keep the password, sealed, to sign in again when a login is lost')
    .option('--browser', 'sign in on the service itself, in a browser')
    .option('--paste', 'like --browser, for machines without one: paste the address the browser ends at')
    .option('--client-id <id>', 'with --browser: the client id of your application')
    .option('--client-secret <secret>', 'with --browser: its secret (better: MUSETTE_CLIENT_SECRET)')
    .option('--redirect-uri <uri>', REDIRECT_URI)
    .action((account: string | undefined, options: LoginOptions) =>
      run((context) => login(context, account ?? 'default', options), { quiet: true }),
    )
  program
    .command('logout <account>')
    .description('forget the tokens of an account; the mirror stays')
    .action((name: string) =>
      run(
        async (context) => {
          const { openLocalApp } = await import('../../app/local-app.ts')
          const { signOut } = await import('../../app/sign-in.ts')
          const app = await openLocalApp(context.config, context.log, context.signal)
          try {
            await signOut(app, name)
            context.print(`signed out of account "${name}"; its mirror stays`)
          } finally {
            await app.close()
          }
          return undefined
        },
        { quiet: true },
      ),
    )
}

async function login(context: Context, name: string, options: LoginOptions): Promise<undefined> {
  checkAccountName(name)
  const browser = options.browser || options.paste
  const { openApp } = await import('../../app/app.ts')
  const { loginInBrowser } = await import('../browser-login.ts')
  const { findPlainAddress, signInWithPassword } = await import('../../app/sign-in.ts')
  const credentials = browser ? undefined : await readCredentials(context, options)
  const app = await openApp(context.config, context.log, { signal: context.signal })
  try {
    const plain = await findPlainAddress(app, name)
    if (plain !== undefined) context.note(warningOf(plain, browser ? 'tokens' : 'your password and tokens'))
    const account = credentials
      ? await signInWithPassword(app, {
          name,
          ...credentials,
          keepPassword: options.keepPassword ?? false,
          signal: context.signal,
        })
      : await loginInBrowser(context, app, { name, ...options })
    context.print(`signed in to ${account.baseUrl} as account "${account.name}"`)
  } finally {
    await app.close()
  }
}

function warningOf(address: string, what: string): string {
  return `musette: ${address} is not https, so anybody on the way can read ${what}; stop here and set MUSETTE_BASE_URL=https://… unless you trust this network`
}

// The name is also the name of a folder (`<drop>/<account>/`) and part of commands that people type.
function checkAccountName(name: string): void {
  if (/^[a-z0-9][a-z0-9_-]{0,62}$/i.test(name) && !['done', 'failed'].includes(name)) return
  throw new ConfigError(
    'bad_account_name',
    'an account name is letters, digits, - and _, 63 at most, and neither "done" nor "failed"',
  )
}

async function readCredentials(
  context: Context,
  options: LoginOptions,
): Promise<{ username: string; password: string }> {
  const canAsk = context.terminal && Boolean(process.stdin.isTTY)
  const username = options.username ?? (canAsk ? await promptForText('User name', context.signal) : undefined)
  if (!username) throw new ConfigError('no_username', 'no user name; run: musette login --username NAME')
  if (options.passwordStdin)
    return { username, password: (await readInput(process.stdin, context.signal)).replace(/\r?\n$/, '') }
  if (!canAsk) {
    throw new ConfigError(
      'no_password',
      'no terminal to ask on; run: musette login --username NAME --password-stdin',
    )
  }
  return { username, password: await promptForSecret('Password', context.signal) }
}

/** Adds the verb `accounts` to the program. */
export function addAccountsVerb(program: Command, run: Run): void {
  program
    .command('accounts')
    .description('list the accounts and whether they are signed in')
    .option('--json', 'as one JSON array')
    .action((options: { json?: boolean }) =>
      run((context) => printAccounts(context, options), { quiet: true }),
    )
}

async function printAccounts(context: Context, options: { json?: boolean }): Promise<undefined> {
  const { openLocalApp } = await import('../../app/local-app.ts')
  const { findStatus } = await import('../../app/status-report.ts')
  const app = await openLocalApp(context.config, context.log, context.signal)
  try {
    await noteUnreadableLogins(context, app)
    const { accounts } = await findStatus(app)
    const rows = accounts.map(({ account, base_url, login, needs_login, last_error, login_expires_at }) =>
      options.json
        ? { account, base_url, needs_login, last_error, login_expires_at }
        : { account, base_url, login, last_error },
    )
    if (options.json) context.printJson(rows)
    else if (rows.length === 0) context.print('no accounts yet; run: musette login')
    else printTable(context, rows)
  } finally {
    await app.close()
  }
}
