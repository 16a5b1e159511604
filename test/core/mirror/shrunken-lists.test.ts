import { describe, expect, it } from 'vitest'
import { SUMMARY_FIELDS } from '../../../src/core/fields/activity-fields.ts'
import { columnsOf } from '../../../src/core/fields/field.ts'
import { isShrunken, poorerActivity, poorerTrainingInfo } from '../../../src/core/mirror/failures.ts'
import type { WantedActivity } from '../../../src/core/store/activities/wanted.ts'
import type { TrainingInfoRow } from '../../../src/core/store/training-info-rows.ts'
import { makeSamples } from '../../kit/samples.ts'
import { detailRow } from '../store/detail.ts'

it.each([
  [{ before: 3, gone: 3, listed: 0, emptyAllowed: 2 }, true],
  [{ before: 2, gone: 2, listed: 0, emptyAllowed: 2 }, false],
  [{ before: 1, gone: 0, listed: 0, emptyAllowed: 0 }, true],
  [{ before: 20, gone: 5, listed: 15, emptyAllowed: 2 }, false],
  [{ before: 20, gone: 6, listed: 14, emptyAllowed: 2 }, true],
  [{ before: 100, gone: 20, listed: 80, emptyAllowed: 0 }, false],
  [{ before: 100, gone: 21, listed: 79, emptyAllowed: 0 }, true],
])('a list with %j is rejected as shrunken: %s', (list, refused) => {
  expect(isShrunken(list)).toBe(refused)
})

describe('a response about an activity', () => {
  type Known = { values?: number; samples?: number; duration?: number | null; attempts?: number }
  type Answer = { values?: number; samples?: number; duration?: number; awaits?: boolean; lost?: string[] }
  const judge = (known: Known, answer: Answer) => {
    const { values = 0, samples = 0, duration, awaits = false, lost = [] } = answer
    const named = columnsOf(SUMMARY_FIELDS)
      .filter((column) => column !== 'duration')
      .slice(0, values)
    const row = detailRow({
      ...Object.fromEntries(named.map((column) => [column, 1])),
      ...(duration !== undefined && { duration }),
    })
    const activity = {
      ...{ path: 'p1', valueCount: known.values ?? 0, sampleCount: known.samples ?? 0 },
      ...{ duration: known.duration ?? null, fetchAttempts: known.attempts ?? 0 },
    } as WantedActivity
    const poorer = poorerActivity(
      activity,
      { row, samples: makeSamples(samples) },
      { isAwaiting: awaits, lostFields: lost },
    )
    return poorer && /lacks (.*) that the service/.exec(poorer.message)?.[1]
  }

  it.each<[Known, Answer, string | undefined]>([
    [{}, {}, undefined],
    [{ values: 10 }, { values: 5 }, undefined],
    [{ values: 10 }, { values: 4 }, '6 of its 10 values'],
    [{ values: 1 }, {}, '1 of its 1 values'],
    [{ samples: 10 }, { samples: 9 }, '1 of its 10 samples'],
    [{ samples: 10, duration: 10 }, { samples: 9, duration: 9 }, undefined],
    [{ samples: 10, duration: 10 }, { samples: 9, duration: 10 }, '1 of its 10 samples'],
    [{ samples: 10, duration: 10 }, { samples: 9 }, '1 of its 10 samples'],
    [{ samples: 10 }, { samples: 9, duration: 9 }, '1 of its 10 samples'],
    [{ samples: 1 }, { awaits: true }, undefined],
    [{ samples: 1 }, { samples: 1, lost: ['power'] }, 'the fields power of its samples'],
    [
      { values: 3, samples: 9 },
      { values: 1, samples: 8, lost: ['hr', 'power'] },
      '2 of its 3 values and 1 of its 9 samples and the fields hr, power of its samples',
    ],
    [{ values: 10, attempts: 6 }, { values: 1 }, '9 of its 10 values'],
    [{ values: 10, attempts: 7 }, { values: 1 }, undefined],
    [{ values: 1, attempts: 7 }, {}, '1 of its 1 values'],
    [{ values: 10, samples: 1, attempts: 7 }, { values: 1, awaits: true }, undefined],
  ])('after %j, a response with %j lacks: %s', (known, answer, lost) => {
    expect(judge(known, answer)).toBe(lost)
  })
})

describe('training info', () => {
  const info = (part: Partial<TrainingInfoRow>) => part as TrainingInfoRow
  it.each<[Partial<TrainingInfoRow> | undefined, Partial<TrainingInfoRow>, string | undefined]>([
    [undefined, {}, undefined],
    [{ ftp: 0 }, {}, 'signature'],
    [{ ftp: 250, pp: 900 }, { pp: 900 }, undefined],
    [{ pp: 900, tlLow: 1 }, { pp: null, tlLow: null }, 'signature and tl'],
    [{ targetHigh: 1, wotdName: 'Rest' }, {}, 'targetXSS and wotd'],
    [{}, { ftp: 250 }, undefined],
  ])('after %j, a response with %j lacks: %s', (before, now, lost) => {
    const poorer = poorerTrainingInfo(before && info(before), info(now))
    expect(poorer && /lacks (.*) that the service/.exec(poorer.message)?.[1]).toBe(lost)
  })
})
