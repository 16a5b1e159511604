import type { Tx } from '../store.ts'

/** How long a file may be unsent before it is a problem: sending takes minutes. */
const STUCK_AFTER = '6 hours'

/** Files of the last day that the service or musette refused, and files that were not sent, or not confirmed, for hours. */
export type UploadProblems = { refused: number; stuck: number }

/** Counts the failed uploads of all accounts. */
export async function findUploadProblems(tx: Tx, now: Date): Promise<UploadProblems> {
  const { rows } = await tx.client.query<UploadProblems>(
    `select count(*) filter (where state = 'refused' and seen_at > $1::timestamptz - interval '1 day')::int as refused,
       count(*) filter (where state in ('seen', 'sending', 'unconfirmed')
         and seen_at < $1::timestamptz - interval '${STUCK_AFTER}')::int as stuck
     from training.uploads`,
    [now],
  )
  return rows[0] ?? { refused: 0, stuck: 0 }
}
