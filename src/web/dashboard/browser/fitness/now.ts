import type { FitnessView } from '../../fitness-views.ts'
import type { Told } from '../../views.ts'
import { makeAgo } from '../ago.ts'
import { type Child, make } from '../dom.ts'
import { formatNumber } from '../format.ts'

/** Makes today's numbers as the service told them last. */
export function makeNow({ now, account_id: id, signature }: Told<FitnessView>): Child[] {
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
      ? 'Nothing of this account is mirrored yet. The daemon asks by itself; to do it now, type: '
      : 'The service has not been asked for today’s numbers yet. The daemon asks by itself; to do it now, type: '
    return [make('p', {}, text, make('code', {}, 'musette sync'))]
  }
  const figures: ReadonlyArray<[string, string, string?]> = [
    ['Threshold power (FTP)', formatNumber(now.ftp, 'W', 1), perKg(now.ftp, now.weight_kg)],
    ['Lower threshold (LTP)', formatNumber(now.ltp, 'W', 1)],
    ['High-intensity energy (HIE)', formatNumber(now.hie_kj, 'kJ', 1), 'unit as read, not told'],
    ['Peak power', formatNumber(now.pp, 'W')],
    ['Training load', formatNumber(now.tl_total, '', 1), targetOf(now.target_total)],
    ['Freshness', now.status ?? '–'],
  ]
  const pairs = figures.map(([name, value, note]) =>
    make('div', {}, make('dt', {}, name), make('dd', {}, value, note ? make('small', {}, note) : null)),
  )
  return [
    make('h2', { class: 'hidden' }, 'Now'),
    make('dl', { class: 'figures wide' }, ...pairs),
    make('p', { class: 'quiet' }, 'As the service told it ', makeAgo(now.seen_at), '.'),
  ]
}

function perKg(watts: number | null, kg: number | null): string {
  return watts === null || kg === null || kg <= 0 ? '' : formatNumber(watts / kg, 'W/kg', 2)
}

function targetOf(target: number | null): string {
  return target === null ? '' : `recommended today: ${formatNumber(target)} XSS`
}
