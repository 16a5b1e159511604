import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { Encoder, type FileIdMesg, Profile } from '@garmin/fitsdk'
import { describe, expect, it } from 'vitest'
import { judgeFit, makeFitJudge } from '../../../src/core/fit/judge.ts'
import { makeFitFile } from '../../../src/sandbox/fit-file.ts'
import { sample } from '../../kit/sampling.ts'
import { readTable, readWords } from '../../kit/table.ts'
import { readWithSdk } from './sdk-reader.ts'
import { FILE_ID_ACTIVITY, littleEndian, makeRandom, T0, wrap } from './wrap.ts'

const startedAt = new Date('2026-03-11T16:00:00Z')
const ride = Buffer.from(makeFitFile({ startedAt, seconds: 600 }))
const second = Buffer.from(makeFitFile({ startedAt: new Date(startedAt.getTime() + 3_600_000), seconds: 60 }))

const codeOf = (bytes: Uint8Array) => {
  const verdict = judgeFit(bytes)
  return verdict.verdict === 'whole' ? 'whole' : `${verdict.verdict} ${verdict.code}`
}

describe('the judge of FIT files', () => {
  it('accepts a whole activity with its start, last record and sport', () => {
    const verdict = judgeFit(ride)
    expect(verdict).toMatchObject({ verdict: 'whole', startedAt, sport: 'cycling', records: 600 })
    expect(verdict).toHaveProperty('endedAt', new Date(readWithSdk(ride).records.at(-1)?.timeMs ?? 0))
  })

  it('detects any damaged byte that the checksum covers', () => {
    for (let place = 14; place < ride.length; place += 1_013) {
      const damaged = ride.map((byte, i) => (i === place ? byte ^ 0x5a : byte))
      expect([place, codeOf(damaged)]).toEqual([place, 'unready bad_checksum'])
    }
  })

  it('waits for a file that is truncated, or preallocated and partly written', () => {
    for (let size = 0; size < ride.length; size += 499) {
      const file = Buffer.alloc(ride.length)
      ride.copy(file, 0, 0, size)
      for (const bytes of [ride.subarray(0, size), file])
        expect([size, codeOf(bytes)]).toEqual([size, expect.stringMatching(/^unready /)])
    }
    expect(codeOf(Buffer.alloc(0))).toBe('unready empty')
    expect(codeOf(Buffer.concat([ride, Buffer.alloc(4_096)]))).toBe('unready reserved')
  })

  it('waits if zeros or a few bytes follow a whole activity', () => {
    const behind = (tail: Uint8Array) => judgeFit(Buffer.concat([ride, tail]))
    for (const tail of ['\0', '\0'.repeat(200_000), '\n', '0123456789a'].map((text) => Buffer.from(text))) {
      expect(behind(tail)).toMatchObject({ verdict: 'unready', whole: { startedAt, sizeBytes: ride.length } })
    }
    // Bytes that may start another part are incomplete.
    for (const tail of [Buffer.from([14]), second.subarray(0, 11), second.subarray(0, 500)]) {
      const verdict = behind(tail)
      expect(verdict).toMatchObject({ verdict: 'unready', code: 'incomplete' })
      expect(verdict).not.toHaveProperty('whole')
    }
  })

  it('gives the same verdict for any sizes of pieces', () => {
    const damaged = Buffer.from(ride)
    damaged.writeUInt8(damaged.readUInt8(900) ^ 1, 900)
    const inside = Buffer.concat([Buffer.alloc(7), ride, Buffer.alloc(9)]).subarray(7, 7 + ride.length)
    for (const bytes of [inside, Buffer.concat([ride, second]), damaged, ride.subarray(0, 5_000)]) {
      for (const size of [1, 7, 4_096]) {
        const judge = makeFitJudge()
        for (let at = 0; at < bytes.length; at += size) judge.push(bytes.subarray(at, at + size))
        expect(judge.end()).toEqual(judgeFit(bytes))
      }
    }
  })

  it('refuses too many chained parts without reading all of them', () => {
    const empty = wrap([])
    const parts = Buffer.alloc(empty.length * 1_000_000, empty)
    const judge = makeFitJudge()
    judge.push(ride)
    let looked = 0
    while (judge.push(parts.subarray(looked, looked + 10_000)) && looked < parts.length) looked += 10_000
    expect(judge.end()).toMatchObject({ verdict: 'refused', code: 'too_many_parts' })
    expect(looked).toBeLessThan(20_000)
  })

  it('waits while the header has no length, as during a ride', () => {
    const growing = Buffer.from(ride)
    growing.writeUInt32LE(0, 4)
    for (const size of [14, 16, 500, growing.length]) {
      expect(codeOf(growing.subarray(0, size))).toBe('unready growing')
    }
  })

  it('checks every chained part of a file', () => {
    const chained = Buffer.concat([ride, second])
    expect(judgeFit(chained)).toMatchObject({ verdict: 'whole', startedAt, records: 660 })
    const damaged = Buffer.from(chained)
    damaged.writeUInt8(damaged.readUInt8(ride.length + 200) ^ 0xff, ride.length + 200)
    expect(codeOf(damaged)).toBe('unready bad_checksum')
    for (const missing of [1, 2, 100, second.length - 5]) {
      expect(codeOf(chained.subarray(0, chained.length - missing))).toBe('unready incomplete')
    }
  })

  it('ignores bytes that are not FIT after a whole activity', () => {
    for (const tail of ['something else', '\x0e is no header, and', '\x0c2345678.FIX', 'x'.repeat(200_000)]) {
      const verdict = judgeFit(Buffer.concat([ride, Buffer.from(tail, 'latin1')]))
      expect(verdict).toMatchObject({ verdict: 'whole', startedAt, records: 600, sizeBytes: ride.length })
    }
    const settings = wrap([0x40, 0, 0, 0, 0, 1, 0, 1, 0, 0x00, 2])
    expect(codeOf(Buffer.concat([settings, Buffer.from('something else')]))).toBe('refused not_activity')
  })

  const stamp = (time: number) => [253, 4, 0x86, ...littleEndian(time)]
  const message = (number: number, ...fields: number[][]) => [
    ...[0x42, 0, 0, number, 0, fields.length, ...fields.flatMap((field) => field.slice(0, 3))],
    ...[0x02, ...fields.flatMap((field) => field.slice(3))],
  ]
  const record = (time: number) => message(20, stamp(time))
  const session = (start: number) => message(18, stamp(start + 60), [2, 4, 0x86, ...littleEndian(start)])
  const activity = (time: number, local: number) =>
    message(34, stamp(time), [5, 4, 0x86, ...littleEndian(local)])
  const made = (time: number) => message(0, [4, 4, 0x86, ...littleEndian(time)])
  const at = (text: string) => (/^[+-]/.test(text) ? T0 + Number(text) : Number(text))
  const MESSAGES: Readonly<Record<string, (...times: number[]) => number[]>> = {
    record,
    session,
    activity,
    made,
  }
  // Times are seconds after T0 (`+`), or seconds since the device was switched on.
  it.each(
    readTable(`
      the session | record +1; session +0 | +0 |
      the first record if there is no session | record +1; record +2 | +1 |
      the first record if the session counts from power-on | record +1; session 5000 | +1 | 5000
      unknown if all times count from power-on | record 5001; session 5000 | | 5000 5001
      the creation time if all others count from power-on | made +0; record 6 | +0 | 6
      the session, not a record of the day before | record -86400; record +0; session +0 | +0 | -86400
      the session, long before its records | record -86400; record +1200; session +0 | +0 | -86400 +1200
      the session, and also by the clock of the device | record +0; session +0; activity +60 +7261 | +0 | +7200
      the session, without a clock offset that no zone has | record +0; session +0; activity +60 +86400 | +0 |`),
  )('finds the start and other possible starts: %s', (_, messages = '', start = '', others = '') => {
    const bytes = messages.split(';').flatMap((line) => {
      const [name = '', ...times] = readWords(line)
      return MESSAGES[name]?.(...times.map(at)) ?? []
    })
    const dates = (text: string) =>
      text
        .split(' ')
        .filter(Boolean)
        .map((time) => new Date((at(time) + 631_065_600) * 1_000))
    expect(judgeFit(wrap([...FILE_ID_ACTIVITY, ...bytes]))).toMatchObject({
      ...{ verdict: 'whole', startedAt: dates(start)[0] ?? null, otherStarts: dates(others) },
    })
  })

  it.each([
    ['h', 'not_fit'],
    ['<?xml version="1.0"?><TrainingCenterDatabase/>', 'not_fit'],
    ['PK\x03\x04 and so on', 'not_fit'],
    [wrap(FILE_ID_ACTIVITY), 'no_records'],
  ])('refuses %j as %s', (bytes, code) => {
    expect(codeOf(Buffer.from(bytes))).toBe(`refused ${code}`)
  })

  it('refuses FIT files of other types and names the type', () => {
    for (const type of ['course', 'workout', 'monitoringB', 'settings', 'weight'] as const) {
      const encoder = new Encoder()
      const message: FileIdMesg = { type, manufacturer: 'development', timeCreated: startedAt }
      encoder.onMesg(Profile.MesgNum.FILE_ID as number, message)
      const reason = expect.stringContaining(type.replace('B', ' b'))
      expect(judgeFit(encoder.close())).toMatchObject({ verdict: 'refused', code: 'not_activity', reason })
    }
    const reason = expect.stringContaining('manufacturer-specific type 49')
    const verdict = judgeFit(wrap([0x40, 0, 0, 0, 0, 1, 0, 1, 0, 0x00, 49]))
    expect(verdict).toMatchObject({ verdict: 'refused', reason })
  })

  it('accepts an activity with types and messages unknown to @garmin/fitsdk', () => {
    const odd = [0x41, 0, 0, 0x10, 0xff, 1, 0, 3, 0x1d, 0x01, 1, 2, 3]
    const record = [0x42, 0, 0, 20, 0, 2, 253, 4, 0x86, 3, 1, 0x02, 0x02, ...littleEndian(T0), 140]
    const file = wrap([...FILE_ID_ACTIVITY, ...odd, ...record])
    expect(readWithSdk(file).records).toEqual([])
    expect(judgeFit(file)).toMatchObject({ verdict: 'whole', records: 1, sport: null })
  })

  it('reads compressed timestamps, big-endian messages and developer fields', () => {
    const bigEndian = [0x42, 0, 1, 0, 20, 1, 253, 4, 0x86, 0x02, ...littleEndian(T0).reverse()]
    const developer = [0x60 | 1, 0, 0, 20, 0, 1, 3, 1, 0x02, 1, 0, 2, 0]
    const low = T0 & 0x1f
    const at = (seconds: number) => [0x80 | (1 << 5) | ((low + seconds) & 0x1f), 140, 7, 7]
    const file = wrap([...FILE_ID_ACTIVITY, ...bigEndian, ...developer, ...at(20), ...at(40), ...at(70)])
    const epochMs = 631_065_600_000
    expect(judgeFit(file)).toMatchObject({
      verdict: 'whole',
      records: 4,
      startedAt: new Date(T0 * 1_000 + epochMs),
      endedAt: new Date((T0 + 70) * 1_000 + epochMs),
    })
  })

  it('never throws, whatever bytes it reads', () => {
    const random = makeRandom(7)
    for (let i = 0; i < 1_000; i++) {
      const data = Array.from({ length: Math.floor(random() * 80) }, () => Math.floor(random() * 256))
      expect(judgeFit(wrap([...(i % 2 ? FILE_ID_ACTIVITY : []), ...data])).verdict).toMatch(
        /whole|refused|unready/,
      )
    }
  })

  const folder = new URL('../../../../shared/fit/', import.meta.url)
  const real = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.fit')) : []
  for (const name of sample(real, 4)) {
    it(`agrees with @garmin/fitsdk about the real file ${name}`, () => {
      const bytes = readFileSync(new URL(name, folder))
      const sdk = readWithSdk(bytes)
      const verdict = judgeFit(bytes)
      const isWhole = verdict.verdict === 'whole'
      expect(isWhole).toBe(sdk.isIntact && sdk.fileType === 'activity')
      if (!isWhole) return
      expect(verdict).toMatchObject({
        startedAt: sdk.startedAt,
        endedAt: new Date(sdk.records.at(-1)?.timeMs ?? 0),
        sport: sdk.sport,
        records: sdk.records.length,
        sizeBytes: bytes.length,
      })
      expect(verdict.otherStarts.length).toBeLessThan(3)
      expect(verdict.starts).toContainEqual(sdk.startedAt)
    })
  }
})
