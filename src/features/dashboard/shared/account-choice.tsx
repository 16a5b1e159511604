import { Link } from './parts.tsx'

type Choice = {
  /** the page whose account is chosen */
  path: string
  accounts: readonly { account_id: number; account: string }[]
  shown: number | null
}

/** Reads the account in the page's address as a query of the API; empty without one. */
export function readAccountQuery(): string {
  const account = new URLSearchParams(location.search).get('account')
  return account !== null && /^\d{1,9}$/.test(account) ? `?account=${account}` : ''
}

/** The choice of the account; nothing for a single one. */
export function AccountChoice({ path, accounts, shown }: Choice) {
  if (accounts.length < 2) return null
  return (
    <nav class="choice" aria-label="Account">
      {accounts.map(({ account_id: id, account }) => (
        <Link key={id} to={`${path}?account=${id}`} aria-current={id === shown ? 'true' : undefined}>
          {account}
        </Link>
      ))}
    </nav>
  )
}
