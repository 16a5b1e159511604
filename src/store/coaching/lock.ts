import { lockName } from '../named-lock.ts'
import type { Tx } from '../store.ts'

/** What two processes may not write at the same time; each is locked for one account or one service. */
type Locked = 'training info' | 'workout list' | 'workout sets' | 'workout folder'

/** Waits until no other transaction holds the lock of that name, and holds it to the end of this one. */
export async function lockCoaching(tx: Tx, what: Locked, of: number | string): Promise<void> {
  await lockName(tx, `${what} ${of}`)
}
