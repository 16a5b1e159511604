import { sql } from 'drizzle-orm'
import { cleanJson, cleanText } from './clean.ts'
import { drift } from './schema/index.ts'
import type { Tx } from './store.ts'

/** One difference between an answer and the service's document. `example` is any JSON value; 200 characters are kept. */
export type DriftItem = { field: string; kind: string; example?: unknown }

const EXAMPLE_LIMIT = 200
/** The primary key holds the field's name, and a row of an index 2,704 bytes. */
const FIELD_LIMIT = 200
/** A statement takes 65,535 parameters; more differences than this are an answer of another kind, and counted in one row. */
const MOST_ROWS = 500
const FURTHER = '(further fields)'

/**
 * Counts the differences seen in answers of `endpoint`, one row for each field and kind. Names of fields are cut after 200
 * characters. Of more than 500 differences the rest is one row, `(further fields)`, which says how many they are at least.
 */
export async function recordDrift(
  tx: Tx,
  endpoint: string,
  ...answers: ReadonlyArray<readonly DriftItem[]>
): Promise<void> {
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

type Counted = { field: string; kind: string; example: string | null; times: number }

// An answer counts once for each. A fixed order keeps two writers from locking each other out.
function countDistinct(answers: ReadonlyArray<readonly DriftItem[]>): Counted[] {
  const known = new Map<string, Counted>()
  for (const items of answers) {
    for (const [key, { example, ...rest }] of distinct(items)) {
      const before = known.get(key)
      known.set(key, {
        ...rest,
        example: exampleText(example) ?? before?.example ?? null,
        times: (before?.times ?? 0) + 1,
      })
    }
  }
  const rows = [...known.entries()].slice(0, MOST_ROWS)
  const further = known.size - rows.length
  if (further > 0)
    rows.push([
      JSON.stringify([FURTHER, 'unknown']),
      { field: FURTHER, kind: 'unknown', example: `at least ${further} more`, times: 1 },
    ])
  return rows.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, counted]) => counted)
}

function distinct(items: readonly DriftItem[]): Map<string, DriftItem> {
  return new Map(
    items.map((item) => {
      const [field, kind] = [cleanText(shortenField(item.field)), cleanText(item.kind)]
      return [JSON.stringify([field, kind]), { ...item, field, kind }]
    }),
  )
}

function shortenField(field: string): string {
  return field.length > FIELD_LIMIT ? `${field.slice(0, FIELD_LIMIT - 1)}…` : field
}

function exampleText(example: unknown): string | null {
  if (example === undefined || example === null) return null
  const text = typeof example === 'string' ? example : JSON.stringify(cleanJson(example))
  return cleanText(text.slice(0, EXAMPLE_LIMIT))
}
