import { createHash } from 'node:crypto'
import { z } from 'zod'
import { formatCount } from '../../../kit/text.ts'

/** Version of the archive's layout; restore reads no other version. */
export const FORMAT = 1

/** The first entry of an archive. */
export const MANIFEST = 'manifest.json'
/** Load the archive without musette: SQL statements for psql, and the script that runs psql. Both entries follow the manifest. */
export const PLAIN_SQL = 'restore.sql'
export const PLAIN_SCRIPT = 'restore.sh'
/** The last entry: one line for each earlier entry, in the format of `sha256sum`. */
export const CHECKSUMS = 'SHA256SUMS'

/** Size of a part before compression, bytes. Larger parts need more memory; smaller parts make more entries. */
export const PART_BYTES = 4 * 1024 * 1024

// Each name becomes a quoted SQL name and part of entry names.
const tableName = z.string().regex(/^(training|musette)\.\w+$/)

export const manifestSchema = z.object({
  format: z.literal(FORMAT),
  /** the version of musette that made the archive */
  musette: z.string(),
  /** time of the snapshot */
  made_at: z.iso.datetime(),
  /** the database that was backed up; undefined if its version had no identity yet */
  database: z.object({ identity: z.uuid(), line: z.uuid() }).optional(),
  /** the database's migrations, each as the time when the migration was generated, ms since 1970 */
  migrations: z.array(z.int()).min(1),
  /** the tables in restore order, with their row counts in the snapshot */
  tables: z.array(
    z.object({ name: tableName, columns: z.array(z.string()).min(1), rows: z.int().nonnegative() }),
  ),
  /** the states of the identity columns' sequences */
  sequences: z.array(
    z.object({ name: tableName, last_value: z.string().regex(/^-?\d{1,19}$/), is_called: z.boolean() }),
  ),
})

export type Manifest = z.output<typeof manifestSchema>

/** The members that a manifest has in every layout. */
export const anyManifestSchema = z.object({ format: z.int(), musette: z.string() })

export function countManifestRows({ tables }: Pick<Manifest, 'tables'>): number {
  return tables.reduce((sum, { rows }) => sum + rows, 0)
}

export function describeContent({ tables }: Pick<Manifest, 'tables'>): string {
  return `${tables.length} tables with ${formatCount(countManifestRows({ tables }))} rows`
}

/** Returns the entry name of a table's part; the first part is 1. */
export function partName(table: string, part: number): string {
  return `${table}/${String(part).padStart(6, '0')}.copy.gz`
}

export function makeChecksum({ name, bytes }: { name: string; bytes: Uint8Array }): string {
  return `${createHash('sha256').update(bytes).digest('hex')}  ${name}\n`
}
