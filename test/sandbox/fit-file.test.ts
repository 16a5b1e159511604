import { Decoder, Stream } from '@garmin/fitsdk'
import { expect, it } from 'vitest'
import { makeFitFile } from '../../src/sandbox/fit-file.ts'
import { readWithSdk } from '../core/fit/sdk-reader.ts'

const startedAt = new Date('2026-03-11T16:00:00Z')
const fit = makeFitFile({ startedAt, seconds: 600 })

it('@garmin/fitsdk accepts a FIT file of the sandbox, with its manufacturer, records, timer events and sums', () => {
  expect(readWithSdk(fit)).toMatchObject({
    isIntact: true,
    fileType: 'activity',
    startedAt,
    sport: 'cycling',
  })
  const { messages, errors } = new Decoder(Stream.fromBuffer(fit)).read()
  expect(errors).toEqual([])
  const records = messages.recordMesgs ?? []
  expect(records).toHaveLength(600)
  expect(records.at(-1)?.timestamp).toEqual(new Date(startedAt.getTime() + 599_000))
  const totals = {
    ...{ startTime: startedAt, sport: 'cycling', eventType: 'stop', messageIndex: 0 },
    ...{ totalElapsedTime: 600, totalTimerTime: 600, totalDistance: records.at(-1)?.distance },
    ...{ totalAscent: expect.any(Number), totalCalories: expect.any(Number), avgPower: expect.any(Number) },
    maxCadence: Math.max(...records.map(({ cadence }) => cadence ?? 0)),
  }
  const session = { ...totals, event: 'session', subSport: 'road', firstLapIndex: 0, numLaps: 1 }
  expect(messages).toMatchObject({
    fileIdMesgs: [
      { type: 'activity', manufacturer: 'development', product: 1, serialNumber: 1, timeCreated: startedAt },
    ],
    eventMesgs: [
      { timestamp: startedAt, event: 'timer', eventType: 'start' },
      { event: 'timer', eventType: 'stopAll' },
    ],
    lapMesgs: [{ ...totals, event: 'lap' }],
    sessionMesgs: [session],
    activityMesgs: [{ totalTimerTime: 600, numSessions: 1, type: 'manual', eventType: 'stop' }],
  })
})
