import fc from 'fast-check'
import { type Change, FAULT_KINDS, type Pass, type Plan, type Step, type Trouble } from './plan.ts'

/** What a family of plans is about. */
export type Family = 'changes' | 'faults' | 'crashes' | 'workers'
export const FAMILIES: readonly Family[] = ['changes', 'faults', 'crashes', 'workers']

const which = fc.oneof(
  { weight: 5, arbitrary: fc.nat({ max: 11 }) },
  { weight: 1, arbitrary: fc.constant(-1) },
)

/** Names as riders give them, with what Postgres refuses among them. */
const text = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('Lunch Ride', '2267051020', 'Ründe um den See', '') },
  { weight: 1, arbitrary: fc.constantFrom('NUL\u0000inside', 'lone \ud83d surrogate', '🚲'.repeat(40)) },
  { weight: 3, arbitrary: fc.string({ unit: 'grapheme', maxLength: 12 }) },
)

const add: fc.Arbitrary<Change> = fc.record({
  do: fc.constant('add'),
  daysAgo: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 30 }), fc.integer({ min: 31, max: 1_500 })),
  seconds: fc.integer({ min: 60, max: 300 }),
  delayMin: fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 2_000 }) },
  ),
  zone: fc.nat({ max: 4 }),
  text,
  odd: fc.boolean(),
})

const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 4, arbitrary: add },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('rename'), which, text }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('describe'), which, text: fc.option(text) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('scale'), which, by: fc.integer({ min: 50, max: 150 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('extend'), which, value: fc.nat({ max: 99 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('move'),
      which,
      minutes: fc.integer({ min: -3_000, max: 3_000 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('touch'), which }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('analyse'), which, minutes: fc.integer({ min: 1, max: 600 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete'), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('revive'), which }) },
  { weight: 1, arbitrary: fc.constant({ do: 'recalculate' }) },
)

/** Most passes only poll. */
const full = fc.constantFrom(false, false, false, true)

const wait: fc.Arbitrary<Trouble> = fc.record({
  do: fc.constant('wait'),
  minutes: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 21, max: 700 })),
})

const trouble: fc.Arbitrary<Trouble> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('break'),
      which,
      how: fc.constantFrom('html', 'cut', '500', 'no-success', 'success-false'),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('fault'),
      on: fc.constantFrom('list', 'detail', 'detail', 'token'),
      kind: fc.constantFrom(...FAULT_KINDS),
      times: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'expire' }) },
)

const cap: fc.Arbitrary<Trouble> = fc.record({
  do: fc.constant('cap'),
  cap: fc.constantFrom(null, 2, 3, 4, 6),
})

const skew: fc.Arbitrary<Trouble> = fc.record({
  do: fc.constant('skew'),
  side: fc.constantFrom('service', 'own'),
  minutes: fc.oneof(fc.constant(0), fc.integer({ min: -55, max: 55 }), fc.integer({ min: -900, max: 900 })),
})

const breaking = fc.record({
  // Most of what can be torn apart lies in the list's part of a pass, which is its first.
  at: fc.oneof(
    { weight: 2, arbitrary: fc.integer({ min: 1, max: 40 }) },
    { weight: 1, arbitrary: fc.integer({ min: 41, max: 160 }) },
  ),
  how: fc.constantFrom('unsent', 'unanswered', 'terminated'),
  dies: fc.boolean(),
})

const holding = fc.record({
  on: fc.constantFrom('list', 'detail', 'detail'),
  at: fc.integer({ min: 1, max: 5 }),
  when: fc.constantFrom('before', 'after'),
  during: fc.array(
    fc.oneof(
      { weight: 4, arbitrary: change },
      { weight: 1, arbitrary: wait },
      {
        weight: 3,
        arbitrary: fc.record({
          do: fc.constant('other'),
          how: fc.constantFrom('poll', 'poll', 'pass', 'full'),
        }),
      },
    ),
    { minLength: 1, maxLength: 4 },
  ),
})

function pass(odds: { broken: number; held: number }): fc.Arbitrary<Pass> {
  const maybe = <T>(arbitrary: fc.Arbitrary<T>, weight: number): fc.Arbitrary<T | null> =>
    weight === 0
      ? fc.constant(null)
      : fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight, arbitrary })
  return fc.record({
    do: fc.constant('pass'),
    concurrency: fc.constantFrom(1, 1, 4),
    full,
    break: maybe(breaking, odds.broken),
    hold: maybe(holding, odds.held),
  })
}

function step(family: Family): fc.Arbitrary<Step> {
  const of = (weight: number, arbitrary: fc.Arbitrary<Step>) => ({ weight, arbitrary })
  const common = [of(8, change), of(3, wait), of(2, skew), of(1, cap)]
  switch (family) {
    case 'changes':
      return fc.oneof(...common, of(6, pass({ broken: 0, held: 0 })))
    case 'faults':
      return fc.oneof(...common, of(6, trouble), of(6, pass({ broken: 0, held: 0 })))
    case 'crashes':
      return fc.oneof(...common, of(1, trouble), of(6, pass({ broken: 8, held: 0 })))
    case 'workers':
      return fc.oneof(...common, of(1, trouble), of(6, pass({ broken: 1, held: 8 })))
  }
}

/** An activity goes, the mirror sees that, and it may come back: in that order by chance it would be rare. */
const absence: fc.Arbitrary<Step[]> = fc
  .record({ which, comesBack: fc.boolean() })
  .map(({ which: gone, comesBack }) => [
    { do: 'delete', which: gone },
    { do: 'pass', concurrency: 1, full: true, break: null, hold: null },
    ...(comesBack ? [{ do: 'revive', which: gone } as const] : []),
  ])

/** The service gives a change a moment that it has shown to the mirror already, as one that is slow to commit does. */
const backdating: fc.Arbitrary<Step[]> = fc
  .record({ which, by: fc.integer({ min: 50, max: 150 }), minutes: fc.integer({ min: 1, max: 50 }) })
  .map(({ which: changed, by, minutes }) => [
    { do: 'pass', concurrency: 1, full: false, break: null, hold: null },
    { do: 'skew', side: 'service', minutes: -minutes },
    { do: 'scale', which: changed, by },
    { do: 'skew', side: 'service', minutes: 0 },
  ])

/** A change, and a pass that breaks off on it. */
const interruption: fc.Arbitrary<Step[]> = fc
  .record({ which, by: fc.integer({ min: 50, max: 150 }), broken: breaking })
  .map(({ which: changed, by, broken }) => [
    { do: 'scale', which: changed, by },
    { do: 'pass', concurrency: 1, full: false, break: broken, hold: null },
  ])

function episode(family: Family): fc.Arbitrary<Step[]> {
  const common = [absence, backdating]
  return family === 'crashes'
    ? fc.oneof(...common, interruption, interruption, interruption)
    : fc.oneof(...common)
}

/** Plans of a family: a few activities, then changes, trouble and passes in any order. */
export function planOf(family: Family): fc.Arbitrary<Plan> {
  const begin = fc.array(add, { minLength: 1, maxLength: 5 })
  const one = step(family).map((only) => [only])
  const rest = fc
    .array(
      fc.oneof(
        { weight: family === 'crashes' ? 4 : 9, arbitrary: one },
        { weight: 1, arbitrary: episode(family) },
      ),
      {
        minLength: 4,
        maxLength: 18,
      },
    )
    .map((episodes) => episodes.flat())
  return fc.record({
    lagMin: fc.constantFrom(0, 5, 60),
    steps: fc.tuple(begin, rest).map(([first, then]) => [...first, ...then]),
  })
}
