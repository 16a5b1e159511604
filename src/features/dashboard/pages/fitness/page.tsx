import { useMemo } from 'preact/hooks'
import { AccountChoice, readAccount, SportChoice } from '../../shared/account-choice.tsx'
import { formatQuery, useAddress } from '../../shared/address-query.tsx'
import { FirstSteps } from '../../shared/first-steps.tsx'
import { describeMissing, formatNumber, formatPerKg } from '../../shared/format.ts'
import { showPage } from '../../shared/frame.tsx'
import { useLive } from '../../shared/live.tsx'
import { Ago, type NamedNumber, Numbers, Waiting } from '../../shared/parts.tsx'
import { Bests } from './bests.tsx'
import { Load, Signature } from './history.tsx'
import type { View } from './queries.ts'
import { parseRange, RangeChoice } from './range.tsx'
import { Weeks } from './weeks.tsx'

/** Poll interval, ms, longer than on other pages because fitness changes only with an activity. */
const POLL_EVERY_MS = 15_000
const KEYS = ['account', 'span', 'season', 'sport'] as const

showPage(<Fitness />)

function Fitness() {
  const [chosen, choose] = useAddress(KEYS)
  const range = useMemo(() => parseRange(chosen), [chosen.span, chosen.season])
  const query = formatQuery({ account: readAccount(), season: range.season, sport: chosen.sport })
  const view = useLive<View>(`/api/fitness${query}`, POLL_EVERY_MS)
  const signature = useMemo(
    () => view && <Signature columns={view.signature} range={range} />,
    [view?.signature, range],
  )
  const load = useMemo(() => view && <Load load={view.load} range={range} />, [view?.load, range])
  const weeks = useMemo(() => view && <Weeks weeks={view.weeks} range={range} />, [view?.weeks, range])
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
      {missing && <p class="notice calm">Charts and tables are {missing}.</p>}
      <Now view={view} />
      {view.signature.at.length > 0 && (
        <RangeChoice
          range={range}
          seasons={view.seasons}
          // Choosing another season adds an entry to the browser's history.
          onChoose={(query) =>
            choose({ ...chosen, ...query }, { step: query.season !== (chosen.season ?? '') })
          }
        />
      )}
      {signature}
      {load}
      <SportChoice
        sport={view.sport}
        sports={[...view.sports, 'all']}
        onChoose={(sport) => choose({ ...chosen, sport }, { step: false })}
      />
      {weeks}
      {bests}
    </>
  )
}

/** The service's last fitness numbers. */
function Now({ view }: { view: View }) {
  const { now, account_id: id, signature, sync_command: command } = view
  if (id === null) return <FirstSteps />
  if (now === null)
    return (
      <p>
        {signature.at.length === 0
          ? 'Nothing of this account is mirrored yet. The daemon will fetch it; to fetch it now, run: '
          : 'Today’s numbers have not been fetched yet. The daemon will fetch them; to fetch them now, run: '}
        <code>{command}</code>
      </p>
    )
  const { ftp, weight_kg: kg, recommended_xss: target } = now
  const numbers: readonly NamedNumber[] = [
    ['Threshold power (FTP)', formatNumber(ftp, 'W', 1), formatPerKg(ftp, kg)],
    ['Lower threshold (LTP)', formatNumber(now.ltp, 'W', 1)],
    ['High-intensity energy (HIE)', formatNumber(now.hie_kj, 'kJ', 1)],
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
        Last reported by the service: <Ago at={now.seen_at} />.
      </p>
    </>
  )
}
