import { describe, expect, it } from 'vitest'
import { matchActivity } from '../../../src/core/upload/match-activity.ts'

const START = new Date('2026-05-03T08:00:00Z')
const at = (seconds: number) => new Date(START.getTime() + seconds * 1_000)
const entry = (path: string, seconds: number | null, name = 'Ride') => ({
  path,
  name,
  startedAt: seconds === null ? null : at(seconds),
})
const match = (candidates: ReturnType<typeof entry>[], rivals: Date[] = []) =>
  matchActivity({ startedAt: START, fileName: 'ride.fit', candidates, rivals })

describe('a file matches an activity', () => {
  it('that starts nearest, within two minutes before or after', () => {
    const several = [entry('latest', 90), entry('a', 20), entry('b', -50)]
    for (const candidates of [[entry('a', -119)], [entry('a', 120)], several])
      expect(match(candidates)).toEqual({ kind: 'found', path: 'a' })
    expect(match([entry('a', 120.001)])).toEqual({ kind: 'none' })
    expect(match([entry('a', null)])).toEqual({ kind: 'none' })
  })

  it('unless another unconfirmed file is nearer to the activity', () => {
    expect(match([entry('a', 40)], [at(41)])).toEqual({ kind: 'none' })
    expect(match([entry('a', 40), entry('b', 60)], [at(41)])).toEqual({ kind: 'none' })
    expect(match([entry('a', 5)], [at(41)])).toEqual({ kind: 'found', path: 'a' })
    // Nearer by more than the rounding of a start.
    expect(match([entry('a', 40)], [at(90), at(78.5)])).toEqual({ kind: 'found', path: 'a' })
    expect(match([entry('a', 40)], [at(78.499), at(90)])).toEqual({ kind: 'none' })
  })

  it.each<[string, number, number[], object]>([
    ['exactly at another start of the file', 3_601, [], { kind: 'found', path: 'a' }],
    ['not near another start of the file', 3_602, [], { kind: 'none' }],
    ['not where another unconfirmed file starts', 3_600, [3_600], { kind: 'none' }],
    ['not at another start if an activity is near the first', 3_600, [], { kind: 'found', path: 'first' }],
  ])('%s', (title, seconds, rivals, expected) => {
    const first = title.endsWith('the first') ? [entry('first', 100)] : []
    const input = { startedAt: START, otherStarts: [at(-86_400), at(3_600)], fileName: 'ride.fit' }
    const candidates = [entry('a', seconds), ...first]
    expect(matchActivity({ ...input, candidates, rivals: rivals.map(at) })).toEqual(expected)
    const unknown = { ...input, startedAt: null, candidates: [entry('a', seconds)], rivals: rivals.map(at) }
    if (first.length === 0) expect(matchActivity(unknown)).toEqual(expected)
  })

  it('by the file’s name if several are equally near, otherwise none', () => {
    expect(match([entry('a', 0), entry('b', 0, 'ride.fit')])).toEqual({ kind: 'found', path: 'b' })
    expect(match([entry('a', 0), entry('b', 1.499)])).toEqual({ kind: 'unclear', paths: ['a', 'b'] })
    expect(match([entry('a', 0), entry('b', -1.5)])).toEqual({ kind: 'found', path: 'a' })
    expect(match([entry('a', 0, 'ride.fit'), entry('b', 0, 'ride.fit')])).toMatchObject({ kind: 'unclear' })
  })
})
