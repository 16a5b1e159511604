import type { Tx } from '../store.ts'

/** How long a file may be unsent before it is a problem: sending takes minutes. */
const STUCK_AFTER = '6 hours'

/** A file that the service or musette refused, and how many were refused in the week. */
type Refused = { account: string; file_name: string; reason: string | null; seen_at: Date; refused: number }

/** Finds the last refused file of a week, and counts the files that were not sent, or not confirmed, for hours. */
export async function findUploadProblems(tx: Tx, now: Date) {
  const refused = await tx.client.query<Refused>(
    `select a.name as account, u.file_name, u.reason, u.seen_at, count(*) over ()::int as refused
     from training.uploads u join training.accounts a using (account_id)
     where u.state = 'refused' and u.seen_at > $1::timestamptz - interval '7 days' order by u.seen_at desc limit 1`,
    [now],
  )
  const stuck = await tx.client.query(
    `select from training.uploads where state in ('seen', 'sending', 'unconfirmed')
       and seen_at < $1::timestamptz - interval '${STUCK_AFTER}'`,
    [now],
  )
  return { last: refused.rows[0], stuck: stuck.rowCount ?? 0 }
}
