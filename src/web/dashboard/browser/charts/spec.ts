import type uPlot from '../uplot/uPlot.esm.js'

/** A quantity of a chart. `colour` is a custom property of the style sheet, so that it follows light and dark. */
export type Line = {
  key: string
  label: string
  unit: string
  colour: string
  look: 'area' | 'line' | 'dashed' | 'bars'
  digits?: number
}

/** Lines that share a scale. Lanes stand below each other over one x axis, which keeps each of them readable. */
export type Lane = {
  lines: readonly Line[]
  /** what the axis says */
  unit: string
  height: number
  /** begins at zero, as sums and powers do */
  fromZero?: boolean
  /** the lines are parts of a sum, drawn on top of each other */
  stacked?: boolean
  /** a missing value is a value not told, no interruption */
  spanGaps?: boolean
}

/** How the x axis is drawn, and said in words. */
export type XAxis = {
  scale: uPlot.Scale
  /** the axes of one lane, bottom one first */
  axes: (place: { first: boolean; last: boolean }) => uPlot.Axis[]
  say: (x: number) => string
}

/** A chart without its numbers. `label` is its name for who cannot see it. */
export type Spec = { label: string; x: XAxis; lanes: readonly Lane[] }

/** A chart's numbers: `x` ascends, and every line has one value for each. */
export type Columns = {
  x: readonly number[]
  lines: Readonly<Record<string, ReadonlyArray<number | null>>>
}

/** A part of the x axis. */
export type Range = { min: number; max: number }
