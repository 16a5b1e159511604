import { sql } from 'drizzle-orm'
import { cleanJson, cleanText } from './clean.ts'
import { drift } from './schema/index.ts'
import type { Tx } from './store.ts'

/** One difference between an answer and the service's document. `example` is any JSON value; 200 characters are kept. */
export type DriftItem = { field: string; kind: string; example?: unknown }

const EXAMPLE_LIMIT = 200

/** Counts the differences seen in an answer of `endpoint`, one row for each field and kind. */
export async function recordDrift(tx: Tx, endpoint: string, items: readonly DriftItem[]): Promise<void> {
  const now = sql`clock_timestamp()`
  const rows = distinct(items).map((item) => ({
    endpoint,
    field: cleanText(item.field),
    kind: cleanText(item.kind),
    example: exampleText(item.example),
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
        times: sql`${drift.times} + 1`,
      },
    })
}

// One statement may not touch a row twice; a fixed order keeps two writers from locking each other out.
function distinct(items: readonly DriftItem[]): DriftItem[] {
  const known = new Map(
    items.map((item) => [JSON.stringify([cleanText(item.field), cleanText(item.kind)]), item]),
  )
  return [...known.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item)
}

function exampleText(example: unknown): string | null {
  if (example === undefined || example === null) return null
  const text = typeof example === 'string' ? example : JSON.stringify(cleanJson(example))
  return cleanText(text.slice(0, EXAMPLE_LIMIT))
}
