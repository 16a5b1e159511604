import { FirstSteps } from '../../shared/first-steps.tsx'
import { formatDay, formatNumber } from '../../shared/format.ts'
import { Ago, Badge, Link, type NamedNumber, Numbers } from '../../shared/parts.tsx'
import type { View } from './queries.ts'
import { describeProgress, describeRuns } from './sentences.ts'

type Account = View['cards'][number]

/** Runs are stored for 90 days. */
const MAX_DAYS = 90

/** The top of the page: the day, and the state of the mirror in one line. */
export function Health({ view: { cards, runs, today, is_well: isWell } }: { view: View }) {
  const heading = <h1>{today ? `Today, ${formatDay(today.day, 'with weekday')}` : 'Today'}</h1>
  if (cards.length === 0) return heading
  const polls = cards.flatMap(({ polled_at: polledAt }) => (polledAt === null ? [] : [polledAt]))
  const oldest = polls.sort()[0]
  const days = today?.days_mirrored ?? 0
  return (
    <>
      {heading}
      <p class="health quiet">
        <Badge mood={isWell ? 'good' : 'busy'}>{isWell ? 'all well' : 'see below'}</Badge>
        {oldest ? (
          <>
            {' '}
            Polled <Ago at={oldest} />
          </>
        ) : (
          ' Not polled yet'
        )}
        {days > 1 && `, every day for ${days >= MAX_DAYS ? '90 days or more' : `${days} days`}`}
        {`. ${describeRuns(runs)} `}
        <Link to="/runs">All runs</Link>
      </p>
    </>
  )
}

/** A card for each account: login, counts, progress and, if a person must act, the command to run. */
export function Accounts({ cards }: { cards: readonly Account[] }) {
  if (cards.length === 0) return <FirstSteps />
  return (
    <>
      <h2>Mirror</h2>
      <div class="cards">
        {cards.map((account) => (
          <AccountCard key={account.account} account={account} />
        ))}
      </div>
    </>
  )
}

function AccountCard({ account }: { account: Account }) {
  const { account: name, login, newest_activity_day: newest, login_expires_at: ends } = account
  const { polled_at: polled, last_error: reason } = account
  const isSignedIn = login === 'signed in'
  return (
    <article class="card" aria-label={`Account ${name}`}>
      <header>
        <h3>{name}</h3>
        <span class="quiet">{account.service}</span>
        <Badge mood={isSignedIn ? 'good' : 'bad'}>{login}</Badge>
      </header>
      <Numbers numbers={countsOf(account)} />
      <Progress account={account} />
      <p class="quiet">
        {polled ? (
          <>
            Last poll <Ago at={polled} />
          </>
        ) : (
          'No poll has finished yet'
        )}
        {newest && `. Newest activity: ${formatDay(newest)}`}
        {isSignedIn && ends && (
          <>
            . musette renews the login by itself; the current one expires <Ago at={ends} />
          </>
        )}
        {reason && `. Last error: ${reason.replace(/\.$/, '')}`}.
      </p>
    </article>
  )
}

/** Lists the mirrored counts, and the other counts that are not zero. */
function countsOf(account: Account): NamedNumber[] {
  const others: ReadonlyArray<[string, number]> = [
    ['waiting for samples', account.awaiting_samples],
    ['failed', account.failed],
    ['no longer listed', account.absent],
  ]
  return [
    ['activities', formatNumber(account.activities)],
    ['recorded', formatNumber(account.samples / 3_600, 'h')],
    ...others
      .filter(([, number]) => number > 0)
      .map(([name, number]) => [name, formatNumber(number)] as const),
  ]
}

function Progress({ account }: { account: Account }) {
  const { activities, wanted } = account
  if (activities === 0)
    return (
      <p>
        Nothing is mirrored yet. The daemon will fetch the history; to fetch it now, run:{' '}
        <code>{account.sync_command}</code>
      </p>
    )
  if (wanted === 0) return null
  const progress = describeProgress(account)
  return (
    <div class="progress">
      <progress
        max={activities}
        value={activities - wanted}
        aria-label={`Account ${account.account}: ${progress}`}
      />
      <p>{progress}</p>
    </div>
  )
}
