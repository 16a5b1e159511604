import { type Command, InvalidArgumentError } from 'commander'
import type { App } from '../../app/app.ts'
import { ACCOUNT_NAMES, ConfigError, isAccountName } from '../../kit/errors.ts'
import { formatCount } from '../../kit/text.ts'
import { isTimeZone } from '../../kit/time.ts'
import type { Account } from '../../store/account-rows.ts'
import { type Context, noteUnreadableLogins, type Run } from '../context.ts'
import { printTable } from '../output.ts'
import { promptForSecret, promptForText, readInput } from '../prompt.ts'
import { withApp, withLocalAccount, withLocalApp } from '../with-app.ts'

type LoginOptions = {
  username?: string
  passwordStdin?: boolean
  keepPassword?: boolean
  browser?: boolean
  paste?: boolean
  sameRider?: boolean
  clientId?: string
  clientSecret?: string
  redirectUri?: string
  timezone?: string
}

const TIMEZONE = 'the time zone of your home, such as Europe/Berlin, for activities without a known zone'
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
    .option(
      '--same-rider',
      'go on though nothing shows that it is the rider of the activities of the account',
    )
    .option('--timezone <zone>', TIMEZONE, parseTimezone)
    .action((account: string | undefined, options: LoginOptions) =>
      run((context) => login(context, account ?? 'default', options)),
    )
  program
    .command('logout [account]')
    .description('forget the tokens of an account; the mirror stays')
    .action((account: string | undefined) => run((context) => logout(context, account)))
}

async function logout(context: Context, account: string | undefined): Promise<undefined> {
  const { signOut } = await import('../../app/sign-in.ts')
  return withLocalAccount<undefined>(context, { account, verb: 'logout' }, async (app, name) => {
    await signOut(app, name)
    context.print(`signed out of account "${name}"; its mirror stays`)
  })
}

async function login(context: Context, name: string, options: LoginOptions): Promise<undefined> {
  if (!isAccountName(name)) throw new ConfigError('bad_account_name', ACCOUNT_NAMES)
  const browser = options.browser || options.paste
  const { loginInBrowser } = await import('../browser-login.ts')
  const { findPlainAddress, signInWithPassword } = await import('../../app/sign-in.ts')
  const credentials = browser ? undefined : await readCredentials(context, options)
  const work = async (app: App): Promise<undefined> => {
    const plain = await findPlainAddress(app, name)
    if (plain !== undefined) context.note(warningOf(plain, browser ? 'tokens' : 'your password and tokens'))
    const { keepPassword = false, sameRider, timezone } = options
    const account = credentials
      ? await signInWithPassword(app, {
          name,
          ...credentials,
          keepPassword,
          sameRider,
          signal: context.signal,
        })
      : await loginInBrowser(context, app, { name, ...options })
    context.print(`signed in to ${account.baseUrl} as account "${account.name}"`)
    await setHome(context, app, { account, timezone })
  }
  return withApp(context, work, 'set-up')
}

/** Sets the home's time zone: the one that was given, else that of the environment, else the answer of a person at a terminal. */
async function setHome(
  context: Context,
  app: App,
  { account, timezone }: { account: Account; timezone: string | undefined },
): Promise<void> {
  const isOpen = account.timezone === null && app.config.timezone === undefined
  const home = timezone ?? (isOpen && canAsk(context) ? await promptForTimezone(context.signal) : undefined)
  if (home === undefined) return
  const { setHomeTimezone } = await import('../../app/sign-in.ts')
  await setHomeTimezone(app, { name: account.name, timezone: home })
  context.print(`the time zone of account "${account.name}" is ${home}`)
}

async function promptForTimezone(signal: AbortSignal): Promise<string | undefined> {
  const machine = Intl.DateTimeFormat().resolvedOptions().timeZone
  const answer = await promptForText('Time zone of your home, such as Europe/Berlin (empty: none)', signal, {
    ...(machine !== 'UTC' && { initialValue: machine }),
    validate: (text) => (!text || isTimeZone(text) ? undefined : NO_ZONE),
  })
  return answer === '' ? undefined : answer
}

const NO_ZONE = 'Not a time zone; write an IANA name such as Europe/Berlin.'

function parseTimezone(text: string): string {
  if (isTimeZone(text)) return text
  throw new InvalidArgumentError(NO_ZONE)
}

const NONE = 'none'

function orNone<T>(parse: (text: string) => T): (text: string) => T | typeof NONE {
  return (text) => (text === NONE ? NONE : parse(text))
}

function parseHeartRate(text: string): number {
  const rate = Number(text)
  if (Number.isInteger(rate) && rate >= 20 && rate <= 250) return rate
  throw new InvalidArgumentError('A heart rate is a whole number from 20 to 250 a minute.')
}

function warningOf(address: string, what: string): string {
  return `musette: ${address} is not https, so anybody on the way can read ${what}; stop here and set MUSETTE_BASE_URL=https://… unless you trust this network`
}

function canAsk({ terminal }: Context): boolean {
  return terminal && Boolean(process.stdin.isTTY)
}

async function readCredentials(
  context: Context,
  options: LoginOptions,
): Promise<{ username: string; password: string }> {
  const username =
    options.username ?? (canAsk(context) ? await promptForText('User name', context.signal) : undefined)
  if (!username) throw new ConfigError('no_username', 'no user name; run: musette login --username NAME')
  if (options.passwordStdin)
    return { username, password: (await readInput(process.stdin, context.signal)).replace(/\r?\n$/, '') }
  if (!canAsk(context)) {
    throw new ConfigError(
      'no_password',
      'no terminal to ask on; run: musette login --username NAME --password-stdin',
    )
  }
  return { username, password: await promptForSecret('Password', context.signal) }
}

/** Adds the verbs `accounts list`, which `accounts` alone is too, and `accounts set` to the program. */
export function addAccountsVerbs(program: Command, run: Run): void {
  const accounts = program.command('accounts').description('list the accounts, or change what is set for one')
  accounts
    .command('list', { isDefault: true })
    .description('list the accounts and whether they are signed in')
    .option('--json', 'as one JSON array')
    .action((options: { json?: boolean }) => run((context) => printAccounts(context, options)))
  accounts
    .command('set [account]')
    .description('set the time zone of an account, or heart rates of its rider')
    .option('--timezone <zone>', `${TIMEZONE}; "none" clears it`, orNone(parseTimezone))
    .option(
      '--resting-hr <rate>',
      'resting heart rate, 1/min, for TRIMP; "none" clears it',
      orNone(parseHeartRate),
    )
    .option(
      '--max-hr <rate>',
      'highest heart rate, 1/min, for TRIMP; "none" clears it',
      orNone(parseHeartRate),
    )
    .action((name: string | undefined, options: AccountOptions) =>
      run((context) => setAccount(context, name, options)),
    )
}

/** Settings of an account; `none` clears one. */
type AccountOptions = {
  timezone?: string
  restingHr?: number | typeof NONE
  maxHr?: number | typeof NONE
}

async function setAccount(
  context: Context,
  account: string | undefined,
  { timezone, restingHr, maxHr }: AccountOptions,
): Promise<undefined> {
  if (timezone === undefined && restingHr === undefined && maxHr === undefined)
    throw new ConfigError('nothing_to_set', 'say what to set: --timezone, --resting-hr or --max-hr')
  const { setHeartRates, setHomeTimezone } = await import('../../app/sign-in.ts')
  return withLocalAccount<undefined>(context, { account, verb: 'accounts set' }, async (app, name) => {
    if (timezone !== undefined) {
      const home = timezone === NONE ? null : timezone
      const moved = await setHomeTimezone(app, { name, timezone: home })
      const count = moved === 1 ? '1 activity has' : `${formatCount(moved)} activities have`
      const set = home === null ? 'has no time zone of its own any more' : `has the time zone ${home}`
      context.print(`account "${name}" ${set}; ${count} another wall clock`)
    }
    if (restingHr === undefined && maxHr === undefined) return
    const set = await setHeartRates(app, {
      name,
      ...(restingHr !== undefined && { restingHr: restingHr === NONE ? null : restingHr }),
      ...(maxHr !== undefined && { maxHr: maxHr === NONE ? null : maxHr }),
    })
    const rates = `resting heart rate ${set.restingHr ?? 'not set'}, highest ${set.maxHr ?? 'not set'}`
    context.print(`account "${name}": ${rates}; TRIMP in training.ride_overview is computed with them`)
  })
}

async function printAccounts(context: Context, options: { json?: boolean }): Promise<undefined> {
  const { findStatus } = await import('../../app/status-report.ts')
  return withLocalApp<undefined>(context, async (app) => {
    await noteUnreadableLogins(context, app)
    const { accounts } = await findStatus(app)
    const rows = accounts.map(
      ({ account, base_url, login, needs_login, last_error, login_expires_at, timezone }) =>
        options.json
          ? { account, base_url, needs_login, last_error, login_expires_at, timezone }
          : { account, base_url, login, timezone, last_error },
    )
    if (options.json) context.printJson(rows)
    else if (rows.length === 0) context.print('no accounts yet; run: musette login')
    else printTable(context, rows)
  })
}
