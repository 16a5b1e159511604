import type { FitnessView, Serialized } from '../../dashboard/dashboard-types.ts'
import { makeAccountChoice, readAccountQuery } from '../account-choice.ts'
import { announceScheme } from '../charts/axes.ts'
import { type Child, find, make, makePlace } from '../dom.ts'
import { formatNumber } from '../format.ts'
import { follow, makeAgo } from '../live.ts'
import { makeBests } from './bests.ts'
import { makeLoad, makeSignature } from './fitness-history.ts'
import { makeSpans, readSeason } from './spans.ts'
import { makeWeeks } from './weeks.ts'

type View = Serialized<FitnessView>

/** Fitness changes with each activity, not with the seconds. */
const POLL_EVERY_MS = 15_000

const spans = makeSpans()
const places = {
  accounts: make('div'),
  now: make('div'),
  signature: make('div'),
  load: make('div'),
  weeks: make('div'),
  best: make('div'),
}
const draw = {
  accounts: makePlace(places.accounts, makeAccountChoice),
  now: makePlace(places.now, makeNow),
  signature: makePlace(places.signature, (shown: View['signature']) => makeSignature(shown, spans)),
  load: makePlace(places.load, (shown: View['load']) => makeLoad(shown, spans)),
  weeks: makePlace(places.weeks, (shown: View['weeks']) => makeWeeks(shown, spans)),
  best: makePlace(places.best, makeBests),
}

announceScheme()
await follow<View>(addressOf(readAccountQuery(), readSeason()), {
  everyMs: POLL_EVERY_MS,
  onData(view) {
    if (!places.now.isConnected) {
      const { accounts, now, ...charts } = places
      find('#main').replaceChildren(
        make('h1', {}, 'Fitness'),
        accounts,
        now,
        spans.element,
        ...Object.values(charts),
      )
    }
    spans.element.hidden = view.signature.at.length === 0
    draw.accounts({ path: '/fitness', accounts: view.accounts, shown: view.account_id })
    draw.now(view)
    draw.signature(view.signature)
    draw.load(view.load)
    draw.weeks(view.weeks)
    spans.setSeasons(view.seasons)
    draw.best({ points: view.best, season: view.season, kg: view.now?.weight_kg ?? null })
  },
})

function addressOf(account: string, season: number | undefined): string {
  if (season === undefined) return `/api/fitness${account}`
  return `/api/fitness${account}${account ? '&' : '?'}season=${season}`
}

/** Makes the last fitness numbers of the service. */
function makeNow({
  now,
  account_id: id,
  signature,
  sync_command: command,
}: Serialized<FitnessView>): Child[] {
  if (id === null)
    return [
      make(
        'p',
        {},
        'There is no account yet. Type: ',
        make('code', {}, 'musette login --username you@example.com'),
      ),
    ]
  if (now === null) {
    const nothing = signature.at.length === 0
    const text = nothing
      ? 'Nothing of this account is mirrored yet. The daemon fetches it by itself; to do it now, type: '
      : 'Today’s numbers have not been fetched yet. The daemon fetches them by itself; to do it now, type: '
    return [make('p', {}, text, make('code', {}, command))]
  }
  const numbers: ReadonlyArray<[string, string, string?]> = [
    ['Threshold power (FTP)', formatNumber(now.ftp, 'W', 1), perKg(now.ftp, now.weight_kg)],
    ['Lower threshold (LTP)', formatNumber(now.ltp, 'W', 1)],
    ['High-intensity energy (HIE)', formatNumber(now.hie_kj, 'kJ', 1), 'the service gives no unit'],
    ['Peak power', formatNumber(now.pp, 'W')],
    ['Training load', formatNumber(now.tl_total, '', 1), targetOf(now.target_total)],
    ['Freshness', now.status ?? '–'],
  ]
  const pairs = numbers.map(([name, value, note]) =>
    make('div', {}, make('dt', {}, name), make('dd', {}, value, note ? make('small', {}, note) : null)),
  )
  return [
    make('h2', { class: 'hidden' }, 'Now'),
    make('dl', { class: 'numbers wide' }, ...pairs),
    make('p', { class: 'quiet' }, 'Last answer of the service: ', makeAgo(now.seen_at), '.'),
  ]
}

function perKg(watts: number | null, kg: number | null): string {
  return watts === null || kg === null || kg <= 0 ? '' : formatNumber(watts / kg, 'W/kg', 2)
}

function targetOf(target: number | null): string {
  return target === null ? '' : `recommended today: ${formatNumber(target)} XSS`
}
