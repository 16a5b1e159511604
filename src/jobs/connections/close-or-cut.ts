import { within } from '../../kit/within.ts'
import { GOODBYE_MS } from '../limits.ts'

/**
 * Closes a queue or worker, and cuts its connections when it cannot close: a server that is gone hears no goodbye, and a
 * connection that is left open goes on calling for it and keeps the process alive. Never throws.
 */
export async function closeOrCut(part: {
  close(): Promise<unknown>
  disconnect(): Promise<unknown>
}): Promise<void> {
  const closed = await within(part.close(), GOODBYE_MS).catch(() => false)
  if (!closed) await within(part.disconnect(), GOODBYE_MS).catch(() => undefined)
}
