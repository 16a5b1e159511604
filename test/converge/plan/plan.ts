import fc from 'fast-check'

/** What a family of plans is about. */
export type Family = 'changes' | 'faults' | 'crashes' | 'workers'
export const FAMILIES: readonly Family[] = ['changes', 'faults', 'crashes', 'workers']

type ValueOf<A> = A extends fc.Arbitrary<infer Value> ? Value : never
const odds = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary })
const int = (min: number, max: number) => fc.integer({ min, max })
const kind = <const Kind extends string>(name: Kind) => fc.constant(name)

/** Counts through all activities that were ever added; -1 is the one whose request is held. */
const which = fc.oneof(odds(5, fc.nat({ max: 11 })), odds(1, fc.constant(-1)))

/** Names as riders give them, with what Postgres refuses among them. */
const text = fc.oneof(
  odds(6, fc.constantFrom('Lunch Ride', '2267051020', 'Ründe um den See', '')),
  odds(1, fc.constantFrom('NUL\u0000inside', 'lone \ud83d surrogate', '🚲'.repeat(40))),
  odds(3, fc.string({ unit: 'grapheme', maxLength: 12 })),
)

const add = fc.record({
  do: kind('add'),
  daysAgo: fc.oneof(fc.constant(0), int(1, 30), int(31, 1_500)),
  seconds: int(60, 300),
  delayMin: fc.oneof(odds(3, fc.constant(0)), odds(1, int(1, 2_000))),
  zone: fc.nat({ max: 4 }),
  text,
  odd: fc.boolean(),
})

const change = fc.oneof(
  odds(4, add),
  odds(4, fc.record({ do: kind('rename'), which, text })),
  odds(1, fc.record({ do: kind('describe'), which, text: fc.option(text) })),
  odds(3, fc.record({ do: kind('scale'), which, by: int(50, 150) })),
  odds(2, fc.record({ do: kind('extend'), which, value: fc.nat({ max: 99 }) })),
  odds(1, fc.record({ do: kind('move'), which, minutes: int(-3_000, 3_000) })),
  odds(1, fc.record({ do: kind('touch'), which })),
  odds(1, fc.record({ do: kind('analyse'), which, minutes: int(1, 600) })),
  odds(2, fc.record({ do: kind('delete'), which })),
  odds(2, fc.record({ do: kind('revive'), which })),
  odds(1, fc.constant({ do: 'recalculate' } as const)),
)
/** What may happen to an activity at the service. */
export type Change = ValueOf<typeof change>

/** Most passes only poll. */
const full = fc.constantFrom(false, false, false, true)

const wait = fc.record({ do: kind('wait'), minutes: fc.oneof(int(1, 20), int(21, 700)) })

const faultKind = fc.constantFrom(
  ...(['reset', '500', '503', '429', 'cut', 'cut-json', 'html', 'empty', 'stall'] as const),
  ...(['lost-answer', 'hollow', 'refused', 'bad-entry'] as const),
)
const faultPlace = fc.constantFrom('list', 'detail', 'detail', 'token')
export type FaultKind = ValueOf<typeof faultKind>
export type FaultPlace = ValueOf<typeof faultPlace>

const broken = fc.constantFrom('html', 'cut', '500', 'no-success', 'success-false')
const trouble = fc.oneof(
  odds(2, fc.record({ do: kind('break'), which, how: broken })),
  odds(8, fc.record({ do: kind('fault'), on: faultPlace, kind: faultKind, times: int(1, 4) })),
  odds(1, fc.constant({ do: 'expire' } as const)),
)

const cap = fc.record({ do: kind('cap'), cap: fc.constantFrom(null, 2, 3, 4, 6) })

const skew = fc.record({
  do: kind('skew'),
  side: fc.constantFrom('service', 'own'),
  minutes: fc.oneof(fc.constant(0), int(-55, 55), int(-900, 900)),
})

/** What may happen around the mirror. */
export type Trouble = ValueOf<typeof wait | typeof trouble | typeof cap | typeof skew>

/** The line to the database breaks at a statement of the pass, and the process dies of it or lives on. */
const breaking = fc.record({
  // Most of what can be torn apart lies in the list's part of a pass, which is its first.
  at: fc.oneof(odds(2, int(1, 40)), odds(1, int(41, 160))),
  how: fc.constantFrom('unsent', 'unanswered', 'terminated'),
  dies: fc.boolean(),
})

const other = fc.record({ do: kind('other'), how: fc.constantFrom('poll', 'poll', 'pass', 'full') })

/** One request of the pass, or its answer, is held while other things happen, another worker's pass among them. */
const holding = fc.record({
  on: fc.constantFrom('list', 'detail', 'detail'),
  at: int(1, 5),
  when: fc.constantFrom('before', 'after'),
  during: fc.array(fc.oneof(odds(4, change), odds(1, wait), odds(3, other)), { minLength: 1, maxLength: 4 }),
})
export type Hold = ValueOf<typeof holding>

/** A pass of the mirror, which breaks or is held so many times in five. */
function pass(times: { broken: number; held: number }) {
  const maybe = <T>(arbitrary: fc.Arbitrary<T>, weight: number): fc.Arbitrary<T | null> =>
    weight === 0 ? fc.constant(null) : fc.oneof(odds(4, fc.constant(null)), odds(weight, arbitrary))
  return fc.record({
    do: kind('pass'),
    concurrency: fc.constantFrom(1, 1, 4),
    full,
    break: maybe(breaking, times.broken),
    hold: maybe(holding, times.held),
  })
}
export type Pass = ValueOf<ReturnType<typeof pass>>

export type Step = Change | Trouble | Pass

export type Plan = { lagMin: number; steps: Step[] }

function step(family: Family): fc.Arbitrary<Step> {
  const common = [odds<Step>(8, change), odds<Step>(3, wait), odds<Step>(2, skew), odds<Step>(1, cap)]
  const whole = odds<Step>(6, pass({ broken: 0, held: 0 }))
  switch (family) {
    case 'changes':
      return fc.oneof(...common, whole)
    case 'faults':
      return fc.oneof(...common, odds<Step>(6, trouble), whole)
    case 'crashes':
      return fc.oneof(...common, odds<Step>(1, trouble), odds(6, pass({ broken: 8, held: 0 })))
    case 'workers':
      return fc.oneof(...common, odds<Step>(1, trouble), odds(6, pass({ broken: 1, held: 8 })))
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
  .record({ which, by: int(50, 150), minutes: int(1, 50) })
  .map(({ which: changed, by, minutes }) => [
    { do: 'pass', concurrency: 1, full: false, break: null, hold: null },
    { do: 'skew', side: 'service', minutes: -minutes },
    { do: 'scale', which: changed, by },
    { do: 'skew', side: 'service', minutes: 0 },
  ])

/** A change, and a pass that breaks off on it. */
const interruption: fc.Arbitrary<Step[]> = fc
  .record({ which, by: int(50, 150), broken: breaking })
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
  const episodes = fc.oneof(odds(family === 'crashes' ? 4 : 9, one), odds(1, episode(family)))
  const rest = fc.array(episodes, { minLength: 4, maxLength: 18 }).map((all) => all.flat())
  return fc.record({
    lagMin: fc.constantFrom(0, 5, 60),
    steps: fc.tuple(begin, rest).map(([first, then]) => [...first, ...then]),
  })
}
