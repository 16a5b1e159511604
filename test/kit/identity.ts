import { randomUUID } from 'node:crypto'
import { spoolName } from '../../src/core/vault/seal.ts'
import type { DatabaseIdentity } from '../../src/kit/folders/folder-owner.ts'
import { queryOnce } from './postgres.ts'

/** The identity for tests that have no database, or only one. */
export const IDENTITY: DatabaseIdentity = {
  identity: '0b5e7a3c-1111-4111-8111-111111111111',
  line: '5f0c9d21-2222-4222-8222-222222222222',
  earlierLines: [],
}

/** Makes the identity of another database, or with `like` of a database restored from a backup of that one. */
export function makeIdentity(like?: DatabaseIdentity): DatabaseIdentity {
  const earlierLines = like ? [...like.earlierLines, like.line] : []
  return { identity: like?.identity ?? randomUUID(), line: randomUUID(), earlierLines }
}

/** Gives a test database its own identity; without this, test databases are copies of one template. */
export async function makeOther(url: string): Promise<void> {
  await queryOnce(
    url,
    'update training.database set identity = gen_random_uuid(), line = gen_random_uuid(), line_began_at = clock_timestamp()',
  )
}

/** Finds the name of the spool file of an account. */
export async function findSpoolName(url: string, accountId: unknown): Promise<string> {
  const [row] = await queryOnce(url, 'select identity from training.database')
  return spoolName(Number(accountId), String(row?.identity))
}
