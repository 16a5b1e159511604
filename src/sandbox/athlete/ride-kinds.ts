import type { Load, Signature } from './fitness-model.ts'
import { drawBetween, drawEven, type Random } from './random.ts'

export type RideKind = 'recovery' | 'endurance' | 'tempo' | 'intervals' | 'sprints' | 'race'

/** A part of a ride: its seconds, and its power as a share of Threshold Power. */
type Block = readonly [seconds: number, ofFtp: number]

type Kind = {
  names: readonly string[]
  /** the expected load: intensity as a share of Threshold Power, and the shares of high and peak */
  load: readonly [intensity: number, high: number, peak: number]
  /** the blocks that are repeated between warm-up and cool-down */
  blocks: (random: Random, signature: Signature) => readonly Block[]
}

const KINDS: Readonly<Record<RideKind, Kind>> = {
  recovery: {
    names: ['Easy spin', 'Coffee ride ☕', 'Recovery', 'Tour de bakery'],
    load: [0.5, 0, 0],
    blocks: (random) => [[drawBetween(random, 200, 400), drawBetween(random, 0.42, 0.58)]],
  },
  endurance: {
    names: [
      'Morning Ride',
      'Long Saturday',
      'Lakeshore loop',
      'Vallée de la Garonne',
      'Größe Runde',
      '河川敷ライド',
    ],
    load: [0.67, 0, 0],
    blocks: (random) => [
      [drawBetween(random, 180, 600), drawBetween(random, 0.56, 0.76)],
      [drawBetween(random, 60, 180), drawBetween(random, 0.6, 0.98)],
    ],
  },
  tempo: {
    names: ['Tempo 3×12', 'Windy tempo', 'Río arriba', 'Sweet spot'],
    load: [0.75, 0.005, 0],
    blocks: (random) => [
      [drawBetween(random, 600, 780), drawBetween(random, 0.84, 0.92)],
      [240, 0.55],
    ],
  },
  intervals: {
    names: ['5×3 min', 'VO₂ blocks', 'Hill repeats', 'Intervalles côte'],
    load: [0.85, 0.07, 0.005],
    blocks: (random) => [
      [drawBetween(random, 150, 240), drawBetween(random, 1.06, 1.16)],
      [drawBetween(random, 150, 210), 0.5],
    ],
  },
  sprints: {
    names: ['Sprints 🚀', 'Town sign sprints', 'Opener'],
    load: [0.72, 0.06, 0.03],
    blocks(random, { pp, ftp }) {
      const sprint = (pp / ftp) * drawBetween(random, 0.75, 0.95)
      return [
        [drawBetween(random, 8, 15), sprint],
        [drawBetween(random, 180, 300), 0.55],
      ]
    },
  },
  race: {
    names: ['Club race', 'Tuesday World Championship', 'Crit "B" & bell lap', 'Zimní závod'],
    load: [0.95, 0.09, 0.015],
    blocks: (random) => [[drawBetween(random, 15, 90), drawBetween(random, 0.5, 1.35)]],
  },
}

export function drawKindName(random: Random, kind: RideKind): string {
  return drawEven(random, KINDS[kind].names)
}

/** Returns the expected load of an activity, in XSS; its samples give the exact load. */
export function expectedLoad(activity: { kind: RideKind; seconds: number }): Load {
  const [intensity, high, peak] = KINDS[activity.kind].load
  const total = (activity.seconds / 3_600) * 100 * intensity * intensity
  return { low: total * (1 - high - peak), high: total * high, peak: total * peak }
}

/** A part of a ride at one power; `targeted` if a trainer workout sets it. */
export type Effort = { seconds: number; watts: number; targeted: boolean }

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
    for (const [blockSeconds, ofFtp] of KINDS[ride.kind].blocks(random, signature)) {
      const length = Math.min(left, Math.max(1, Math.round(blockSeconds)))
      if (length <= 0) break
      efforts.push({ seconds: length, watts: Math.round(ofFtp * signature.ftp), targeted })
      left -= length
    }
  }
  efforts.push({ seconds: coolDown, watts: 0.45 * signature.ftp, targeted })
  return efforts
}
