import type { App } from '../app/app.ts'
import { findBackupStatus, freshMs } from '../app/status-report.ts'
import { formatAge, MINUTE } from '../kit/time.ts'
import { findAccounts } from '../store/account-rows.ts'
import { findAccountHealth } from '../store/health.ts'
import type { Condition } from '../webhooks/texts.ts'

/** A daemon that has just started makes up for polls and backups that were missed while it was down. */
const SETTLED_AFTER_MS = 10 * MINUTE

/**
 * Finds the faults of the mirror of each account and of the backups. A mirror is stale by the measure of `/readyz`: when
 * it had no good poll for long, counted from `startedAt` at the earliest. One that needs a login is not, because that is a message of its own.
 */
export async function findConditions(
  app: Pick<App, 'store' | 'config'>,
  { startedAt, now }: { startedAt: Date; now: Date },
): Promise<Condition[]> {
  const { accounts, health, backup } = await app.store.read(async (tx) => ({
    accounts: await findAccounts(tx),
    health: await findAccountHealth(tx),
    backup: await findBackupStatus(tx, app.config, now),
  }))
  const mirrors = accounts.map((account): Condition => {
    const { name, accountId, createdAt } = account
    const polledAt = health.find((each) => each.account === name)?.polled_at ?? null
    const since = Math.max(polledAt?.getTime() ?? 0, createdAt.getTime(), startedAt.getTime())
    const isFresh = polledAt !== null && now.getTime() - polledAt.getTime() < freshMs(app.config)
    const isLate = now.getTime() - since > freshMs(app.config)
    const ago = polledAt ? `for ${formatAge(polledAt, now)}` : 'yet'
    const base = { kind: 'mirror', account: { accountId, name } } as const
    if (account.needsLogin || (!isFresh && !isLate)) return { ...base, state: 'unknown', sentence: '' }
    if (isFresh) return { ...base, state: 'well', sentence: 'The service is polled again' }
    return { ...base, state: 'wrong', sentence: `No poll of the service was good ${ago}` }
  })
  if (!backup) return mirrors
  const isSettled = now.getTime() - startedAt.getTime() > SETTLED_AFTER_MS
  const state = backup.problem === null ? 'well' : isSettled ? 'wrong' : 'unknown'
  const sentence = backup.problem ?? 'The last backup is complete'
  return [...mirrors, { kind: 'backup', account: null, state, sentence }]
}
