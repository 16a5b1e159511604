import type { Jobs } from '../jobs/jobs.ts'
import { errorLine } from '../kit/errors.ts'
import type { Readiness } from '../web/web.ts'
import type { House } from './house.ts'
import { findStatus } from './status.ts'

/** A poll may be late by a run that waits for the service; this many intervals late is not fresh. */
const FRESH_WITHIN_INTERVALS = 3

/** Looks whether database and queue answer, and whether every signed-in account was polled lately. */
export async function findReadiness(house: House, jobs: Jobs): Promise<Readiness> {
  const parts: Record<string, string> = {}
  const look = async (part: string, check: () => Promise<string>) => {
    parts[part] = await check().catch((error: unknown) => errorLine(error))
  }
  await look('queue', async () => {
    await jobs.counts()
    return 'ok'
  })
  await look('database', async () => {
    const { accounts } = await findStatus(house)
    const oldest = Date.now() - FRESH_WITHIN_INTERVALS * house.config.mirror.pollEveryMs
    for (const { account, needs_login, polled_at } of accounts) {
      if (needs_login) continue
      const fresh = polled_at !== null && polled_at.getTime() >= oldest
      parts[`polls of account "${account}"`] = fresh
        ? 'ok'
        : `last poll: ${polled_at?.toISOString() ?? 'never'}`
    }
    return 'ok'
  })
  return { ready: Object.values(parts).every((state) => state === 'ok'), parts }
}
