import type { Home } from './history.ts'
import { drawBetween, makeRandom } from './random.ts'

/** A loop from home and back, in sections of equal length: slope as a share, direction in radians from north, height where each begins. */
export type Road = {
  lengthM: number
  sectionM: number
  slopes: number[]
  headings: number[]
  heights: number[]
}

const FAR = Number.POSITIVE_INFINITY
/** The road of a trainer. */
export const LEVEL: Road = { lengthM: FAR, sectionM: FAR, slopes: [0], headings: [0], heights: [0] }

/** Each loop of a home is an eighth longer than the one before, so that every ride fits one; long rides go round several times. */
const GROWTH = 1.125
const MIN_LOOP_M = 600
const MAX_LOOP_M = 110_000
const SECTION_M = 20
/** The waves that add up: slope, or angle in radians, by length in metres. */
const HILLS = { 12000: 0.027, 6000: 0.027, 2900: 0.022, 1300: 0.012 }
const BENDS = { 30000: 0.7, 9000: 0.6, 3500: 0.5, 1400: 0.5, 600: 0.35 }

/** Makes the loop of a home whose length is nearest to a ride of `metres`; the same on every day. */
export function makeRoad(home: Home, metres: number): Road {
  const wanted = Math.max(MIN_LOOP_M, metres / Math.ceil(metres / MAX_LOOP_M))
  const number = Math.round(Math.log(wanted) / Math.log(GROWTH))
  const lengthM = GROWTH ** number
  const sections = 2 * Math.round(lengthM / SECTION_M / 2)
  const sectionM = lengthM / sections
  const random = makeRandom('road', home.zone, number)
  // Whole waves end where they began. A line of two like halves, the second turned round, comes home: bends are even in number.
  const addWaves = (waves: object, like: 1 | 2) => {
    const drawn = Object.entries(waves).map(([waveM, size], index, { length }) => ({
      size: size * drawBetween(random, 0.6, 1),
      times: like * Math.max(length - index, Math.round(lengthM / Number(waveM) / like)),
      phase: random() * 2 * Math.PI,
    }))
    return Array.from({ length: sections }, (_, section) => {
      const turn = (2 * Math.PI * (section + 0.5)) / sections
      return drawn.reduce((sum, { size, times, phase }) => sum + size * Math.sin(times * turn + phase), 0)
    })
  }
  const country = makeRandom('country', home.zone)
  const hilly = drawBetween(country, 0.5, 0.9)
  const slopes = addWaves(HILLS, 1).map((slope) => hilly * slope)
  const headings = addWaves(BENDS, 2).map((bend, section) => bend + (2 * Math.PI * section) / sections)
  const heights = [drawBetween(country, 180, 400)]
  for (const slope of slopes) heights.push((heights.at(-1) as number) + slope * sectionM)
  return { lengthM, sectionM, slopes, headings, heights }
}
