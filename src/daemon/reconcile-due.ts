import { RESOURCE } from '../mirror/activities/poll.ts'
import { findCursor, findListCap } from '../store/cursors.ts'
import type { House } from './house.ts'

/**
 * Tells whether an account's whole list is to be compared with the mirror: not before the first poll, which compares
 * it, and not when that was done within half of the interval, because every start of the daemon runs every schedule.
 */
export async function isReconcileDue(house: House, accountId: number): Promise<boolean> {
  const key = { accountId, resource: RESOURCE }
  const { cursor, compared } = await house.store.read(async (tx) => ({
    cursor: await findCursor(tx, key),
    compared: await findListCap(tx, key),
  }))
  if (!compared) return cursor !== undefined
  const ago = house.mirror.now().getTime() - compared.checkedAt.getTime()
  // A moment ahead of now was written while the clock was wrong.
  return ago < 0 || ago >= house.config.mirror.reconcileEveryMs / 2
}
