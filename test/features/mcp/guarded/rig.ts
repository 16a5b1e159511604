import { onTestFinished } from 'vitest'
import { makeGuardedReader } from '../../../../src/features/mcp/guarded-reader.ts'
import { type AtEnd, quiet } from '../../../core/store/open.ts'
import { nameOfLogin, queryOnce } from '../../../kit/postgres.ts'

type Options = NonNullable<Parameters<typeof makeGuardedReader>[1]> & {
  account?: string
  readerUrl?: string
  url?: string
}

/** A reader of the database at `url` with short limits; its logins are gone at the end of the test, or with what `atEnd` keeps. */
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

/** Drops the logins that musette made to read in the database at `url`; others belong to the tests beside this one. */
export async function dropAssistantLogins(url: string, admin = url): Promise<void> {
  const names = (['mcp', 'sql', 'pages'] as const).map((kind) => nameOfLogin(url, kind)).join('|')
  const roles = await queryOnce(admin, 'select rolname from pg_roles where rolname ~ $1', [`^(${names})`])
  for (const { rolname } of roles) await queryOnce(admin, `DROP OWNED BY ${rolname}; DROP ROLE ${rolname}`)
}
