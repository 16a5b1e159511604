import { createHash } from 'node:crypto'
import { z } from 'zod'
import { formatCount } from '../../../kit/text.ts'

/** The version of the archive's layout; restore reads this one only. */
export const FORMAT = 1

/** The first entry of an archive. */
export const MANIFEST = 'manifest.json'
/** What loads the archive without musette: statements for psql, and the script that runs them. They follow the manifest. */
export const PLAIN_SQL = 'restore.sql'
export const PLAIN_SCRIPT = 'restore.sh'
/** The last entry: a line for each entry before it, as `sha256sum` writes them. */
export const CHECKSUMS = 'SHA256SUMS'

/** The size of a part before it is compressed, bytes: few entries, and little memory for the parts that are in work. */
export const PART_BYTES = 4 * 1024 * 1024

// The names become SQL, quoted, and names of entries.
const tableName = z.string().regex(/^(training|musette)\.\w+$/)

/** What the first entry of an archive says about the rest. */
export const manifestSchema = z.object({
  format: z.literal(FORMAT),
  /** the version of musette that made it */
  musette: z.string(),
  /** the moment of the snapshot */
  made_at: z.iso.datetime(),
  /** which database it is of; undefined before databases had an identity */
  database: z.object({ identity: z.uuid(), line: z.uuid() }).optional(),
  /** the migrations of the database, each as the moment it was generated, ms since 1970 */
  migrations: z.array(z.int()).min(1),
  /** in an order in which they can be restored; the numbers of rows are those of the snapshot */
  tables: z.array(
    z.object({ name: tableName, columns: z.array(z.string()).min(1), rows: z.int().nonnegative() }),
  ),
  /** the next numbers of identity columns */
  sequences: z.array(
    z.object({ name: tableName, last_value: z.string().regex(/^-?\d{1,19}$/), is_called: z.boolean() }),
  ),
})

export type Manifest = z.output<typeof manifestSchema>

/** What a manifest of any layout says. */
export const anyManifestSchema = z.object({ format: z.int(), musette: z.string() })

/** Returns how many rows an archive holds. */
export function countManifestRows({ tables }: Pick<Manifest, 'tables'>): number {
  return tables.reduce((sum, { rows }) => sum + rows, 0)
}

/** Says for a person how much an archive holds. */
export function describeContent({ tables }: Pick<Manifest, 'tables'>): string {
  return `${tables.length} tables with ${formatCount(countManifestRows({ tables }))} rows`
}

/** Returns the name of a part of a table; parts count from 1. */
export function partName(table: string, part: number): string {
  return `${table}/${String(part).padStart(6, '0')}.copy.gz`
}

/** Makes an entry's line of the checksums. */
export function makeChecksum({ name, bytes }: { name: string; bytes: Uint8Array }): string {
  return `${createHash('sha256').update(bytes).digest('hex')}  ${name}\n`
}
