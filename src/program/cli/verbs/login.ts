import { InvalidArgumentError } from 'commander'
import type { Account } from '../../../core/store/account-rows.ts'
import { ACCOUNT_NAMES, ConfigError, isAccountName } from '../../../kit/errors.ts'
import { closeAfter } from '../../../kit/release-stack.ts'
import { countOf } from '../../../kit/text.ts'
import { isTimeZone } from '../../../kit/time.ts'
import type { App } from '../../app/app.ts'
import { type Context, noteUnreadableLogins } from '../../frame/context.ts'
import { ASKS, KEYED, SERVICE, SIGNED_IN, WHOSE } from '../../frame/help-of-verbs.ts'
import { printTable } from '../../frame/output.ts'
import { promptForSecret, promptForText, readInput } from '../../frame/prompt.ts'
import { defineVerb, flag, LONGEST_PAUSE_MS, option } from '../../frame/verb.ts'

const TIMEZONE = 'the time zone of your home, such as Europe/Berlin, for activities without a known zone'

export const loginVerb = defineVerb({
  name: 'login [account]',
  description: 'sign in to the service; stores tokens, never the password unless asked to',
  options: {
    username: option('--username <name>', 'your name at the service'),
    passwordStdin: flag('--password-stdin', 'read the password from standard input'),
    keepPassword: flag('--keep-password', 'keep the password, sealed, to sign in again if a login is lost'),
    browser: flag('--browser', 'sign in on the service itself, in a browser'),
    paste: flag('--paste', 'like --browser, for machines without one: paste the address the browser ends at'),
    clientId: option('--client-id <id>', 'with --browser: the client id of your application'),
    clientSecret: option(
      '--client-secret <secret>',
      'with --browser: its secret (better: MUSETTE_CLIENT_SECRET)',
    ),
    redirectUri: option(
      '--redirect-uri <uri>',
      'with --browser or --paste: the redirect address registered for your application; --browser listens on its port, as in http://127.0.0.1:8976/callback',
    ),
    sameRider: flag(
      '--same-rider',
      "sign in even if nothing shows that this is the rider of the account's activities",
    ),
    timezone: option('--timezone <zone>', TIMEZONE, parseTimezone),
  },
  // `run` opens the database, because only a login creates one.
  help: {
    settings: SERVICE,
    exits: SIGNED_IN,
    examples: ['musette login --username rider', 'musette login partner --browser --client-id my_app'],
  },
  needs: 'nothing',
  async run(context, { account: name = 'default', timezone, keepPassword = false, ...options }) {
    if (!isAccountName(name)) throw new ConfigError('bad_account_name', ACCOUNT_NAMES)
    const browser = options.browser || options.paste
    const { openApp } = await import('../../app/app.ts')
    const { notePlainAddress, signInWithPassword } = await import('../../app/sign-in.ts')
    const { loginInBrowser } = await import('../browser-login.ts')
    const credentials = browser ? undefined : await readCredentials(context, options)
    const { config, log, signal, features, print, note } = context
    return closeAfter(
      await openApp(config, log, { signal, byHand: true, longestPauseMs: LONGEST_PAUSE_MS, features }),
      async (app) => {
        const secrets = browser ? 'tokens' : 'your password and tokens'
        await notePlainAddress(app, { name, secrets, note })
        const { sameRider } = options
        const account = credentials
          ? await signInWithPassword(app, { name, ...credentials, keepPassword, sameRider, signal })
          : await loginInBrowser(context, app, { name, ...options })
        print(`signed in to ${account.baseUrl} as account "${account.name}"`)
        await setHome(context, app, { account, timezone })
        return undefined
      },
    )
  },
})

export const logoutVerb = defineVerb({
  name: 'logout [account]',
  description: 'forget the tokens of an account; the mirror stays',
  help: { notes: [WHOSE], settings: KEYED, exits: SIGNED_IN, examples: ['musette logout partner'] },
  needs: 'database',
  async run({ app, print }, { account }): Promise<undefined> {
    const { signOut } = await import('../../app/sign-in.ts')
    await signOut(app, account)
    print(`signed out of account "${account}"; its mirror stays`)
  },
})

/** Sets the time zone of the home: `timezone`, or the answer at a terminal if neither the account nor the environment has a zone. */
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

/** The word that clears a value; commander takes null from a parser as no value. */
const NONE = 'none'

function orNone<T>(parse: (text: string) => T): (text: string) => T | typeof NONE {
  return (text) => (text === NONE ? NONE : parse(text))
}

function parseHeartRate(text: string): number {
  const rate = Number(text)
  if (Number.isInteger(rate) && rate >= 20 && rate <= 250) return rate
  throw new InvalidArgumentError('A heart rate is a whole number from 20 to 250 bpm.')
}

function canAsk({ terminal }: Context): boolean {
  return terminal && Boolean(process.stdin.isTTY)
}

async function readCredentials(
  context: Context,
  options: { username?: string; passwordStdin?: boolean },
): Promise<{ username: string; password: string }> {
  const username =
    options.username ?? (canAsk(context) ? await promptForText('User name', context.signal) : undefined)
  if (!username)
    throw new ConfigError('no_username', 'no user name was given; run: musette login --username NAME')
  if (options.passwordStdin)
    return { username, password: (await readInput(process.stdin, context.signal)).replace(/\r?\n$/, '') }
  const message = 'no terminal to ask on; run: musette login --username NAME --password-stdin'
  if (!canAsk(context)) throw new ConfigError('no_password', message)
  return { username, password: await promptForSecret('Password', context.signal) }
}

export const ACCOUNTS = {
  name: 'accounts',
  description: 'list the accounts, sign in many, or change what is set for one',
}

export const accountsListVerb = defineVerb({
  group: ACCOUNTS,
  name: 'list',
  isDefault: true,
  description: 'list the accounts and whether they are signed in',
  options: { json: flag('--json', 'as one JSON array') },
  help: { settings: KEYED, exits: ASKS, examples: ['musette accounts --json'] },
  needs: 'reading',
  async run({ app, ...context }, { json }): Promise<undefined> {
    const { findStatus } = await import('../../frame/findings/status-report.ts')
    await noteUnreadableLogins(context, app)
    const { accounts } = await findStatus({ ...app, features: context.features })
    const rows = accounts.map(
      ({ account, base_url, login, needs_login, last_error, login_expires_at, timezone }) =>
        json
          ? { account, base_url, needs_login, last_error, login_expires_at, timezone }
          : { account, base_url, login, timezone, last_error },
    )
    if (json) context.printJson(rows)
    else if (rows.length === 0) context.print('no accounts yet; run: musette login')
    else printTable(context, rows)
  },
})

export const accountsSetVerb = defineVerb({
  group: ACCOUNTS,
  name: 'set [account]',
  description: 'set the time zone of an account, or the heart rates of its rider',
  options: {
    timezone: option('--timezone <zone>', `${TIMEZONE}; "none" clears it`, orNone(parseTimezone)),
    restingHr: option(
      '--resting-hr <rate>',
      'resting heart rate, bpm, for TRIMP; "none" clears it',
      orNone(parseHeartRate),
    ),
    maxHr: option(
      '--max-hr <rate>',
      'maximum heart rate, bpm, for TRIMP; "none" clears it',
      orNone(parseHeartRate),
    ),
  },
  help: {
    notes: [WHOSE],
    settings: KEYED,
    exits: SIGNED_IN,
    examples: [
      'musette accounts set default --timezone Europe/Berlin',
      'musette accounts set default --resting-hr 48 --max-hr 188',
    ],
  },
  needs: 'database',
  before(_context, { timezone, restingHr, maxHr }) {
    if (timezone === undefined && restingHr === undefined && maxHr === undefined)
      throw new ConfigError('nothing_to_set', 'nothing to set; give --timezone, --resting-hr or --max-hr')
  },
  async run({ app, print }, { account: name, timezone, restingHr, maxHr }): Promise<undefined> {
    const { setHeartRates, setHomeTimezone } = await import('../../app/sign-in.ts')
    if (timezone !== undefined) {
      const home = timezone === NONE ? null : timezone
      const moved = await setHomeTimezone(app, { name, timezone: home })
      const count = countOf(moved, 'activity has', 'activities have')
      const set = home === null ? 'no longer has its own time zone' : `has the time zone ${home}`
      print(`account "${name}" ${set}; ${count} a new local time`)
    }
    if (restingHr === undefined && maxHr === undefined) return
    const set = await setHeartRates(app, {
      name,
      ...(restingHr !== undefined && { restingHr: restingHr === NONE ? null : restingHr }),
      ...(maxHr !== undefined && { maxHr: maxHr === NONE ? null : maxHr }),
    })
    const rates = `resting heart rate ${set.restingHr ?? 'not set'}, maximum ${set.maxHr ?? 'not set'}`
    print(`account "${name}": ${rates}; training.ride_overview computes TRIMP with them`)
  },
})
