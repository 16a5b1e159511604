import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { syncAccount } from '../../../../src/program/app/sync-account.ts'
import { openRig, type Rig } from '../../mirror/rig.ts'
import { fetchTruth } from '../../mirror/truth.ts'
import { dayAfter, type Row } from './scene.ts'

type Known = ReturnType<typeof toKnown>

/** Reads the truth of an activity that started at `wallClock` where the rider was: what the views are about. */
function toKnown(
  { path, detail: { summary } }: Awaited<ReturnType<typeof fetchTruth>>[number],
  wallClock: string,
) {
  const deeper = (value: unknown, name: string) =>
    (value as Record<string, unknown> | null | undefined)?.[name]
  return {
    path,
    day: wallClock.slice(0, 10),
    type: String(summary.activity_type),
    number: (name: string) => {
      const value = name.split('.').reduce<unknown>(deeper, summary)
      return value === null || value === undefined ? null : Number(value)
    },
    text: (name: string) => (summary[name] ?? null) as string | null,
  }
}

/** Adds what is known; null when nothing is. */
function sum(values: ReadonlyArray<number | null>): number | null {
  const known = values.flatMap((value) => (value === null ? [] : [value]))
  return known.length === 0 ? null : known.reduce((total, value) => total + value, 0)
}

describe('in a mirrored history,', () => {
  let rig: Rig
  let rides: Known[]
  const sync = (full: boolean) => syncAccount(rig.app, { name: 'default', full, acceptRemovals: true })
  const learn = async () => {
    // How the rider's wall clock is found where the service tells only UTC is the subject of test/core/mirror/time-zones.
    const clocks =
      await rig.sql`select path, to_char(started_at_local, 'YYYY-MM-DD HH24:MI:SS') as clock from training.activities`
    const clockOf = new Map(clocks.map(({ path, clock }) => [String(path), String(clock)]))
    rides = (await fetchTruth(rig.sandboxUrl)).map((truth) => toKnown(truth, clockOf.get(truth.path) ?? ''))
  }

  beforeAll(async () => {
    rig = await openRig({ activities: 14, env: { MUSETTE_HISTORY_START: '2020-01-01' } })
    const add = (wish: Record<string, unknown>) => rig.steer('POST', 'activities', wish)
    await add({ started_at: '2024-06-30T23:30:00Z', zone: { style: 3, name: 'Asia/Tokyo' } })
    await add({ started_at: '2025-01-01T02:00:00Z', kind: 'sprints', zone: { style: 1, name: 'UTC-8' } })
    await add({ kind: 'race', activity_type: 'Running', late: true, summary: { medal: 3 } })
    await add({ kind: 'intervals', path: 'breakthrough', summary: { breakthrough: 1 } })
    await sync(false)
    await learn()
  })
  afterAll(() => rig?.close())

  it.each(Object.entries(CLAIMS))('%s', (_, claim) => claim(rig, rides))

  describe('when the service no longer lists a ride,', () => {
    beforeAll(async () => {
      const gone = rides.filter(({ type }, index) => type === 'Running' || index % 5 === 4)
      for (const { path } of gone) await rig.steer('DELETE', `activities/${path}`)
      await sync(true)
      const before = rides.length
      await learn()
      expect(rides.length).toBe(before - gone.length)
    })

    it.each(Object.entries(CLAIMS))('%s', (_, claim) => claim(rig, rides))
  })
})

/** What a view claims, held against the rides as the service knows them. */
type Claim = (rig: Rig, rides: readonly Known[]) => Promise<void>

const LOADS = { low_xss: 'xlss', high_xss: 'xhss', peak_xss: 'xpss', xss: 'xss' } as const

/** One claim a view, as a sentence. */
const CLAIMS: Record<string, Claim> = {
  'daily_load has every day from the first ride to today': async (rig, rides) => {
    const days = await rowsOf(rig, 'select * from training.daily_load order by day')
    const [today] = await rowsOf(rig, 'select day from training.today')
    const first = rides.map(({ day }) => day).sort()[0] ?? ''
    expect(days.map(({ day }) => day)).toEqual(days.map((_, index) => dayAfter(first, index)))
    expect(days.at(-1)?.day).toBe(today?.day)
    for (const row of days) {
      const ridden = rides.filter(({ day }) => day === row.day)
      expect(row).toMatchObject(cut({ activities: ridden.length, without_xss: 0, ...loadsOf(ridden, 0) }))
    }
  },

  'fitness_history has the signature after each ride': async (rig, rides) => {
    const expected = rides.map((ride) => ({
      path: ride.path,
      day: ride.day,
      ftp: ride.number('sig.ftp'),
      hie_kj: (ride.number('sig.atc') ?? Number.NaN) / 1_000,
      pp: ride.number('sig.pp'),
      ltp: ride.number('prev_sig.ltp'),
    }))
    expectSame(await byPath(rig, 'fitness_history', `source = 'activity'`), expected)
  },

  'form_history has the loads and the form after each ride': async (rig, rides) => {
    const expected = rides.map((ride) => {
      const [tl, rl] = ['tl', 'rl'].map((load) =>
        ['ftp', 'hie', 'pp'].map((part) => ride.number(`progression.${load}.${part}`)),
      )
      return {
        path: ride.path,
        day: ride.day,
        tl_total: sum(tl ?? []),
        rl_total: sum(rl ?? []),
        form: ride.number('progression.form'),
        training_status: ride.number('training_status'),
        freshness: ride.text('freshness'),
      }
    })
    expectSame(await byPath(rig, 'form_history'), expected)
  },

  'records has the rides with a medal or a breakthrough': async (rig, rides) => {
    const won = rides.filter(
      (ride) => (ride.number('medal') ?? 0) > 0 || (ride.number('breakthrough') ?? 0) > 0,
    )
    const expected = won.map((ride) => ({
      path: ride.path,
      day: ride.day,
      medal: ride.number('medal'),
      ftp_after: ride.number('sig.ftp'),
      ftp_change: (ride.number('sig.ftp') ?? Number.NaN) - (ride.number('prev_sig.ftp') ?? Number.NaN),
      pp_before: ride.number('prev_sig.pp'),
      atc_after: ride.number('sig.atc'),
    }))
    expect(expected).not.toEqual([])
    expectSame(await byPath(rig, 'records'), expected)
  },
}

function loadsOf(rides: readonly Known[], none: number | null) {
  const entries = Object.entries(LOADS).map(([name, field]) => [
    name,
    sum(rides.map((ride) => ride.number(field))) ?? none,
  ])
  return Object.fromEntries(entries)
}

const byPath = (rig: Rig, view: string, where = 'true') =>
  rowsOf(
    rig,
    `select path, v.* from training.${view} v join training.activities using (activity_id) where ${where}`,
  )

/** Rows as JSON has them: days and moments are texts. */
async function rowsOf(rig: Rig, text: string, values: unknown[] = []): Promise<Row[]> {
  return (await rig.rows(`select to_jsonb(v) as row from (${text}) v`, values)).map(({ row }) =>
    cut(row as Row),
  )
}

function expectSame(actual: readonly Row[], expected: readonly Row[]): void {
  const names = Object.keys(expected[0] ?? {})
  const picked = actual.map((row) => Object.fromEntries(names.map((name) => [name, row[name]])))
  expect(sorted(picked)).toEqual(sorted(expected.map(cut)))
}

function sorted(rows: readonly Row[]): Row[] {
  return [...rows].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
}

/** Cuts numbers to the digits that do not depend on the order of a sum. */
function cut(row: Row): Row {
  const entries = Object.entries(row).map(([key, value]) => [
    key,
    typeof value === 'number' ? Number(value.toPrecision(6)) : value,
  ])
  return Object.fromEntries(entries)
}
