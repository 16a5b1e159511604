import { DAY } from '../kit/durations.ts'
import type { Account } from '../store/accounts.ts'
import type { Listed, UploadDeps } from './deps.ts'
import { START_WITHIN_MS } from './pauses.ts'

export type Span = { listed: Listed[]; paths: string[] }

/** What the list's span is wider than needed, on both sides: a service may take it as wall-clock time of some zone. */
const ZONES_MS = 1 * DAY

/** Lists the activities that started within two minutes of `startedAt` (service document, endpoint 9). Throws the client's errors. */
export async function listAround(
  deps: Pick<UploadDeps, 'listStarted'>,
  input: { account: Account; startedAt: Date; signal?: AbortSignal },
): Promise<Span> {
  const start = input.startedAt.getTime()
  const from = new Date(start - ZONES_MS)
  const to = new Date(start + ZONES_MS)
  const all = await deps.listStarted(input.account, { from, to }, input.signal)
  const listed = all.filter(
    ({ startedAt }) => startedAt && Math.abs(startedAt.getTime() - start) <= START_WITHIN_MS,
  )
  return { listed, paths: listed.map(({ path }) => path) }
}
