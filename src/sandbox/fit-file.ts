import {
  type ActivityMesg,
  Encoder,
  type EventMesg,
  type FileIdMesg,
  type LapMesg,
  Profile,
  type RecordMesg,
  type SessionMesg,
} from '@garmin/fitsdk'
import { scoreTrack } from './analysis/strain.ts'
import { sumTrack, type Totals } from './analysis/totals.ts'
import { simulateTrack } from './athlete/ride.ts'
import type { Signature } from './athlete/signature.ts'
import { at, type Track } from './athlete/track.ts'

const SIGNATURE: Signature = { ftp: 250, ltp: 200, hie: 21, pp: 1_050 }
type Message = FileIdMesg | EventMesg | RecordMesg | LapMesg | SessionMesg | ActivityMesg

const SEMICIRCLES_PER_DEGREE = 2 ** 31 / 180

/**
 * Makes a whole, valid FIT activity of an outdoor ride: identity, timer events, a record for each of `seconds`, lap,
 * session and activity. The same input gives the same bytes.
 */
export function makeFitFile(input: { startedAt: Date; seconds: number; seed?: number }): Uint8Array {
  const startMs = Math.floor(input.startedAt.getTime() / 1_000) * 1_000
  const track = simulateTrack({
    seed: input.seed ?? 1,
    startMs,
    seconds: input.seconds,
    kind: 'tempo',
    running: false,
    indoor: false,
    signature: SIGNATURE,
    breakthrough: false,
  })
  const totals = sumTrack(scoreTrack(track, SIGNATURE))
  const end = new Date(startMs + totals.elapsedSeconds * 1_000)
  return encodeActivity({ track, totals, start: new Date(startMs), end })
}

function encodeActivity(ride: { track: Track; totals: Totals; start: Date; end: Date }): Uint8Array {
  const { track, start, end } = ride
  const encoder = new Encoder()
  const write = (name: string, message: Message) => encoder.onMesg(Profile.MesgNum[name] as number, message)
  write('FILE_ID', {
    type: 'activity',
    manufacturer: 'development',
    product: 1,
    serialNumber: 1,
    timeCreated: start,
  })
  write('EVENT', { timestamp: start, event: 'timer', eventType: 'start' })
  for (let i = 0; i < track.unixMs.length; i++) write('RECORD', makeRecord(track, i))
  write('EVENT', { timestamp: end, event: 'timer', eventType: 'stopAll' })
  const totals = makeTotals(ride)
  write('LAP', { ...totals, messageIndex: 0, event: 'lap', eventType: 'stop' })
  write('SESSION', {
    ...totals,
    messageIndex: 0,
    event: 'session',
    eventType: 'stop',
    subSport: 'road',
    firstLapIndex: 0,
    numLaps: 1,
  })
  write('ACTIVITY', {
    timestamp: end,
    totalTimerTime: ride.track.unixMs.length,
    numSessions: 1,
    type: 'manual',
    event: 'activity',
    eventType: 'stop',
  })
  return encoder.close()
}

function makeRecord(track: Track, place: number): RecordMesg {
  const speed = at(track.spd, place)
  const altitude = at(track.alt, place)
  const [hr, cad] = [at(track.hr, place), at(track.cad, place)]
  return {
    timestamp: new Date(at(track.unixMs, place)),
    positionLat: Math.round(at(track.lat, place) * SEMICIRCLES_PER_DEGREE),
    positionLong: Math.round(at(track.lng, place) * SEMICIRCLES_PER_DEGREE),
    distance: at(track.dist, place),
    enhancedSpeed: speed,
    enhancedAltitude: altitude,
    power: at(track.power, place),
    ...(Number.isNaN(hr) ? {} : { heartRate: hr }),
    ...(Number.isNaN(cad) ? {} : { cadence: cad }),
  }
}

function makeTotals(ride: { track: Track; totals: Totals; start: Date; end: Date }) {
  const { totals, start, end } = ride
  return {
    timestamp: end,
    startTime: start,
    sport: 'cycling' as const,
    totalElapsedTime: totals.elapsedSeconds,
    totalTimerTime: ride.track.unixMs.length,
    totalDistance: totals.distanceKm * 1_000,
    totalAscent: Math.round(totals.climbM),
    avgPower: Math.round(totals.avgPower),
    maxPower: Math.round(totals.maxPower),
    maxCadence: totals.maxCadence,
    totalCalories: Math.round(totals.workKj),
  }
}
