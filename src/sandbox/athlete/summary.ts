import type { Activity } from '../rider.ts'
import { formOf, freshnessOf, type Load, totalOf } from './fitness-model.ts'
import { drawOne, makeRandom } from './random.ts'
import type { Totals } from './score.ts'

/** A serialised PHP DateTime (a start_date object); `timezone_type` is 1, 2 or 3, see Zone. */
export type StartDate = { date: string; timezone_type: number; timezone: string }

export type Summary = Record<string, unknown>

/** The input of a summary in addition to the totals of the samples. */
type SummaryFacts = Activity & {
  startDate: StartDate
  indoor: boolean
  /** the day of the progression, YYYY-MM-DD */
  day: string
}

/** The values that recorded answers have without a breakthrough, with the weights by which the sandbox draws them. */
const NO_BREAKTHROUGH: ReadonlyArray<readonly [number | null, number]> = [
  [0, 86],
  [-1, 10],
  [null, 4],
]

/** Makes the summary of an activity (Activity detail, `summary`): `duration` in seconds, `distance` in km, `difficulty` as the greatest `xds` of the samples. */
export function makeSummary(facts: SummaryFacts, totals: Totals): Summary {
  const random = makeRandom(facts.seed, 'summary')
  const intensity = totals.normalPower / facts.signature.ftp
  const medal = facts.breakthrough ? 1 + Math.floor(random() * 3) : 0
  return {
    session: {
      max_power: totals.maxPower,
      avg_power: totals.avgPower,
      max_cadence: totals.maxCadence,
      total_elevation_gain: totals.climbM,
      total_calories: random() < 0.1 ? String(Math.round(totals.workKj)) : Math.round(totals.workKj),
      ...(random() < 0.8 ? { total_elapsed_time: totals.elapsedSeconds } : {}),
    },
    xss: totals.xss,
    xlss: totals.xlss,
    xhss: totals.xhss,
    xpss: totals.xpss,
    xep: totals.normalPower,
    mep: totals.bestFiveMinutes,
    tws: totals.xss,
    sp: facts.signature.ftp * (0.6 + 0.5 * Math.min(1, intensity)),
    sfd: 300 * (1 + totals.aboveKj / Math.max(1, totals.workKj)),
    focus: focusOf(totals),
    specificity: totals.xhss + totals.xpss > 0.12 * totals.xss ? 'Pure' : intensity > 0.8 ? 'Mixed' : 'Polar',
    difficulty: totals.hardest,
    difficulty_rating: ratingOf(totals.hardest),
    distance: totals.distanceKm,
    duration: totals.duration,
    sig: { ftp: facts.signature.ftp, atc: facts.signature.hie * 1_000, pp: facts.signature.pp },
    prev_sig: {
      ftp: facts.previous.ftp,
      atc: facts.previous.hie * 1_000,
      pp: facts.previous.pp,
      ltp: facts.previous.ltp,
    },
    medal,
    breakthrough: facts.breakthrough ? 1 : drawOne(makeRandom(facts.seed, 'none'), NO_BREAKTHROUGH),
    total_grams_carbs: totals.workKj * Math.min(0.24, 0.1 + 0.12 * intensity),
    total_grams_fat: totals.workKj * Math.max(0.01, 0.05 - 0.03 * intensity),
    progression: progressionOf(facts, totals),
    training_status: totalOf(facts.loads.tl) / 20,
    freshness: freshnessOf(facts.loads),
    power_source: facts.indoor ? 'trainer' : 'power_meter',
    ...thinSummary(facts),
    street_view: facts.indoor ? null : `https://images.example.com/street/${facts.path}.jpg`,
    activity_map: facts.indoor ? null : `https://images.example.com/map/${facts.path}.png`,
    chart_view: `https://images.example.com/chart/${facts.path}`,
  }
}

/** Makes the summary of an activity before its samples are scored. */
export function thinSummary(facts: Pick<SummaryFacts, 'activityType' | 'startDate'>): Summary {
  return { activity_type: facts.activityType, start_date: facts.startDate }
}

function progressionOf(facts: SummaryFacts, totals: Totals): Summary {
  const parts = (load: Load) => ({ ftp: load.low, hie: load.high, pp: load.peak })
  return {
    date: facts.day,
    tl: parts(facts.loads.tl),
    rl: parts(facts.loads.rl),
    form: formOf(facts.loads),
    xss: { ftp: totals.xlss, hie: totals.xhss, pp: totals.xpss },
    signature: { ftp: facts.signature.ftp, hie: facts.signature.hie, pp: facts.signature.pp },
  }
}

function focusOf(totals: Totals): string {
  const above = (totals.xhss + totals.xpss) / Math.max(1, totals.xss)
  if (above > 0.15) return 'Breakaway Specialist'
  if (above > 0.05) return 'GC Specialist'
  return above > 0.005 ? 'Climber' : 'Endurance'
}

function ratingOf(difficulty: number): string {
  if (difficulty < 50) return 'Easy'
  if (difficulty < 75) return 'Moderate'
  if (difficulty < 100) return 'Difficult'
  return difficulty < 130 ? 'Tough' : 'Hard'
}
