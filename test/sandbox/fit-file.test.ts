import { Decoder, type FitMessages, Stream } from '@garmin/fitsdk'
import { describe, expect, it } from 'vitest'
import { makeFitFile } from '../../src/sandbox/fit-file.ts'
import { readWithSdk } from '../core/fit/sdk-reader.ts'

const startedAt = new Date('2026-03-11T16:00:00Z')
const fit = makeFitFile({ startedAt, seconds: 600 })

function decode(bytes: Uint8Array): FitMessages {
  const { messages, errors } = new Decoder(Stream.fromBuffer(bytes)).read()
  expect(errors).toEqual([])
  return messages
}

describe('a FIT file of the sandbox', () => {
  it('is valid for @garmin/fitsdk, which reads start, sport and every record', () => {
    const reading = readWithSdk(fit)
    expect(reading).toMatchObject({ isIntact: true, fileType: 'activity', startedAt, sport: 'cycling' })
    expect(reading.records).toHaveLength(600)
    const middle = reading.records[300]
    expect(middle?.power).toBeGreaterThan(0)
    expect(middle?.hr).toBeGreaterThan(60)
    expect(middle?.speed).toBeGreaterThan(3)
    expect(middle?.altitude).toBeGreaterThan(0)
    expect(middle?.distance).toBeGreaterThan(1_000)
    expect(middle?.lat).toBeCloseTo(43.65, 0)
    expect(middle?.lng).toBeCloseTo(-79.38, 0)
  })

  it('has its maker, timer events, and the sums of lap, session and activity', () => {
    const messages = decode(fit)
    const records = messages.recordMesgs ?? []
    const timestamp = records.at(-1)?.timestamp
    expect(messages.fileIdMesgs).toMatchObject([
      { type: 'activity', manufacturer: 'development', product: 1, serialNumber: 1, timeCreated: startedAt },
    ])
    expect(messages.eventMesgs).toMatchObject([
      { timestamp: startedAt, event: 'timer', eventType: 'start' },
      { event: 'timer', eventType: 'stopAll' },
    ])
    const totals = {
      startTime: startedAt,
      sport: 'cycling',
      eventType: 'stop',
      messageIndex: 0,
      totalElapsedTime: 600,
      totalTimerTime: 600,
      totalDistance: records.at(-1)?.distance,
      totalAscent: expect.any(Number),
      totalCalories: expect.any(Number),
      avgPower: expect.any(Number),
      maxPower: expect.any(Number),
      maxCadence: Math.max(...records.map(({ cadence }) => cadence ?? 0)),
    }
    expect(messages.lapMesgs).toMatchObject([{ ...totals, event: 'lap' }])
    expect(messages.sessionMesgs).toMatchObject([
      { ...totals, event: 'session', subSport: 'road', firstLapIndex: 0, numLaps: 1 },
    ])
    expect(messages.activityMesgs).toMatchObject([
      { totalTimerTime: 600, numSessions: 1, type: 'manual', event: 'activity', eventType: 'stop' },
    ])
    expect(timestamp).toEqual(new Date(startedAt.getTime() + 599_000))
  })

  it('has no cadence while the sensor is lost', () => {
    const records = readWithSdk(makeFitFile({ startedAt, seconds: 10_800 })).records
    const lost = records.filter(({ cad }) => cad === null)
    expect(lost.length).toBeGreaterThan(0)
    expect(lost.filter(({ power, hr, speed }) => power === null || hr === null || speed === null)).toEqual([])
  })

  it('has the same bytes for the same input, and others for another seed', () => {
    expect(makeFitFile({ startedAt, seconds: 600 })).toEqual(fit)
    expect(makeFitFile({ startedAt, seconds: 600, seed: 2 })).not.toEqual(fit)
  })
})
