import { useMemo, useState } from 'preact/hooks'
import { AccountChoice, readAccountQuery } from '../../shared/account-choice.tsx'
import { FirstSteps } from '../../shared/first-steps.tsx'
import { describeMissing, formatNumber, formatPerKg } from '../../shared/format.ts'
import { showPage } from '../../shared/frame.tsx'
import { useLive } from '../../shared/live.tsx'
import { Ago, type NamedNumber, Numbers, Waiting } from '../../shared/parts.tsx'
import { Bests } from './bests.tsx'
import { Load, Signature } from './history.tsx'
import type { View } from './queries.ts'
import { RangeChoice, readRange, SportChoice } from './range.tsx'
import { Weeks } from './weeks.tsx'

/** Fitness changes with each activity, not with the seconds. */
const POLL_EVERY_MS = 15_000

showPage(<Fitness />)

function Fitness() {
  const [range, setRange] = useState(readRange)
  const [sport, setSport] = useState(() => new URLSearchParams(location.search).get('sport'))
  const view = useLive<View>(addressOf(readAccountQuery(), range.season, sport), POLL_EVERY_MS)
  const signature = useMemo(
    () => view && <Signature columns={view.signature} range={range} />,
    [view?.signature, range],
  )
  const load = useMemo(() => view && <Load columns={view.load} range={range} />, [view?.load, range])
  const weeks = useMemo(() => view && <Weeks columns={view.weeks} range={range} />, [view?.weeks, range])
  const kg = view?.now?.weight_kg ?? null
  const bests = useMemo(
    () => view && <Bests points={view.best} season={view.season} kg={kg} />,
    [view?.best, view?.season, kg],
  )
  if (!view) return <Waiting />
  const missing = describeMissing(view.count.all, view.count.to_fetch)
  return (
    <>
      <h1>Fitness</h1>
      <AccountChoice path="/fitness" accounts={view.accounts} shown={view.account_id} />
      {missing && <p class="notice calm">Charts and tables have the {missing}.</p>}
      <Now view={view} />
      {view.signature.at.length > 0 && (
        <RangeChoice range={range} seasons={view.seasons} onChoose={setRange} />
      )}
      {signature}
      {load}
      <SportChoice sport={view.sport} sports={view.sports} onChoose={setSport} />
      {weeks}
      {bests}
    </>
  )
}

function addressOf(account: string, season: number | undefined, sport: string | null): string {
  const query = new URLSearchParams(account)
  if (season !== undefined) query.set('season', String(season))
  if (sport !== null) query.set('sport', sport)
  return query.size > 0 ? `/api/fitness?${query}` : '/api/fitness'
}

/** The last fitness numbers of the service. */
function Now({ view }: { view: View }) {
  const { now, account_id: id, signature, sync_command: command } = view
  if (id === null) return <FirstSteps />
  if (now === null)
    return (
      <p>
        {signature.at.length === 0
          ? 'Nothing of this account is mirrored yet. The daemon fetches it by itself; to do it now, type: '
          : 'Today’s numbers have not been fetched yet. The daemon fetches them by itself; to do it now, type: '}
        <code>{command}</code>
      </p>
    )
  const { ftp, weight_kg: kg, recommended_xss: target } = now
  const numbers: readonly NamedNumber[] = [
    ['Threshold power (FTP)', formatNumber(ftp, 'W', 1), formatPerKg(ftp, kg)],
    ['Lower threshold (LTP)', formatNumber(now.ltp, 'W', 1)],
    ['High-intensity energy (HIE)', formatNumber(now.hie_kj, 'kJ', 1), 'the service gives no unit'],
    ['Peak power', formatNumber(now.pp, 'W')],
    [
      'Training load',
      formatNumber(now.tl_total, '', 1),
      target === null ? '' : `recommended today: ${formatNumber(target)} XSS`,
    ],
    ['Freshness', now.status ?? '–'],
  ]
  return (
    <>
      <h2 class="hidden">Now</h2>
      <Numbers wide numbers={numbers} />
      <p class="quiet">
        Last answer of the service: <Ago at={now.seen_at} />.
      </p>
    </>
  )
}
