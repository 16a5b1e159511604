import type { MirrorDeps, MirrorOptions } from '../account.ts'
import { askActivity, type FetchInput } from './ask.ts'
import { type FetchResult, recordFetched } from './record.ts'

/**
 * Fetches one activity and records it. What cannot be used is recorded on the row, with when to try again, and thrown.
 */
export async function fetchActivity(
  deps: MirrorDeps,
  options: MirrorOptions,
  input: FetchInput,
): Promise<FetchResult> {
  const fetched = await askActivity(deps, options, input)
  if (fetched === 'unchanged') return fetched
  const [end] = await recordFetched(deps, [fetched])
  if (end && 'result' in end) return end.result
  throw end?.error
}
