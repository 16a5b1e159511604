import { type Child, make } from './dom.ts'

type Choice = {
  /** the page whose account is chosen */
  path: string
  accounts: readonly { account_id: number; account: string }[]
  shown: number | null
}

/** Reads which account the address of the page names, as a query of the API; empty when it names none. */
export function readAccountQuery(): string {
  const account = new URLSearchParams(location.search).get('account')
  return account !== null && /^\d{1,9}$/.test(account) ? `?account=${account}` : ''
}

/** Makes the choice between accounts; nothing where there is one. */
export function makeAccountChoice({ path, accounts, shown }: Choice): Child[] {
  if (accounts.length < 2) return []
  const links = accounts.map(({ account_id: id, account }) =>
    make('a', { href: `${path}?account=${id}`, 'aria-current': id === shown && 'true' }, account),
  )
  return [make('nav', { class: 'choice', 'aria-label': 'Account' }, ...links)]
}
