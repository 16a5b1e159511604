import { onTestFinished } from 'vitest'
import { makeGuardedReader } from '../../../../src/features/mcp/guarded-reader.ts'
import { type AtEnd, quiet } from '../../../core/store/open.ts'
import { nameOfLogin, queryOnce } from '../../../kit/postgres.ts'

type Options = NonNullable<Parameters<typeof makeGuardedReader>[1]> & {
  account?: string
  readerUrl?: string
  url?: string
}

/** Makes a reader of the database at `url` with short limits; drops its logins at the end of the test, or when `atEnd` runs its callbacks. */
export function openTestReader(
  url: string,
  { account, readerUrl, ...options }: Options = {},
  atEnd: AtEnd = onTestFinished,
) {
  atEnd(() => dropAssistantLogins(url))
  const find = async () => ({
    connectionString: options.url ?? url,
    wholeServer: false,
    account,
    readerUrl,
  })
  return makeGuardedReader({ log: quiet, find }, { timeoutMs: 5_000, ...options })
}

/** Drops the logins that musette created to read the database at `url`, but not those of tests that run at the same time. */
export async function dropAssistantLogins(url: string, admin = url): Promise<void> {
  const names = (['mcp', 'sql', 'pages'] as const).map((kind) => nameOfLogin(url, kind)).join('|')
  const roles = await queryOnce(admin, 'select rolname from pg_roles where rolname ~ $1', [`^(${names})`])
  for (const { rolname } of roles) await queryOnce(admin, `DROP OWNED BY ${rolname}; DROP ROLE ${rolname}`)
}
