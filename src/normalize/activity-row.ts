import { createHash } from 'node:crypto'
import type { WireActivity, WireListEntry, WireSummary } from '../service/wire/wire-activity.ts'
import type { ActivityDetailRow, Place } from '../store/activities/detail-columns.ts'
import type { ListedActivity } from '../store/activities/upsert-listed.ts'
import type { Samples } from '../store/samples/encode-samples.ts'
import { normalizeDate } from './dates.ts'
import { normalizeLocalStart } from './local-start.ts'

const MS_A_SECOND = 1_000

/**
 * Normalizes an activity (service document, "Activity detail") to its row: one column for each field, null where a field is
 * missing, numbers as sent. `elapsedS` is computed: seconds from the first of the `samples` to the last. The wall clock is that of the zone
 * that was sent, or where that is plain UTC, of `place`.
 */
export function normalizeDetail(wire: WireActivity, samples: Samples, place: Place): ActivityDetailRow {
  const summary: Partial<WireSummary> = wire.summary ?? {}
  return {
    ...listed(wire, summary, { samples, place }),
    elapsedS: elapsedSeconds(samples),
    ...session(summary),
    ...scores(summary),
    ...signatures(summary),
    ...progression(summary),
    streetView: summary.street_view ?? null,
    activityMap: summary.activity_map ?? null,
    chartView: summary.chart_view ?? null,
  }
}

// The fields that the list has too: one that is missing here keeps the list's value.
function listed(
  wire: WireActivity,
  summary: Partial<WireSummary>,
  { samples, place }: { samples: Samples; place: Place },
) {
  // When clocks go back an hour comes twice; the first sample tells which one is meant.
  const start = normalizeDate(summary.start_date, samples.count > 0 ? samples.t[0] : undefined)
  return {
    ...(wire.name != null && { name: wire.name }),
    ...(wire.description !== undefined && { description: wire.description }),
    ...(summary.activity_type != null && { activityType: summary.activity_type }),
    ...(start && normalizeLocalStart(start, place)),
  }
}

/** Seconds from the first sample to the last; null without samples. */
export function elapsedSeconds({ count, t }: Samples): number | null {
  return count === 0 ? null : ((t[count - 1] as number) - (t[0] as number)) / MS_A_SECOND
}

function session(summary: Partial<WireSummary>) {
  return {
    maxPower: summary.session?.max_power ?? null,
    avgPower: summary.session?.avg_power ?? null,
    maxCadence: summary.session?.max_cadence ?? null,
    totalElevationGain: summary.session?.total_elevation_gain ?? null,
    totalCalories: summary.session?.total_calories ?? null,
  }
}

function scores(summary: Partial<WireSummary>) {
  return {
    xss: summary.xss ?? null,
    xlss: summary.xlss ?? null,
    xhss: summary.xhss ?? null,
    xpss: summary.xpss ?? null,
    xep: summary.xep ?? null,
    mep: summary.mep ?? null,
    tws: summary.tws ?? null,
    sp: summary.sp ?? null,
    sfd: summary.sfd ?? null,
    focus: summary.focus ?? null,
    specificity: summary.specificity ?? null,
    difficulty: summary.difficulty ?? null,
    difficultyRating: summary.difficulty_rating ?? null,
    distance: summary.distance ?? null,
    duration: summary.duration ?? null,
    medal: summary.medal ?? null,
    breakthrough: summary.breakthrough ?? null,
    totalGramsCarbs: summary.total_grams_carbs ?? null,
    totalGramsFat: summary.total_grams_fat ?? null,
  }
}

function signatures(summary: Partial<WireSummary>) {
  return {
    sigFtp: summary.sig?.ftp ?? null,
    sigAtc: summary.sig?.atc ?? null,
    sigPp: summary.sig?.pp ?? null,
    prevSigFtp: summary.prev_sig?.ftp ?? null,
    prevSigAtc: summary.prev_sig?.atc ?? null,
    prevSigPp: summary.prev_sig?.pp ?? null,
    prevSigLtp: summary.prev_sig?.ltp ?? null,
  }
}

function progression(summary: Partial<WireSummary>) {
  const { tl, rl, date, form } = summary.progression ?? {}
  return {
    progressionDate: date ?? null,
    tlFtp: tl?.ftp ?? null,
    tlHie: tl?.hie ?? null,
    tlPp: tl?.pp ?? null,
    rlFtp: rl?.ftp ?? null,
    rlHie: rl?.hie ?? null,
    rlPp: rl?.pp ?? null,
    form: form ?? null,
    trainingStatus: summary.training_status ?? null,
    freshness: summary.freshness ?? null,
  }
}

/** Normalizes an entry of the activity list (service document, "Activity list entry"); a date that cannot be read is null. */
export function normalizeListEntry(wire: WireListEntry): ListedActivity {
  const start = normalizeDate(wire.start_date)
  const none = { startedAt: null, timezone: null, startedAtLocal: null, timezoneSource: null }
  return {
    path: wire.path,
    name: wire.name ?? null,
    description: wire.description ?? null,
    activityType: wire.activity_type ?? null,
    ...(start ? normalizeLocalStart(start) : none),
  }
}

/**
 * Hashes an activity without its samples: name, description and the whole summary as sent (service document, "Activity
 * detail"). The order of keys does not matter, so that an answer with reordered keys is no edit.
 */
export function hashSummary(wire: Pick<WireActivity, 'name' | 'description' | 'summaryAsSent'>): string {
  // In a list JSON writes a missing value as null.
  const identity = [wire.name, wire.description, wire.summaryAsSent]
  return createHash('sha256').update(JSON.stringify(identity, sortKeys)).digest('hex')
}

function sortKeys(_key: string, value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
