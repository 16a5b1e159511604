import type { RideKind } from './efforts.ts'
import { drawOne, type Random } from './random.ts'

const NAMES: Readonly<Record<RideKind, readonly string[]>> = {
  recovery: ['Easy spin', 'Coffee ride ☕', 'Recovery', 'Tour de bakery'],
  endurance: [
    'Morning Ride',
    'Long Saturday',
    'Lakeshore loop',
    'Vallée de la Garonne',
    'Größe Runde',
    '河川敷ライド',
  ],
  tempo: ['Tempo 3×12', 'Windy tempo', 'Río arriba', 'Sweet spot'],
  intervals: ['5×3 min', 'VO₂ blocks', 'Hill repeats', 'Intervalles côte'],
  sprints: ['Sprints 🚀', 'Town sign sprints', 'Opener'],
  race: ['Club race', 'Tuesday World Championship', 'Crit "B" & bell lap', 'Zimní závod'],
}

const DESCRIPTIONS = [
  '',
  'Felt good.',
  'Headwind out, tailwind home.\r\nLegs were there.',
  'Ça piquait — très froid 🥶',
  'x < y & "z"',
]

/** Draws a name: mostly words, with accents and signs; one in fifteen is all digits, as head units name files. */
export function drawName(random: Random, kind: RideKind, startMs: number): string {
  if (random() < 0.07) return String(Math.floor(startMs / 1_000))
  return drawOne(
    random,
    NAMES[kind].map((name) => [name, 1] as const),
  )
}

/** Draws a description; six in ten are null, as published list entries have it. */
export function drawDescription(random: Random): string | null {
  if (random() < 0.6) return null
  return drawOne(
    random,
    DESCRIPTIONS.map((text) => [text, 1] as const),
  )
}
