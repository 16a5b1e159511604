import type { Tx } from '../../../core/store/store.ts'
import { MusetteError } from '../../../kit/errors.ts'

/** A kept FIT file or answer of the service: its account, time and name. */
export type KeptFile = {
  key: string
  account: string
  /** when the activity began, of a file that does not say it when it was seen; null when that is not known */
  at: Date | null
  name: string
  /** the SHA-256 of its content */
  fingerprint: string
}

type KeptBody = { body: Buffer; encoding: string }

/** Each selects the files with a key by which its body is found. */
const KEPT = {
  originals: {
    files: `select o.account_id || ' ' || o.content_id as key, a.name as account, coalesce(f.started_at, u.seen_at) as at,
        u.file_name as name, o.content_id as fingerprint
      from training.fit_originals o join training.fit_files f using (account_id, content_id)
        join training.uploads u using (account_id, content_id) join training.accounts a using (account_id)
      order by a.name collate "C", 3, o.content_id`,
    body: `select body, encoding from training.fit_originals
      where account_id = split_part($1, ' ', 1)::int and content_id = split_part($1, ' ', 2)`,
  },
  raw: {
    files: `select v.activity_id::text as key, a.name as account, case when isfinite(v.started_at) then v.started_at end as at,
        v.path as name, r.sha256 as fingerprint
      from training.raw_documents r join training.activities v using (activity_id) join training.accounts a using (account_id)
      order by a.name collate "C", v.path`,
    body: 'select body, encoding from training.raw_documents where activity_id = $1::int',
  },
} as const

/** Finds the kept files of all accounts, without their bodies. */
export async function findKeptFiles(tx: Tx, kind: keyof typeof KEPT): Promise<KeptFile[]> {
  return (await tx.client.query<KeptFile>(KEPT[kind].files)).rows
}

/** Finds the body of a kept file, and whether it is compressed (`gzip`) or not (`identity`). Throws when it is gone, which it is not within a transaction. */
export async function findKeptBody(tx: Tx, kind: keyof typeof KEPT, key: string): Promise<KeptBody> {
  const { rows } = await tx.client.query<KeptBody>(KEPT[kind].body, [key])
  if (!rows[0]) throw new MusetteError('kept_file_gone', `store: ${kind} ${key} is gone`)
  return rows[0]
}
