import { z } from 'zod'
import type { Field } from '../../../program/query/statement.ts'
import { type Query, valuesOf } from '../json-rows.ts'
import { makeAnswer, makeTool, text } from './tool.ts'

const ROWS = { usual: 200, most: 2_000 }

/** Finds the meanings of columns by table OID and column number: the first sentence of the comment, which has the unit. */
const MEANINGS = `
  select attrelid::bigint as "table", attnum as "column", substring(col_description(attrelid, attnum) from '^(?:Derived: )?[^.;:]*') as meaning
  from unnest($1::oid[], $2::int[]) as wanted (relation, number)
  join pg_attribute on attrelid = relation and attnum = number`

export const runQuery = makeTool({
  name: 'run_query',
  title: 'Run one SQL query',
  description:
    "One read-only statement on schema training. Read samples (one a second) by activity_id; write sum(x::float8), because sum of real is inexact. started_at_local has the day; current_date is the rider's (several zones: UTC). Skip rows with absent_since.",
  input: z.object({
    sql: z.string().min(1).max(50_000),
    max_rows: z.number().int().min(1).max(ROWS.most).default(ROWS.usual),
  }),
  output: {
    columns: z.array(z.object({ name: z.string(), meaning: text })),
    rows: z.array(z.array(z.unknown())),
    row_count: z.number().describe('number of rows returned'),
  },
  async run({ reader, query, signal }, { sql, max_rows: maxRows }) {
    const answer = await reader.read({ text: sql, maxRows, inRidersZone: true }, signal)
    const rows = valuesOf(answer)
    const meanings = await describeFields(query, answer.fields)
    return makeAnswer({
      data: {
        columns: answer.fields.map(({ name }, index) => ({ name, meaning: meanings[index] ?? null })),
        rows,
        row_count: rows.length,
      },
      list: 'rows',
      leftOut: answer.cut !== undefined,
      narrower:
        answer.cut === 'bytes'
          ? 'The result is too large: select fewer columns, substring() of long texts, or aggregates.'
          : 'Ask for aggregates (sum, avg, max by day or week), a shorter span, fewer columns, or add ORDER BY with LIMIT and OFFSET.',
    })
  },
})

async function describeFields(query: Query, fields: readonly Field[]): Promise<Array<string | null>> {
  const origins = fields.flatMap(({ origin }) => (origin ? [origin] : []))
  if (origins.length === 0) return []
  const rows = await query(MEANINGS, [
    origins.map((origin) => origin.table),
    origins.map((origin) => origin.column),
  ])
  const found = new Map(rows.map((row) => [`${row.table} ${row.column}`, row.meaning as string | null]))
  return fields.map(({ origin }) => (origin ? (found.get(`${origin.table} ${origin.column}`) ?? null) : null))
}
