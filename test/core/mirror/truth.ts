import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import { queryOnce } from '../../kit/postgres.ts'
import { steer } from '../../kit/steer.ts'

type Truth = {
  path: string
  listed: boolean
  started_at: string
  detail: { name: string; summary: Record<string, unknown>; session_data: Record<string, unknown>[] }
}

const FIELDS = 'power mpa cad alt hr spd tgt lat lng dist tws xds p_raw'.split(' ')

/** Fetches everything that the sandbox knows of the rider's listed activities, with every sample. */
export async function fetchTruth(sandboxUrl: string, rider = 'rider'): Promise<Truth[]> {
  const paths = await findListed(sandboxUrl, rider)
  return Promise.all(paths.map((path) => fetchOne(sandboxUrl, path)))
}

/** Fetches the paths of the rider's listed activities from the sandbox. */
export async function findListed(sandboxUrl: string, rider: string): Promise<string[]> {
  type All = { activities: Array<{ path: string; rider: string; listed: boolean }> }
  const { activities } = await steer<All>(sandboxUrl, 'GET', 'activities')
  return activities.filter((activity) => activity.listed && activity.rider === rider).map(({ path }) => path)
}

const fetchOne = (sandboxUrl: string, path: string) => steer<Truth>(sandboxUrl, 'GET', `activities/${path}`)

/**
 * Asserts that the database holds exactly what the service has: the activities, every sample, every number of the summary. The fast checks
 * come first, because many tests poll this function.
 */
export async function expectMirrored(input: { sandboxUrl: string; databaseUrl: string }): Promise<void> {
  const paths = await findListed(input.sandboxUrl, 'rider')
  const rows = await queryOnce(
    input.databaseUrl,
    `select activity_id, path, name, started_at, xss, sig_ftp, detail_state, sample_count, summary
     from training.activities where absent_since is null`,
  )
  expect(rows.map((row) => row.path).sort()).toEqual(paths.sort())
  for (const row of rows) expect(row.detail_state).toBe('mirrored')
  const byPath = new Map(rows.map((row) => [row.path, row]))
  for (const path of paths) {
    const row = byPath.get(path)
    const { detail, started_at: startedAt } = await fetchOne(input.sandboxUrl, path)
    const { name, summary, session_data: sent } = detail
    expect(row).toMatchObject({ name, sample_count: sent.length })
    expect(row?.started_at).toEqual(new Date(startedAt))
    expect(row?.xss).toBe(Number(summary.xss))
    expect(Object.keys(row?.summary as object)).toEqual(expect.arrayContaining(Object.keys(summary)))
    const samples = await queryOnce(
      input.databaseUrl,
      'select * from training.samples where activity_id = $1 order by t',
      [row?.activity_id],
    )
    const [mirrored, wanted] = [samples.map(fromTable), sent.map(fromWire)]
    // vitest's comparison explains a difference but takes a hundred times as long.
    if (!isDeepStrictEqual(mirrored, wanted)) expect(mirrored).toEqual(wanted)
  }
}

// All columns but the position are `real`, so both sides are compared as the nearest `real` number.
function comparable(field: string, value: unknown): number | null {
  if (value === null || value === undefined) return null
  return field === 'lat' || field === 'lng' ? Number(value) : Math.fround(Number(value))
}

function fromTable(row: Record<string, unknown>): unknown[] {
  return [(row.t as Date).getTime(), ...FIELDS.map((field) => comparable(field, row[field]))]
}

function fromWire(sample: Record<string, unknown>): unknown[] {
  return [Number(sample.unix_time), ...FIELDS.map((field) => comparable(field, sample[field]))]
}
