import type { AccountView, Serialized } from '../../dashboard/dashboard-types.ts'
import { type Child, make, makeBadge } from '../dom.ts'
import { formatDay, formatNumber, formatSpan } from '../format.ts'
import { makeAgo, makeNotice } from '../live.ts'

type Account = Serialized<AccountView>

/** Makes a card for every account: its login, its counts and its progress, with the command to type where one is needed. */
export function makeAccounts(accounts: readonly Account[]): Child[] {
  if (accounts.length === 0) return [make('section', { class: 'card empty-state' }, ...makeWelcome())]
  return [
    make('h2', { class: 'hidden' }, 'Accounts'),
    ...accounts.filter((account) => account.login === 'needs login').map(makeLoginNotice),
    make('div', { class: 'cards' }, ...accounts.map(makeCard)),
  ]
}

function makeWelcome(): Child[] {
  return [
    make('h2', {}, 'No account yet'),
    make('p', {}, 'Sign in to the service, and its history appears here, newest ride first. Type:'),
    make('pre', {}, make('code', {}, 'musette login --username you@example.com')),
    make('p', { class: 'quiet' }, 'The password is asked for, and not kept.'),
  ]
}

function makeLoginNotice({ account, next_command: command }: Account): HTMLElement {
  return makeNotice({
    text: `Account “${account}” is not signed in. What is mirrored stays; nothing new comes until you type:`,
    ...(command !== null && { command }),
  })
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
    account.reconcile_error !== null &&
      makeNotice({ text: `The last comparison of whole lists changed nothing: ${account.reconcile_error}` }),
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
      code('musette sync'),
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
