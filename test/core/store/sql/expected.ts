// What the views should say, computed in another way from what the service knows.

type Truth = {
  path: string
  started_at: string
  detail: { name: string; summary: Record<string, unknown>; session_data: Record<string, unknown>[] }
}

/** A ride as the service knows it, with what the views are about. */
export type Known = ReturnType<typeof toKnown>

/** Reads the truth of an activity that started at `wallClock` where the rider was. */
export function toKnown({ path, started_at, detail }: Truth, wallClock: string) {
  const { summary } = detail
  const source = detail.session_data.some((sample) => numberOf(sample.p_raw) !== null) ? 'p_raw' : 'power'
  const seconds = detail.session_data.map((sample) => ({
    unix: Math.floor(Number(sample.unix_time) / 1_000),
    power: numberOf(sample[source]),
    hr: numberOf(sample.hr),
    mpa: numberOf(sample.mpa),
  }))
  return {
    path,
    name: detail.name,
    startedAt: new Date(started_at),
    day: wallClock.slice(0, 10),
    week: mondayOf(wallClock.slice(0, 10)),
    month: wallClock.slice(0, 7),
    season: Number(wallClock.slice(0, 4)),
    type: String(summary.activity_type),
    sport: summary.activity_type === 'Running' ? 'running' : 'cycling',
    number: (name: string) => numberOf(name.split('.').reduce<unknown>(deeper, summary)),
    text: (name: string) => (summary[name] ?? null) as string | null,
    seconds,
  }
}

/** Counts the seconds of a ride, one sample at a time. */
export function intensityOf(ride: Known) {
  const ftp = ride.number('sig.ftp')
  const zones = [0, 0, 0, 0, 0, 0, 0]
  let nearMpa = 0
  let aboveFtp = 0
  for (const { power, mpa } of ride.seconds) {
    if (power === null || ftp === null) continue
    const share = power / ftp
    const zone = [0.55, 0.75, 0.9, 1.05, 1.2, 1.5].filter((start) => share >= start).length
    zones[zone] = (zones[zone] ?? 0) + 1
    if (power > ftp) aboveFtp++
    if (mpa !== null && power / mpa >= 0.9) nearMpa++
  }
  const beats = ride.seconds.flatMap(({ hr }) => (hr === null ? [] : [hr])).sort((a, b) => b - a)
  // The highest that ten seconds in a row have.
  const peaks = ride.seconds.flatMap(({ unix }, index) => {
    const ten = ride.seconds.slice(index, index + 10)
    const held = ten.flatMap(({ hr }) => (hr === null ? [] : [hr]))
    return held.length === 10 && ten[9]?.unix === unix + 9 ? [Math.min(...held)] : []
  })
  return { zones, nearMpa, aboveFtp, beats, hrPeak: peaks.length > 0 ? Math.max(...peaks) : null }
}

/** Counts the seconds of a ride in the five zones of a highest heart rate. */
export function heartZones(beats: readonly number[], hrMax: number | null): (number | null)[] {
  if (beats.length === 0 || hrMax === null) return [null, null, null, null, null]
  const zones = [0, 0, 0, 0, 0]
  for (const hr of beats) {
    const zone = [0.6, 0.7, 0.8, 0.9].filter((share) => hr >= hrMax * share).length
    zones[zone] = (zones[zone] ?? 0) + 1
  }
  return zones
}

/** The highest heart rate held in the month of a ride and the twelve before it. */
export function highestHeartRate(rides: readonly Known[], month: string): number | null {
  const from = `${Number(month.slice(0, 4)) - 1}${month.slice(4)}`
  const peaks = rides.flatMap((ride) => {
    const peak = ride.month >= from && ride.month <= month ? intensityOf(ride).hrPeak : null
    return peak === null ? [] : [Math.floor(peak)]
  })
  return peaks.length > 0 ? Math.max(...peaks) : null
}

/** The best mean power of a ride over some seconds, gaps as zero watts; null when it is shorter. */
export function bestPower(ride: Known, durationS: number): number | null {
  const bySecond = new Map(ride.seconds.map(({ unix, power }) => [unix, power ?? 0]))
  const first = Math.min(...bySecond.keys())
  const last = Math.max(...bySecond.keys())
  let best: number | null = null
  let sum = 0
  for (let second = first; second <= last; second++) {
    sum += (bySecond.get(second) ?? 0) - (bySecond.get(second - durationS) ?? 0)
    if (second - first + 1 >= durationS) best = Math.max(best ?? 0, sum / durationS)
  }
  return best
}

/** Seconds from the first sample to the last. */
export function wholeLength({ seconds }: Known): number | null {
  const [first, last] = [seconds[0], seconds.at(-1)]
  return first && last ? last.unix - first.unix : null
}

/** Groups by a key, in the order of the first of each. */
export function groupBy<T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item])
  return groups
}

/** Adds rows of numbers, name by name. */
export function sumRows(rows: readonly Record<string, number | null>[]): Record<string, number | null> {
  const names = Object.keys(rows[0] ?? {})
  return Object.fromEntries(names.map((name) => [name, sum(rows.map((row) => row[name] ?? null))]))
}

/** Adds what is known; null when nothing is. */
export function sum(values: readonly (number | null)[]): number | null {
  const known = values.flatMap((value) => (value === null ? [] : [value]))
  return known.length === 0 ? null : known.reduce((total, value) => total + value, 0)
}

/** The day some days after another, `YYYY-MM-DD`. */
export function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10)
}

/** The Monday of the week of a day. */
export function mondayOf(day: string): string {
  return dayAfter(day, -((new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7))
}

function deeper(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined
}

function numberOf(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value)
}
