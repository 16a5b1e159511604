import { sql } from 'drizzle-orm'
import { EXAMPLE_CHARACTERS, shorten } from '../../kit/text.ts'
import type { Drift } from '../service/wire/lenient.ts'
import { cleanJson, cleanText } from './clean.ts'
import { drift } from './schema/index.ts'
import type { Tx } from './store.ts'

/** Maximum length of a stored field name, which is part of the primary key: an index row holds 2,704 bytes. */
const MAX_FIELD_CHARACTERS = 200
/** Maximum rows per call, because a statement takes 65,535 parameters. Further differences become one row. */
const MAX_ROWS = 500
const FURTHER = '(further fields)'

/**
 * Counts the differences seen in answers of `endpoint`, one row for each field and kind. Cuts field names after 200 characters. If there are
 * more than 500 differences, one row `(further fields)` stands for the rest, and its example says the minimum number of further differences.
 */
export async function recordDrift(tx: Tx, endpoint: string, ...answers: ReadonlyArray<readonly Drift[]>) {
  const now = sql`clock_timestamp()`
  const rows = countDistinct(answers).map((counted) => ({
    endpoint,
    ...counted,
    firstSeenAt: now,
    lastSeenAt: now,
  }))
  if (rows.length === 0) return
  await tx.db
    .insert(drift)
    .values(rows)
    .onConflictDoUpdate({
      target: [drift.endpoint, drift.field, drift.kind],
      set: {
        lastSeenAt: sql`excluded.last_seen_at`,
        example: sql`coalesce(excluded.example, ${drift.example})`,
        times: sql`${drift.times} + excluded.times`,
      },
    })
}

/** Maximum number of stored differences. A service has more only if its field names are data, such as dates. */
const MAX_KEPT = 5_000

/** Deletes all but the `limit` (5,000) differences that were seen last. Returns the number of deleted differences. */
export async function pruneDrift(tx: Tx, limit = MAX_KEPT): Promise<number> {
  const text = `DELETE FROM training.drift WHERE (endpoint, field, kind) IN (
    SELECT endpoint, field, kind FROM training.drift ORDER BY last_seen_at DESC, endpoint, field, kind OFFSET $1)`
  return (await tx.client.query(text, [limit])).rowCount ?? 0
}

type Counted = { field: string; kind: string; example: string | null; times: number }

// Each answer counts once per field and kind. The fixed order of the rows prevents deadlocks between two writers.
function countDistinct(answers: ReadonlyArray<readonly Drift[]>): Counted[] {
  const known = new Map<string, Counted>()
  for (const items of answers) {
    const distinct = new Map(
      items.map((item) => {
        const field = cleanText(shorten(item.field, MAX_FIELD_CHARACTERS))
        return [JSON.stringify([field, item.kind]), { ...item, field }]
      }),
    )
    for (const [key, { example, ...rest }] of distinct) {
      const before = known.get(key)
      known.set(key, {
        ...rest,
        example: exampleText(example) ?? before?.example ?? null,
        times: (before?.times ?? 0) + 1,
      })
    }
  }
  const rows = [...known.entries()].slice(0, MAX_ROWS)
  const further = known.size - rows.length
  if (further > 0)
    rows.push([
      JSON.stringify([FURTHER, 'unknown']),
      { field: FURTHER, kind: 'unknown', example: `at least ${further} more`, times: 1 },
    ])
  return rows.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, counted]) => counted)
}

function exampleText(example: unknown): string | null {
  if (example === undefined || example === null) return null
  const text = typeof example === 'string' ? example : JSON.stringify(cleanJson(example))
  return cleanText(shorten(text, EXAMPLE_CHARACTERS))
}

/** How often an endpoint's answers differed from the service document in a field. Names that may be data count as one field. */
export type DriftCount = { endpoint: string; field: string; kind: string; times: number }

/** Counts the differences from the service document, without their examples. */
export async function findDriftCounts(tx: Tx): Promise<DriftCount[]> {
  const { rows } = await tx.client.query<DriftCount>(
    `select endpoint, case when field ~ '^[A-Za-z][A-Za-z_.]*$' then field else '(a name with other signs)' end as field, kind,
       sum(times)::float8 as times
     from training.drift group by 1, 2, 3 order by 1, 2, 3`,
  )
  return rows
}
