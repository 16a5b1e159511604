import { openStore, type Store } from '../../core/store/store.ts'
import { errorCode, errorLine } from '../../kit/errors.ts'
import { makeLogOnce } from '../../kit/log-once.ts'
import { MINUTE } from '../../kit/time.ts'
import type { ReadingDeps } from './reader-url.ts'
import { isWithoutLogin, loadLogins, makeLogins } from './reading-session.ts'

export type VisitorStore = Pick<Store, 'read'>
type Options = { connectionString: string; account?: string | undefined; maxConnections: number }

/** How long the owner reads instead before the login is tried again, ms. */
const AGAIN_AFTER_MS = 5 * MINUTE
/** Error codes of a server or pooler that has no connection for a login other than the owner. */
const FULL = /^database_(?:full|unanswered|pool_small)$/

/**
 * Opens a store that reads for visitors of pages, with a login that reads schema training and nothing else, see makeLogins. If that login
 * cannot be made or used, `owner` reads and the log says why: pages run only musette's own statements. A visitor of one account gets the
 * error instead.
 */
export async function openVisitorStore(
  { log, owner }: Pick<ReadingDeps, 'log'> & { owner: VisitorStore },
  { account, ...options }: Options,
): Promise<VisitorStore & Pick<Store, 'close'>> {
  await loadLogins()
  const place = { ...options, account, wholeServer: false }
  const withLogin = makeLogins({ log, readers: 'pages', find: async () => place })
  const problems = makeLogOnce(log)
  let store: Store | undefined
  let ownerUntil = 0
  return {
    async read(fn) {
      if (performance.now() < ownerUntil) return owner.read(fn)
      let begun = false
      const readAs = ({ url }: { url: string }) => {
        store ??= openStore({ log }, { ...options, connectionString: url, onlyAsUser: true })
        return store.read((tx) => {
          begun = true
          problems.over('login')
          return fn(tx)
        })
      }
      return withLogin(readAs, () => begun).catch((error: unknown) => {
        const isOwners = account === undefined && (isWithoutLogin(error) || FULL.test(errorCode(error)))
        if (begun || !isOwners) throw error
        return owner.read((tx) => {
          ownerUntil = performance.now() + AGAIN_AFTER_MS
          problems.say('warn', 'login', `pages read as the user of DATABASE_URL: ${errorLine(error)}`)
          return fn(tx)
        })
      })
    },
    close: async () => store?.close(),
  }
}
