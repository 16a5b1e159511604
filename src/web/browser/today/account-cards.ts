import type { RunsOfDay } from '../../../store/dashboard/page-rows.ts'
import type { AccountView, Serialized } from '../../dashboard/dashboard-types.ts'
import { type Child, make, makeBadge } from '../dom.ts'
import { formatDay, formatNumber, formatSpan, formatWeekday } from '../format.ts'
import { makeAgo } from '../live.ts'

type Account = Serialized<AccountView>

type Health = {
  accounts: readonly Account[]
  runs: RunsOfDay
  /** the rider's day, `YYYY-MM-DD`; null while there is no account */
  day: string | null
  /** the days in a row with a good poll */
  daysMirrored: number
}

/** The runs of 90 days are known. */
const MOST_DAYS = 90

/** Makes the head of the page: the day, and the state of the mirror in one line. */
export function makeHealth({ accounts, runs, day, daysMirrored: days }: Health): Child[] {
  const heading = make('h1', {}, day === null ? 'Today' : `Today, ${formatWeekday(day)}`)
  if (accounts.length === 0) return [heading]
  const polls = accounts.flatMap(({ polled_at: polledAt }) => (polledAt === null ? [] : [polledAt]))
  const oldest = polls.sort()[0]
  const isWell =
    accounts.every(({ login, polled_at: at }) => login === 'signed in' && at !== null) && runs.failed === 0
  return [
    heading,
    make(
      'p',
      { class: 'health quiet' },
      makeBadge(isWell ? 'in order' : 'look below', isWell ? 'good' : 'busy'),
      oldest ? ' Polled ' : ' Not polled yet',
      oldest ? makeAgo(oldest) : null,
      days > 1 && `, every day for ${days >= MOST_DAYS ? '90 days or more' : `${days} days`}`,
      `. In 24 hours ${count(runs.runs, 'run')}: ${runs.fetched === 0 ? 'no activity was new or changed' : `${count(runs.fetched, 'fetch', 'fetches')} of activities`}`,
      runs.failed > 0 && `, ${formatNumber(runs.failed)} failed`,
      '. ',
      make('a', { href: '/runs' }, 'All runs'),
    ),
  ]
}

function count(number: number, one: string, many = `${one}s`): string {
  return `${formatNumber(number)} ${number === 1 ? one : many}`
}

/** Makes a card for every account: its login, its counts and its progress, with the command to type where one is needed. */
export function makeAccounts(accounts: readonly Account[]): Child[] {
  if (accounts.length === 0) return [make('section', { class: 'card empty-state' }, ...makeWelcome())]
  return [make('h2', {}, 'Mirror'), make('div', { class: 'cards' }, ...accounts.map(makeCard))]
}

function makeWelcome(): Child[] {
  return [
    make('h2', {}, 'No account yet'),
    make('p', {}, 'Sign in to the service, and its history appears here, newest ride first. Type:'),
    make('pre', {}, make('code', {}, 'musette login --username you@example.com')),
    make('p', { class: 'quiet' }, 'The password is asked for, and not kept.'),
  ]
}

function makeCard(account: Account): HTMLElement {
  const signedIn = account.login === 'signed in'
  return make(
    'article',
    { class: 'card', 'aria-label': `Account ${account.account}` },
    make(
      'header',
      {},
      make('h3', {}, account.account),
      make('span', { class: 'quiet' }, account.service),
      makeBadge(account.login, signedIn ? 'good' : 'bad'),
    ),
    makeCounts(account),
    makeProgress(account),
    makeFreshness(account),
  )
}

function makeCounts(account: Account): HTMLElement {
  const numbers: ReadonlyArray<[string, string]> = [
    ['activities', formatNumber(account.activities)],
    ['seconds of samples', formatNumber(account.samples)],
    ...countsOf(account),
  ]
  const pairs = numbers.map(([name, value]) => make('div', {}, make('dt', {}, name), make('dd', {}, value)))
  return make('dl', { class: 'numbers' }, ...pairs)
}

/** Lists only counts that are not zero: a zero is as it should be. */
function countsOf(account: Account): Array<[string, string]> {
  const counts: ReadonlyArray<[string, number]> = [
    ['await their samples', account.awaiting_samples],
    ['failed', account.failed],
    ['gone from the service', account.absent],
  ]
  return counts.filter(([, count]) => count > 0).map(([name, count]) => [name, formatNumber(count)])
}

function makeProgress(account: Account): Child {
  const { activities, wanted, seconds_to_go: seconds, fetched_per_minute: rate } = account
  if (activities === 0) {
    return make(
      'p',
      {},
      'Nothing is mirrored yet. The daemon fetches the history by itself; to do it now, type ',
      code(account.sync_command),
    )
  }
  if (wanted === 0) return null
  const here = activities - wanted
  const share = `${formatNumber(here)} of ${formatNumber(activities)} are here`
  const pace =
    seconds === null || rate === null
      ? 'nothing was fetched in the last minutes'
      : `${formatNumber(rate)} a minute, ${formatSpan(seconds)} to go`
  return make(
    'div',
    { class: 'progress' },
    make('progress', { max: activities, value: here, 'aria-label': `Account ${account.account}: ${share}` }),
    make('p', {}, `${share}; ${pace}`),
  )
}

function makeFreshness(account: Account): HTMLElement {
  const {
    polled_at: polled,
    newest_activity_at: newest,
    login_expires_at: ends,
    last_error: reason,
  } = account
  const refreshed = account.login === 'signed in' && ends !== null
  return make(
    'p',
    { class: 'quiet' },
    polled ? 'Last poll ' : 'No poll has finished yet',
    polled && makeAgo(polled),
    newest && `. Newest activity: ${formatDay(newest)}`,
    refreshed && `. The login is renewed by itself, before ${formatDay(ends)}`,
    reason && `. Last error: ${reason}`,
    '.',
  )
}

function code(text: string): HTMLElement {
  return make('code', {}, text)
}
