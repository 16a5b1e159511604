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
  const rows = countDistinct(answers).map(({ item, times }) => ({
    endpoint,
    field: cleanText(item.field),
    kind: cleanText(item.kind),
    example: exampleText(item.example),
    firstSeenAt: now,
    lastSeenAt: now,
    times,
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

// An answer counts once for each. A fixed order keeps two writers from locking each other out.
function countDistinct(
  answers: ReadonlyArray<readonly DriftItem[]>,
): Array<{ item: DriftItem; times: number }> {
  const known = new Map<string, { item: DriftItem; times: number }>()
  for (const items of answers) {
    const ofAnswer = new Map(
      items.map((item) => [JSON.stringify([cleanText(item.field), cleanText(item.kind)]), item]),
    )
    for (const [key, item] of ofAnswer) {
      const before = known.get(key)
      const told = exampleText(item.example) === null ? (before?.item ?? item) : item
      known.set(key, { item: told, times: (before?.times ?? 0) + 1 })
    }
  }
  return [...known.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, counted]) => counted)
}

function exampleText(example: unknown): string | null {
  if (example === undefined || example === null) return null
  const text = typeof example === 'string' ? example : JSON.stringify(cleanJson(example))
  return cleanText(text.slice(0, EXAMPLE_LIMIT))
}
