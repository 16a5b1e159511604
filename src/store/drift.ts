import { sql } from 'drizzle-orm'
import { cleanJson, cleanText } from './clean.ts'
import { drift } from './schema/index.ts'
import type { Tx } from './store.ts'

/** One difference between an answer and the service's document. `example` is any JSON value; 200 characters are kept. */
export type DriftItem = { field: string; kind: string; example?: unknown }

const EXAMPLE_LIMIT = 200

/** Counts the differences seen in answers of `endpoint`, one row for each field and kind. */
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
  return [...known.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, counted]) => counted)
}

function distinct(items: readonly DriftItem[]): Map<string, DriftItem> {
  return new Map(
    items.map((item) => {
      const [field, kind] = [cleanText(item.field), cleanText(item.kind)]
      return [JSON.stringify([field, kind]), { ...item, field, kind }]
    }),
  )
}

function exampleText(example: unknown): string | null {
  if (example === undefined || example === null) return null
  const text = typeof example === 'string' ? example : JSON.stringify(cleanJson(example))
  return cleanText(text.slice(0, EXAMPLE_LIMIT))
}
