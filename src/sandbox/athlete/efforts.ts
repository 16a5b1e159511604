import { drawBetween, type Random } from './random.ts'
import type { Signature } from './signature.ts'

export type RideKind = 'recovery' | 'endurance' | 'tempo' | 'intervals' | 'sprints' | 'race'

/** A stretch of riding at one power; `targeted` when a trainer workout asks for it. */
export type Effort = { seconds: number; watts: number; targeted: boolean }

type Block = readonly [seconds: number, ofFtp: number]

/** The blocks a kind of ride repeats between warm-up and cool-down: seconds and share of Threshold Power. */
const REPEATED: Readonly<Record<Exclude<RideKind, 'sprints'>, (random: Random) => readonly Block[]>> = {
  recovery: (random) => [[drawBetween(random, 200, 400), drawBetween(random, 0.42, 0.58)]],
  endurance: (random) => [
    [drawBetween(random, 180, 600), drawBetween(random, 0.56, 0.76)],
    [drawBetween(random, 60, 180), drawBetween(random, 0.6, 0.98)],
  ],
  tempo: (random) => [
    [drawBetween(random, 600, 780), drawBetween(random, 0.84, 0.92)],
    [240, 0.55],
  ],
  intervals: (random) => [
    [drawBetween(random, 150, 240), drawBetween(random, 1.06, 1.16)],
    [drawBetween(random, 150, 210), 0.5],
  ],
  race: (random) => [[drawBetween(random, 15, 90), drawBetween(random, 0.5, 1.35)]],
}

/** Plans a ride of `seconds`: warm-up, blocks of its kind, cool-down. Every second is covered. */
export function planEfforts(
  ride: { kind: RideKind; seconds: number; signature: Signature; targeted: boolean },
  random: Random,
): Effort[] {
  const { signature, seconds, targeted } = ride
  const warmUp = Math.min(600, Math.round(seconds / 5))
  const coolDown = Math.min(300, Math.round(seconds / 8))
  const efforts: Effort[] = [
    { seconds: Math.ceil(warmUp / 2), watts: 0.48 * signature.ftp, targeted },
    { seconds: Math.floor(warmUp / 2), watts: 0.6 * signature.ftp, targeted },
  ]
  let left = seconds - warmUp - coolDown
  while (left > 0) {
    for (const block of blocksOf(ride.kind, signature, random)) {
      const length = Math.min(left, Math.max(1, Math.round(block[0])))
      if (length <= 0) break
      efforts.push({ seconds: length, watts: Math.round(block[1] * signature.ftp), targeted })
      left -= length
    }
  }
  efforts.push({ seconds: coolDown, watts: 0.45 * signature.ftp, targeted })
  return efforts
}

function blocksOf(kind: RideKind, signature: Signature, random: Random): readonly Block[] {
  if (kind !== 'sprints') return REPEATED[kind](random)
  const sprint = (signature.pp / signature.ftp) * drawBetween(random, 0.75, 0.95)
  return [
    [drawBetween(random, 8, 15), sprint],
    [drawBetween(random, 180, 300), 0.55],
  ]
}
