import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseFitActivity } from '../../src/fit/activity.ts'
import { makeFitFile } from '../../src/sandbox/fit-file.ts'

const startedAt = new Date('2026-03-11T16:00:00Z')
const fit = makeFitFile({ startedAt, seconds: 600 })

const codeOf = (bytes: Uint8Array) => {
  const parsed = parseFitActivity(bytes)
  return parsed.ok ? 'ok' : parsed.code
}

describe('parsing a FIT activity', () => {
  it('reads start, sport and every record of a file that was made', () => {
    const parsed = parseFitActivity(fit)
    if (!parsed.ok) throw new Error(parsed.reason)
    expect(parsed.startedAt).toEqual(startedAt)
    expect(parsed.sport).toBe('cycling')
    expect(parsed.records).toHaveLength(600)
    const middle = parsed.records[300]
    expect(middle?.power).toBeGreaterThan(0)
    expect(middle?.hr).toBeGreaterThan(60)
    expect(middle?.speed).toBeGreaterThan(3)
    expect(middle?.distance).toBeGreaterThan(1_000)
    expect(middle?.lat).toBeCloseTo(43.65, 0)
    expect(middle?.lng).toBeCloseTo(-79.38, 0)
  })

  it('makes the same bytes from the same input, and others from another seed', () => {
    expect(makeFitFile({ startedAt, seconds: 600 })).toEqual(fit)
    expect(makeFitFile({ startedAt, seconds: 600, seed: 2 })).not.toEqual(fit)
  })

  it('reads bytes that lie inside a larger buffer', () => {
    const larger = Buffer.concat([Buffer.alloc(7), fit, Buffer.alloc(9)])
    expect(codeOf(larger.subarray(7, 7 + fit.length))).toBe('ok')
  })

  it('reads chained files, and refuses them when the second part is damaged or cut', () => {
    const second = makeFitFile({ startedAt: new Date(startedAt.getTime() + 3_600_000), seconds: 60 })
    const chained = Buffer.concat([fit, second])
    const parsed = parseFitActivity(chained)
    if (!parsed.ok) throw new Error(parsed.reason)
    expect(parsed.records).toHaveLength(660)
    expect(parsed.startedAt).toEqual(startedAt)
    const damaged = Buffer.from(chained)
    damaged[fit.length + 200] = (damaged[fit.length + 200] ?? 0) ^ 0xff
    expect(codeOf(damaged)).toBe('bad_checksum')
    expect(codeOf(chained.subarray(0, chained.length - 1))).toBe('incomplete')
    expect(codeOf(chained.subarray(0, fit.length + 5))).toBe('incomplete')
  })

  it('says incomplete for every file cut short, whatever the place', () => {
    for (let size = 0; size < fit.length; size += 997) {
      expect([size, codeOf(fit.subarray(0, size))]).toEqual([size, 'incomplete'])
    }
  })

  it('says why bytes are no FIT file', () => {
    expect(codeOf(Buffer.from('a text that is long enough'))).toBe('not_fit')
    expect(codeOf(Buffer.concat([fit, Buffer.from('something else follows')]))).toBe('not_fit')
  })

  it('never throws on damaged bytes, and finds every damage to what the checksum covers', () => {
    for (let place = 14; place < fit.length; place += 1_013) {
      const damaged = fit.map((byte, i) => (i === place ? byte ^ 0x5a : byte))
      expect([place, codeOf(damaged)]).toEqual([place, 'bad_checksum'])
    }
  })

  const folder = new URL('../../../shared/fit/', import.meta.url)
  const expected: Record<string, [code: string, records: number]> = {
    'bad-file-crc.fit': ['bad_checksum', 0],
    'bad-truncated-no-session.fit': ['bad_checksum', 0],
    'other-monitoring.fit': ['not_activity', 0],
    'cyc-power-edge810-vector-2013.fit': ['cycling', 4_700],
    'cyc-power-wahoo-elemnt-2019.fit': ['cycling', 13_471],
    'run-stryd-devtypes-2017.fit': ['running', 3_424],
    'virtual-zwift-2017-null-compressed.fit': ['cycling', 1_808],
    'multi-duathlon-sdk-2020.fit': ['multisport', 78],
  }
  const present = existsSync(folder) ? readdirSync(folder).filter((name) => name in expected) : []
  for (const name of present) {
    it(`reads the real file ${name}`, () => {
      const parsed = parseFitActivity(readFileSync(new URL(name, folder)))
      const read = parsed.ok ? [parsed.sport, parsed.records.length] : [parsed.code, 0]
      expect(read).toEqual(expected[name])
    })
  }
})
