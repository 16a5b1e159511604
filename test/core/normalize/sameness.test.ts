import { expect, it } from 'vitest'
import { isSameTrainingInfo, normalizeWorkoutEntry } from '../../../src/core/normalize/training-rows.ts'

const INFO = {
  success: true,
  signature: { ftp: 250, ltp: 200, hie: 20, pp: 1_000 },
  tl: { low: 40, total: 42 },
  weight: 70,
  wotd: { type: 'Forecast', name: 'Ride', url: 'https://a.example/w.erg?sign=1' },
}

it('training infos are equal if only late digits, key order or the file URL differ', () => {
  const again = {
    wotd: { url: 'https://a.example/w.erg?sign=2', name: 'Ride', type: 'Forecast' },
    tl: { total: 41.98, low: '39.96' },
    weight: 70,
    signature: { pp: 1_000.01, ftp: 250.04, ltp: 200, hie: 20.004 },
    source: null,
  }
  expect(isSameTrainingInfo(INFO, again)).toBe(true)
})

it.each([
  [{ signature: { ...INFO.signature, ftp: 250.1 } }],
  [{ signature: { ...INFO.signature, hie: 20.01 } }],
  [{ tl: { low: 40.1, total: 42 } }],
  [{ weight: 70.01 }],
  [{ wotd: { ...INFO.wotd, name: 'Other ride' } }],
  [{ anything: 'new' }],
  [{ wotd: null }],
])('training infos differ by %j', (change) => {
  expect(isSameTrainingInfo(INFO, { ...INFO, ...change })).toBe(false)
})

it.each([
  [{ lastModified: 1_700_000_000 }, '2023-11-14T22:13:20.000Z'],
  [{ updatedAt: '2023-11-14 22:13:20' }, '2023-11-14T22:13:20.000Z'],
  [{ updatedAt: 'yesterday' }, undefined],
  [{ lastModified: -62_135_596_801 }, undefined],
  [{ lastModified: 253_402_300_799 }, '9999-12-31T23:59:59.000Z'],
  [{ lastModified: 253_402_300_800 }, undefined],
  [{}, undefined],
])('a workout in a list was last modified at the time in %j: %s', (entry, moment) => {
  expect(normalizeWorkoutEntry({ path: 'p', ...entry, raw: {} }).lastModified?.toISOString()).toBe(moment)
})
