import { DEFAULT_MAX_BODY_BYTES } from '../../core/service/http-message.ts'
import { findRawDocuments, unpackDocument } from '../../core/store/activities/raw-documents.ts'
import { findToVerify } from '../../core/store/activities/wanted.ts'
import { findDatabaseFacts } from '../../core/store/database-facts.ts'
import { findDriftCounts } from '../../core/store/drift.ts'
import { findRunCounts } from '../../core/store/runs.ts'
import { findStoredAnswers } from '../../core/store/training-info-rows.ts'
import { VERSION } from '../../kit/program-folder.ts'
import type { App } from './app.ts'
import type { VerifyCounts } from './sync-account.ts'

/** The number of activities to look at: enough to see every field that a service sends, and few enough to read in seconds. */
const ACTIVITIES = 50

/**
 * Finds in the mirror what a maintainer needs to know about a live service, without a request and without a rider's data: no values, names,
 * texts or addresses. `comparison` is the result of this verification; the runs are those of the last 90 days.
 */
export async function findServiceReport(
  app: Pick<App, 'mirror'>,
  input: { accountId: number; comparison: VerifyCounts & { differing_fields: Record<string, number> } },
) {
  const { store } = app.mirror
  const { accountId, comparison } = input
  const found = await store.read(async (tx) => ({
    activities: await findToVerify(tx, { accountId, choice: { sample: ACTIVITIES } }),
    answers: await findStoredAnswers(tx, accountId),
    facts: await findDatabaseFacts(tx),
    drift: await findDriftCounts(tx),
    runs: await findRunCounts(tx, accountId),
  }))
  const fields: Record<string, Record<string, FieldFacts>> = {}
  const measure = (endpoint: string, answer: unknown) => {
    fields[endpoint] ??= {}
    measureJson(fields[endpoint], 'answer', answer)
  }
  for (const { endpoint, answer } of found.answers) measure(endpoint, answer)
  let activities = 0
  for (const { activityId } of found.activities) {
    // One at a time, because an answer has several megabytes.
    const documents = await store.read((tx) => findRawDocuments(tx, [activityId]))
    const document = documents.get(activityId)
    if (!document) continue
    const body = await unpackDocument(document, DEFAULT_MAX_BODY_BYTES)
    measure('activity/<id>', JSON.parse(body.toString('utf8')))
    activities++
  }
  return {
    versions: {
      ...{ musette: VERSION, node: process.version, platform: `${process.platform} ${process.arch}` },
      postgres: found.facts.version,
    },
    comparison: { ...comparison, differing_fields: reportable(comparison.differing_fields) },
    /** by endpoint of the service document and by field; counted in the stored answers of `activities` activities */
    ...{ activities, fields },
    drift: found.drift,
    runs: found.runs,
  }
}

function reportable(counts: Readonly<Record<string, number>>): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const [field, count] of Object.entries(counts)) {
    const name = field.split('.').map(reportableName).join('.')
    sums[name] = (sums[name] ?? 0) + count
  }
  return sums
}

/** Facts about a field: how often it had each kind of value, and the orders of magnitude of its numbers and lengths. */
type FieldFacts = {
  kinds: Record<string, number>
  /** the smallest and the largest power of ten of numbers other than 0: [1, 2] means 10 to 999 */
  numbers?: [least: number, greatest: number]
  /** the same for the lengths of texts and lists */
  lengths?: [least: number, greatest: number]
}

/** Names of this form are reported. Other field names may be data, such as dates or persons' names, and are counted as one. */
const PLAIN_NAME = /^[a-z][a-z_]{0,40}$/i
const OTHER_NAME = '(a name with other signs)'

/** Returns a field's name if it cannot be data, otherwise a name that stands for all others. */
function reportableName(name: string): string {
  return PLAIN_NAME.test(name) ? name : OTHER_NAME
}

/** The deepest nesting that is measured: no answer of the service is deeper. */
const MAX_DEPTH = 8

/** Counts a JSON value and everything in it into `facts`, by path (`session_data[].power`); keeps no values and no texts. */
function measureJson(facts: Record<string, FieldFacts>, path: string, value: unknown, depth = 0): void {
  facts[path] ??= { kinds: {} }
  const known = facts[path]
  const kind = kindOf(value)
  known.kinds[kind] = (known.kinds[kind] ?? 0) + 1
  if (typeof value === 'number' && value !== 0) known.numbers = widen(known.numbers, Math.abs(value))
  const length = typeof value === 'string' || Array.isArray(value) ? value.length : 0
  if (length > 0) known.lengths = widen(known.lengths, length)
  if (depth >= MAX_DEPTH) return
  if (Array.isArray(value)) for (const item of value) measureJson(facts, `${path}[]`, item, depth + 1)
  else if (value !== null && typeof value === 'object')
    for (const [name, member] of Object.entries(value))
      measureJson(facts, `${path}.${reportableName(name)}`, member, depth + 1)
}

function widen(range: [number, number] | undefined, value: number): [number, number] {
  const order = Math.floor(Math.log10(value))
  return range ? [Math.min(range[0], order), Math.max(range[1], order)] : [order, order]
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'list'
  if (typeof value === 'number') return Number.isInteger(value) ? 'whole number' : 'number'
  if (typeof value !== 'string') return typeof value
  if (value === '') return 'empty text'
  if (/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(value)) return 'text of a number'
  if (/^\d{4}-\d\d-\d\d/.test(value)) return 'text of a date'
  return /^https?:/.test(value) ? 'text of an address' : 'text'
}
