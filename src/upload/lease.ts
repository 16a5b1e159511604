import type { Logger } from 'pino'
import { errorLine } from '../kit/errors.ts'
import type { Store } from '../store/store.ts'
import { recordUploadAlive, type UploadKey } from '../store/uploads.ts'
import { LEASE_MS, LEASE_RENEW_MS } from './pauses.ts'

/**
 * Runs `work` and says in the ledger now and then that the sender lives; a row whose sender has been silent for the lease
 * is taken over by others, who look for the activity before anything is sent again.
 */
export async function withLease<T>(
  deps: { store: Store; log: Logger; now: () => Date },
  input: UploadKey & { attempts: number },
  work: () => Promise<T>,
): Promise<T> {
  const { accountId, contentId, attempts } = input
  const renew = () => {
    const until = leaseEnd(deps.now())
    deps.store
      .transaction((tx) => recordUploadAlive(tx, { accountId, contentId }, { attempts, until }))
      .catch((error: unknown) => deps.log.debug({ reason: errorLine(error) }, 'upload: lease not renewed'))
  }
  const timer = setInterval(renew, LEASE_RENEW_MS)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}

/** When a sender that says nothing from now on counts as dead. */
export function leaseEnd(now: Date): Date {
  return new Date(now.getTime() + LEASE_MS)
}
