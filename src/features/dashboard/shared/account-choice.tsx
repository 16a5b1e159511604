import { capitalize } from './format.ts'
import { Link, Select } from './parts.tsx'
import { MAX_ACCOUNTS } from './sent.ts'

type Choice = {
  /** the path of the page whose account is chosen */
  path: string
  accounts: readonly { account_id: number; account: string }[]
  shown: number | null
}

/** Reads the account from the page's URL; undefined if the URL names none. */
export function readAccount(): string | undefined {
  return new URLSearchParams(location.search).get('account')?.match(/^\d{1,9}$/)?.[0]
}

/**
 * The choice of an account; if there are many accounts, a field for the account's account_id in `training.accounts`. Nothing if there is
 * only one account.
 */
export function AccountChoice({ path, accounts, shown }: Choice) {
  if (accounts.length < 2) return null
  return (
    <nav class="choice" aria-label="Account">
      {accounts.map(({ account_id: id, account }) => (
        <Link key={id} to={`${path}?account=${id}`} aria-current={id === shown ? 'true' : undefined}>
          {account}
        </Link>
      ))}
      {accounts.length >= MAX_ACCOUNTS && (
        <form>
          <input
            name="account"
            aria-label="Number of another account"
            inputMode="numeric"
            pattern="[0-9]{1,9}"
            placeholder="number of another"
          />
        </form>
      )}
    </nav>
  )
}

type SportProps = { sport: string; sports: readonly string[]; onChoose: (sport: string) => void }

/** The choice of a sport, if the account has several; `all` means all sports. */
export function SportChoice({ sport, sports, onChoose }: SportProps) {
  if (sports.filter((one) => one !== 'all').length < 2) return null
  const options = sports.map((one) => [one, one === 'all' ? 'All sports' : capitalize(one)] as const)
  return (
    <div class="choice">
      <Select aria-label="Sport" value={sport} options={options} onChoose={onChoose} />
    </div>
  )
}
