import { DAY } from '../../kit/time.ts'

/** A load in its three parts. */
export type Load = { low: number; high: number; peak: number }

/** Where a rider stands at one moment: slow training load, quick recovery load. */
export type Standing = { tl: Load; rl: Load }

const TRAINING_DAYS = { low: 42, high: 20, peak: 12 }
const RECOVERY_DAYS = { low: 7, high: 9, peak: 6 }
const PARTS = ['low', 'high', 'peak'] as const

/** Makes the standing of a rider who has trained like this for a long time; loads in XSS a day. */
export function makeStanding(daily: Load): Standing {
  return { tl: { ...daily }, rl: { ...daily } }
}

/** Lets `ms` pass without training. */
export function rest(standing: Standing, ms: number): Standing {
  const days = Math.max(0, ms) / DAY
  return { tl: decay(standing.tl, TRAINING_DAYS, days), rl: decay(standing.rl, RECOVERY_DAYS, days) }
}

/** Adds one activity's load. */
export function train(standing: Standing, load: Load): Standing {
  return { tl: add(standing.tl, load, TRAINING_DAYS), rl: add(standing.rl, load, RECOVERY_DAYS) }
}

/** The sum of the three parts. */
export function totalOf(load: Load): number {
  return load.low + load.high + load.peak
}

/** What is left of the training load when the recovery load is taken off; negative is tired. */
export function formOf(standing: Standing): number {
  return totalOf(standing.tl) - totalOf(standing.rl)
}

/** The service's word for how rested a rider is (Training info, `status`). */
export function freshnessOf(standing: Standing): string {
  const training = totalOf(standing.tl)
  const share = training > 0 ? formOf(standing) / training : 0
  if (training < 4) return 'Detraining'
  if (share > 0.35) return 'Very fresh'
  if (share > -0.1) return 'Fresh'
  return share > -0.6 ? 'Tired' : 'Very tired'
}

function decay(load: Load, days: Load, passed: number): Load {
  return mapLoad((part) => load[part] * Math.exp(-passed / days[part]))
}

function add(load: Load, more: Load, days: Load): Load {
  return mapLoad((part) => load[part] + more[part] * (1 - Math.exp(-1 / days[part])))
}

function mapLoad(value: (part: keyof Load) => number): Load {
  const [low, high, peak] = PARTS.map(value) as [number, number, number]
  return { low, high, peak }
}
