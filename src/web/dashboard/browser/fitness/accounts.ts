import type { FitnessView } from '../../fitness-views.ts'
import type { Told } from '../../views.ts'
import { type Child, make } from '../dom.ts'

/** Makes the choice between accounts; nothing where there is one. */
export function makeAccountChoice({ accounts, account_id: shown }: Told<FitnessView>): Child[] {
  if (accounts.length < 2) return []
  const links = accounts.map(({ account_id: id, account }) =>
    make('a', { href: `/fitness?account=${id}`, 'aria-current': id === shown && 'true' }, account),
  )
  return [make('nav', { class: 'choice', 'aria-label': 'Account' }, ...links)]
}
