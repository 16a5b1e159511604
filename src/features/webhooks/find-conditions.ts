import { findAccounts } from '../../core/store/account-rows.ts'
import { collectFindings } from '../../program/frame/findings/collect-findings.ts'
import { type FactsApp, makeFacts } from '../../program/frame/findings/facts.ts'
import { isSaid } from '../../program/frame/findings/finding.ts'
import type { Condition } from './texts.ts'

/**
 * Finds whether the mirror of each account and the backups are wrong or well, by the findings that have messages. It is unknown
 * without a finding, as of an account that needs a login, and while one may soon be over.
 */
export async function findConditions(
  app: FactsApp,
  input: { startedAt: Date; now: Date },
): Promise<Condition[]> {
  const accounts = await app.store.read(findAccounts)
  const findings = await collectFindings(makeFacts(app, input.now), { place: 'message' })
  const subjects = [
    ...accounts.map((account) => ({ kind: 'mirror', check: 'mirror', account }) as const),
    { kind: 'backup', check: 'backups', account: null } as const,
  ]
  return subjects.map(({ kind, check, account }) => {
    const own = findings.filter((each) => each.check === check && each.account === account?.name)
    const wrong = own.find((finding) => isSaid(finding, input))
    const state = wrong ? 'wrong' : own.some((finding) => finding.state === 'ok') ? 'well' : 'unknown'
    return { kind, account, state, sentence: wrong?.found ?? '', run: wrong?.run }
  })
}
