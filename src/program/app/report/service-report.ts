import { DEFAULT_MAX_BODY_BYTES } from '../../../core/service/http-message.ts'
import { findRawDocuments, unpackDocument } from '../../../core/store/activities/raw-documents.ts'
import { findToVerify } from '../../../core/store/activities/wanted.ts'
import { findDatabaseFacts } from '../../../core/store/database-facts.ts'
import { type DriftCount, findDriftCounts } from '../../../core/store/drift.ts'
import { findRunCounts, type RunCount } from '../../../core/store/runs.ts'
import { findStoredAnswers } from '../../../core/store/training/stored-answers.ts'
import { writeFlushed } from '../../../kit/files.ts'
import { VERSION } from '../../../kit/program-folder.ts'
import type { App } from '../app.ts'
import type { VerifyCounts } from '../sync-account.ts'
import { type FieldFacts, measureJson, reportableName } from './measure-json.ts'

/** Enough to see every field that a service sends, and few enough to be read in seconds. */
const ACTIVITIES = 50

/** What a maintainer needs to know of a live service, without a rider's data: no value, no name, no text, no address. */
export type ServiceReport = {
  versions: { musette: string; node: string; platform: string; postgres: string }
  /** of this run */
  comparison: VerifyCounts & { differing_fields: Record<string, number> }
  /** by endpoint of the service document and field; counted in the stored answers of `activities` activities */
  activities: number
  fields: Record<string, Record<string, FieldFacts>>
  drift: DriftCount[]
  /** runs of the last 90 days with their outcomes and durations */
  runs: RunCount[]
}

/** Finds facts about the service in the mirror, for a report, without a request. */
export async function findServiceReport(
  app: Pick<App, 'mirror'>,
  input: { accountId: number; comparison: ServiceReport['comparison'] },
): Promise<ServiceReport> {
  const { store } = app.mirror
  const { accountId, comparison } = input
  const found = await store.read(async (tx) => ({
    activities: await findToVerify(tx, { accountId, choice: { sample: ACTIVITIES } }),
    answers: await findStoredAnswers(tx, accountId),
    facts: await findDatabaseFacts(tx),
    drift: await findDriftCounts(tx),
    runs: await findRunCounts(tx, accountId),
  }))
  const facts = new Map<string, Map<string, FieldFacts>>()
  const measure = (endpoint: string, answer: unknown) => {
    const known = facts.get(endpoint) ?? new Map()
    facts.set(endpoint, known)
    measureJson(known, 'answer', answer)
  }
  for (const { endpoint, answer } of found.answers) measure(endpoint, answer)
  let activities = 0
  for (const { activityId } of found.activities) {
    // One at a time: an answer is several megabytes.
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
    activities,
    fields: Object.fromEntries(
      [...facts].map(([endpoint, fields]) => [endpoint, Object.fromEntries(fields)]),
    ),
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

/** Writes a report as JSON into a file for its owner alone. Throws the file system's errors. */
export async function writeServiceReport(path: string, report: ServiceReport): Promise<void> {
  await writeFlushed(path, `${JSON.stringify(report, undefined, 2)}\n`, 0o600)
}
