import { createHash } from 'node:crypto'
import { FLOAT4_LIMIT, fitsTimestamp, isPosition, parseDecimal } from '../../kit/floats.ts'
import { SECOND } from '../../kit/time.ts'
import { DETAIL_FIELDS, LISTED_FIELDS } from '../fields/activity-fields.ts'
import { makeRow } from '../fields/field.ts'
import { SAMPLE_VALUE_FIELDS, type SampleField } from '../fields/sample-fields.ts'
import type { Drift, WithDrift } from '../service/wire/lenient.ts'
import type {
  WireActivity,
  WireListEntry,
  WireSampleField,
  WireSamples,
} from '../service/wire/wire-activity.ts'
import type { ActivityDetailRow, DerivedDetail, Place } from '../store/activities/activity-changes.ts'
import type { ListedActivity } from '../store/activities/upsert-listed.ts'
import type { PowerBest, PowerCurve } from '../store/samples/content.ts'
import type { SampleExtra, Samples } from '../store/samples/encode-samples.ts'
import {
  addUp,
  bestSum,
  MAX_ACTIVITY_S,
  makeRecorded,
  measureSampleSpacing,
  normalizeIntensity,
  powerSourceOf,
  type Recorded,
  spreadOverSeconds,
} from './by-second.ts'
import { driftOfDate, normalizeDate, normalizeLocalStart } from './local-start.ts'
import { normalizeMeasures } from './measures.ts'
import { normalizeTrack } from './track.ts'

const NO_SAMPLES: WireSamples = { count: 0, fields: new Map() }
/** A longer gap between samples splits a recording into runs, ms: no ride pauses for more than a day. */
const MAX_PAUSE_MS = 24 * 3_600_000
/**
 * The main run is the whole ride if the duration of the service is at most this many times as long: runs include pauses, so they are rarely
 * shorter than two thirds of that duration.
 */
const MAX_OF_RUN = 1.5

/** Normalizes a response (endpoint 8) and derives values from its samples. `lost` counts values that no column can hold. */
export function normalizeActivity(wire: WireActivity & WithDrift) {
  const { samples, extras, drift, lost } = normalizeSamples(wire.session_data ?? NO_SAMPLES)
  const { main, ...content } = deriveContent(samples, {
    ftp: wire.sigFtp ?? null,
    durationS: wire.duration ?? null,
  })
  const derived: DerivedDetail = {
    row: normalizeDetail(wire, main, content.place),
    summary: wire.summaryAsSent ?? null,
    summaryHash: hashSummary(wire),
    samples,
    sampleExtras: extras,
    ...content,
  }
  return { derived, drift: [...wire.drift, ...driftOfDate('summary.start_date', wire), ...drift], lost }
}

/** Derives values from the samples of an activity. `ftp`: threshold power, W; `durationS`: as sent; null if unknown. */
export function deriveContent(
  samples: Samples,
  { ftp, durationS }: { ftp: number | null; durationS: number | null },
) {
  const { main, strays } = normalizeMainRun(samples, durationS)
  const spacing = measureSampleSpacing(main)
  const recorded = makeRecorded(main, spacing)
  return {
    main,
    run:
      main.count === 0
        ? { straySamples: null, recordedFrom: null }
        : { straySamples: strays, recordedFrom: new Date(Math.floor(main.t[0] as number)) },
    place: normalizePlace(main),
    powerCurve: normalizePowerCurve(main, recorded),
    intensity: normalizeIntensity(main, ftp, spacing),
    measures: normalizeMeasures(main, ftp, recorded),
    track: normalizeTrack(main),
  }
}

/**
 * Returns the main run of samples in order of time, and the number of samples outside it (strays). A gap of more than a day starts a new
 * run. The main run has the most samples; of equally long runs it is the last one, because clocks are corrected over time. If everything
 * spans at most 7 days and the `duration` of the service, s, does not match the main run alone, all samples are one run.
 */
function normalizeMainRun(samples: Samples, durationS: number | null) {
  const { count, t } = samples
  let [from, end, begin] = [0, 0, 0]
  for (let index = 1; index <= count; index++) {
    if (index < count && (t[index] as number) - (t[index - 1] as number) <= MAX_PAUSE_MS) continue
    if (index - begin >= end - from) [from, end] = [begin, index]
    begin = index
  }
  const spanS = (first: number, last: number) => ((t[last] as number) - (t[first] as number)) / 1_000
  if (end - from === count) return { main: samples, strays: 0 }
  const isWhole = durationS !== null && durationS <= MAX_OF_RUN * spanS(from, end - 1)
  if (!isWhole && spanS(0, count - 1) <= MAX_ACTIVITY_S) return { main: samples, strays: 0 }
  const columns = Object.fromEntries(
    Object.entries(samples.columns).map(([field, values]) => [field, values.subarray(from, end)]),
  ) as Record<SampleField, Float64Array>
  return { main: { count: end - from, t: t.subarray(from, end), columns }, strays: count - (end - from) }
}

/**
 * Finds the start position and the bounding box of an activity, degrees, from samples in order of time; all null without a position. A ride
 * across the 180th meridian gets a box around the whole earth.
 */
export function normalizePlace({ count, columns: { lat, lng } }: Samples): Place {
  let first = -1
  let [south, north, west, east] = [90, -90, 180, -180]
  for (let index = 0; index < count; index++) {
    const [y, x] = [lat[index] as number, lng[index] as number]
    if (!isPosition(y, x)) continue
    if (first < 0) first = index
    if (y < south) south = y
    if (y > north) north = y
    if (x < west) west = x
    if (x > east) east = x
  }
  if (first < 0) return { startLat: null, startLng: null, south: null, north: null, west: null, east: null }
  return { startLat: lat[first] as number, startLng: lng[first] as number, south, north, west, east }
}

type NoteDrift = (field: string, kind: Drift['kind'], example: unknown) => void

const TIME = 'unix_time'
const FIELDS = Object.keys(SAMPLE_VALUE_FIELDS) as SampleField[]
const KNOWN = new Set<string>([TIME, ...FIELDS])
/** Maximum length of a field name: `sample_extras` has an index on names, and an index row holds 2,704 bytes. */
const MAX_NAME_BYTES = 1_000

/**
 * Normalizes `session_data` (service document, "session_data entry fields") to one typed array per field, in order of time. `unix_time` is
 * in ms. Missing, unreadable and infinite numbers, and numbers that their column cannot hold, become NaN. Leaves out samples without a
 * readable time. Drift names each such field once, and each field without a column. Arrays that need no change are shared with `wire`.
 * `lost` counts numbers out of range, values of fields with too long a name, and samples without a time.
 */
export function normalizeSamples(wire: WireSamples) {
  const drift = new Map<string, Drift>()
  const note: NoteDrift = (field, kind, example) => {
    const key = `${kind} ${field}`
    // JSON cannot express infinity.
    const shown = typeof example === 'number' && !Number.isFinite(example) ? String(example) : example
    if (!drift.has(key)) drift.set(key, { field: `session_data.${field}`, kind, example: shown })
  }
  const lost = { values: 0, samples: 0 }
  const unknown = new Float64Array(wire.count).fill(Number.NaN)
  const numbers = (field: SampleField) => {
    const sent = numbersOf(wire.fields.get(field), field, note)
    if (!sent) return unknown
    const limit = SAMPLE_VALUE_FIELDS[field].kind === 'real' ? FLOAT4_LIMIT : Number.POSITIVE_INFINITY
    return withinRange(sent, wire.count, limit, (value) => {
      lost.values++
      note(field, 'range', value)
    })
  }
  const times = numbersOf(wire.fields.get(TIME), TIME, note) ?? unknown
  const order = orderByTime(wire, times, note)
  const count = order?.length ?? wire.count
  lost.samples = wire.count - count
  const inOrder = (values: Float64Array) =>
    order ? Float64Array.from(order, (at) => values[at] as number) : values
  const columns = Object.fromEntries(FIELDS.map((field) => [field, inOrder(numbers(field))])) as Record<
    SampleField,
    Float64Array
  >
  const extras: SampleExtra[] = []
  for (const [field, values] of wire.fields) {
    if (KNOWN.has(field)) continue
    if (Buffer.byteLength(field) > MAX_NAME_BYTES) {
      lost.values += count
      note(field, 'range', null)
      continue
    }
    const sent = withinRange(inOrder(values.numbers), count, Number.POSITIVE_INFINITY, (value) => {
      lost.values++
      note(field, 'range', value)
    })
    const others = order ? movedTo(order, values.others) : values.others
    if (count > 0) extras.push({ field, count, values: sent, others })
    note(field, 'unknown', firstOf(sent, others))
  }
  const samples: Samples = { count, t: inOrder(times), columns }
  return { samples, extras, drift: [...drift.values()], lost }
}

/** Reads the numbers of a field; numeric text counts as a number. Any other value is drift, except for times, which `orderByTime` checks. */
function numbersOf(field: WireSampleField | undefined, name: string, note: NoteDrift) {
  if (!field || field.others.size === 0) return field?.numbers
  const numbers = field.numbers.slice()
  for (const [index, value] of field.others) {
    const number = typeof value === 'string' ? parseDecimal(value.trim()) : Number.NaN
    if (Number.isNaN(number) && name !== TIME) note(name, 'type', value)
    numbers[index] = number
  }
  return numbers
}

/** Replaces each of the first `count` numbers that reaches the limit by NaN, and calls `onMisfit` with it. */
function withinRange(numbers: Float64Array, count: number, limit: number, onMisfit: (value: number) => void) {
  let kept = numbers
  for (let index = 0; index < count; index++) {
    const value = numbers[index] as number
    if (Math.abs(value) < limit || Number.isNaN(value)) continue
    if (kept === numbers) kept = numbers.slice()
    kept[index] = Number.NaN
    onMisfit(value)
  }
  return kept
}

/** Returns the indexes of samples with a readable time, sorted by time; undefined if all samples have one and are in order. */
function orderByTime(wire: WireSamples, times: Float64Array, note: NoteDrift): number[] | undefined {
  let previous = Number.NEGATIVE_INFINITY
  let at = 0
  for (; at < wire.count; at++) {
    const time = times[at] as number
    if (!(time >= previous && fitsTimestamp(time))) break
    previous = time
  }
  if (at === wire.count) return undefined
  const order: number[] = []
  for (let index = 0; index < wire.count; index++) {
    if (fitsTimestamp(times[index] as number)) order.push(index)
    else note(TIME, 'type', sentAt(wire.fields.get(TIME), index) ?? null)
  }
  return order.sort((a, b) => (times[a] as number) - (times[b] as number) || a - b)
}

/** Moves values from their sample index to their index in order of time. */
function movedTo(order: readonly number[], others: ReadonlyMap<number, unknown>): Map<number, unknown> {
  if (others.size === 0) return new Map()
  return new Map(order.flatMap((at, place) => (others.has(at) ? [[place, others.get(at)] as const] : [])))
}

function firstOf(numbers: Float64Array, others: ReadonlyMap<number, unknown>): unknown {
  const at = numbers.findIndex((number, index) => !Number.isNaN(others.get(index) ?? number))
  return others.get(at) ?? numbers[at] ?? null
}

function sentAt(field: WireSampleField | undefined, index: number): unknown {
  const number = field?.numbers[index]
  return number === undefined || Number.isNaN(number) ? field?.others.get(index) : number
}

/** Durations of the power curve, about 60: every second at first, then growing steps. */
const DURATIONS_S: readonly number[] = [
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 18, 20, 25, 30, 35, 40, 45, 50, 60, 75, 90, 105, 120, 150, 180],
  ...[210, 240, 270, 300, 360, 420, 480, 540, 600, 720, 840, 900, 1_080, 1_200, 1_500, 1_800, 2_100, 2_400],
  ...[2_700, 3_000, 3_600, 4_500, 5_400, 6_300, 7_200, 9_000, 10_800, 12_600, 14_400, 18_000, 21_600, 25_200],
  ...[28_800, 36_000, 43_200],
]

/**
 * Computes the exact best mean power for each duration up to the length of the activity, by prefix sums on a one-second grid. A sample
 * fills the seconds that it lasts, gaps count as 0 W, and the last of several samples in one second counts even without power. Samples are
 * in order of time. `source`: `p_raw` (power of each second) if the activity has it, otherwise `power`. Undefined without power.
 */
export function normalizePowerCurve(
  samples: Samples,
  recorded: Recorded = makeRecorded(samples),
): PowerCurve | undefined {
  const source = powerSourceOf(samples)
  const watts = spreadOverSeconds(recorded.power, recorded)
  if (!watts) return undefined
  const sums = addUp(watts)
  const points: PowerBest[] = []
  let best = 0
  for (const durationS of [...DURATIONS_S.filter((duration) => duration < watts.length), watts.length]) {
    // If no power is negative, a longer duration has at least the sum of a shorter one.
    best = bestSum(sums, { durationS, least: best })
    points.push({ durationS, watts: best / durationS })
  }
  return { source, points }
}

/**
 * Normalizes an activity (service document, "Activity detail") to its row: one column per field, numbers as sent, null if missing.
 * `elapsedS`: seconds from the first to the last of the `samples`. The local time is in the zone that was sent, or, if that is plain UTC,
 * in the zone of `place`.
 */
export function normalizeDetail(wire: WireActivity, samples: Samples, place: Place): ActivityDetailRow {
  // An hour occurs twice when clocks go back. The first sample decides which of the two hours is meant.
  const start = normalizeDate(wire, samples.count > 0 ? samples.t[0] : undefined)
  return {
    ...makeRow(DETAIL_FIELDS, wire),
    elapsedS: elapsedSeconds(samples),
    // If a field that the list also has is missing here, the row keeps the value of the list.
    ...(wire.name != null && { name: wire.name }),
    ...(wire.description !== undefined && { description: wire.description }),
    ...(wire.activityType != null && { activityType: wire.activityType }),
    ...(start && normalizeLocalStart(start, place)),
  }
}

/** Returns the seconds from the first to the last sample; null without samples. */
export function elapsedSeconds({ count, t }: Samples): number | null {
  return count === 0 ? null : ((t[count - 1] as number) - (t[0] as number)) / SECOND
}

/** Normalizes an entry of the activity list (service document, "Activity list entry"). A date that cannot be read becomes null. */
export function normalizeListEntry(wire: WireListEntry): ListedActivity {
  const start = normalizeDate(wire)
  const none = { startedAt: null, timezone: null, startedAtLocal: null, timezoneSource: null }
  return {
    path: wire.path,
    ...makeRow(LISTED_FIELDS, wire),
    ...{ sigManual: wire.sigManual ?? null, sigError: wire.sigError ?? null },
    ...(start ? normalizeLocalStart(start) : none),
  }
}

/**
 * Hashes an activity without its samples: name, description and the whole summary as sent (service document, "Activity detail"). Keys are
 * sorted, so reordered keys are not an edit.
 */
export function hashSummary(wire: Pick<WireActivity, 'name' | 'description' | 'summaryAsSent'>): string {
  // JSON writes a missing value in a list as null.
  const identity = [wire.name, wire.description, wire.summaryAsSent]
  return createHash('sha256').update(JSON.stringify(identity, sortKeys)).digest('hex')
}

function sortKeys(_key: string, value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
