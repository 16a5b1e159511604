import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { expectedColumns } from './columns.ts'
import { expectedCurve, isSameCurve } from './curve.ts'
import type { ActivityRow, Tables } from './rows.ts'
import { isAsSent, isSame } from './same.ts'
import { expectedExtras, sampleFromTable, sampleFromWire } from './samples.ts'
import type { Truth } from './service.ts'

/** Compares one activity's rows in every table with what the service has of it. */
export function findActivityDifferences(truth: Truth, row: ActivityRow, tables: Tables): string[] {
  const found: string[] = []
  const differ = (what: string, is: unknown, should: unknown) => {
    if (!isSame(is, should)) found.push(`${truth.path}: ${what} is ${short(is)} and not ${short(should)}`)
  }
  if (!truth.listed) {
    if (row.absent_since === null) found.push(`${truth.path}: is gone at the service and not absent here`)
    return found
  }
  const { summary, session_data: sent } = truth.detail
  differ('absent_since', row.absent_since, null)
  differ('detail_state', row.detail_state, 'mirrored')
  differ('next_fetch_at', row.next_fetch_at, null)
  differ('fetch_error', row.fetch_error, null)
  differ('fetch_attempts', row.fetch_attempts, 0)
  differ('sample_count', row.sample_count, sent.length)
  if (!isAsSent(row.summary, summary)) found.push(`${truth.path}: summary is ${short(row.summary)}`)
  for (const [column, should] of Object.entries(expectedColumns(truth))) differ(column, row[column], should)

  const id = row.activity_id
  const samples = tables.samples.get(id) ?? []
  differ('the number of samples', samples.length, sent.length)
  const wrong = samples.findIndex(
    (sample, index) => !isSame(sampleFromTable(sample), sampleFromWire(sent[index] ?? {})),
  )
  if (wrong >= 0)
    differ(`sample ${wrong}`, sampleFromTable(samples[wrong] ?? {}), sampleFromWire(sent[wrong] ?? {}))
  const curve = (tables.curves.get(id) ?? []).map(({ duration_s, watts }) => [duration_s, watts] as const)
  if (!isSameCurve(curve, expectedCurve(sent))) differ('the power curve', curve, expectedCurve(sent))
  const extras = (tables.extras.get(id) ?? []).map(({ field, values, others }) => [
    field,
    values.map((value, index) => others?.[index + 1] ?? value),
  ])
  differ('sample_extras', Object.fromEntries(extras), expectedExtras(sent))
  return [...found, ...findDocumentDifferences(truth, id, tables)]
}

function findDocumentDifferences(truth: Truth, id: number, tables: Tables): string[] {
  const [document, ...more] = tables.documents.get(id) ?? []
  if (!document || more.length > 0) return [`${truth.path}: ${document ? 'several' : 'no'} raw documents`]
  const body = gunzipSync(document.body)
  const sha256 = createHash('sha256').update(body).digest('hex')
  if (sha256 !== document.sha256) return [`${truth.path}: the raw document is not that of its sha256`]
  const kept: unknown = JSON.parse(body.toString('utf8'))
  return isSame(kept, truth.detail)
    ? []
    : [`${truth.path}: the raw document is not the service's last answer`]
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 160 ? `${text.slice(0, 159)}…` : text
}
