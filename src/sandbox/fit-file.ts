import {
  ACTIVITY_FILE,
  DEVELOPMENT,
  FILE_ID,
  FIT_EPOCH_S,
  HRV,
  RECORD,
  SESSION,
  TIMESTAMP,
} from '../core/fit/profile.ts'
import { encodeFit, type Field, type Message } from '../core/fit/write-fit.ts'
import { DAY } from '../kit/time.ts'
import type { Signature } from './athlete/fitness-model.ts'
import { homeIn } from './athlete/history.ts'
import { drawBell, makeRandom } from './athlete/random.ts'
import { at, simulateTrack, type Track } from './athlete/ride.ts'
import { scoreTrack, sumTrack, type Totals } from './athlete/score.ts'

const SIGNATURE: Signature = { ftp: 250, ltp: 200, hie: 21, pp: 1_050 }
const SEMICIRCLES_PER_DEGREE = 2 ** 31 / 180

/** The bit that marks a balance as the right leg's share. */
const OF_THE_RIGHT_LEG = 0x80

/** Values of the FIT profile: events, event types, sports. */
const EVENT = { timer: 0, session: 8, lap: 9, activity: 26 }
const EVENT_TYPE = { start: 0, stop: 1, stopAll: 4 }
const SPORT = { cycling: 2, road: 7 }

/** The variation of the interval between heartbeats, s. */
const BEAT_SPREAD_S = 0.012

/**
 * Makes a complete FIT activity of an outdoor ride: file id, timer events, a record and an R-R interval for each of `seconds`, lap, session
 * and activity. The sensors include temperature, respiration and balance. The same input gives the same bytes.
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
    home: homeIn(),
    breakthrough: false,
  })
  const totals = sumTrack(scoreTrack(track, SIGNATURE))
  const random = makeRandom('heartbeats', input.seed ?? 1)
  const start = fitTime(startMs)
  const end = start + totals.elapsedSeconds
  const fileId: Message = {
    number: FILE_ID.message,
    fields: [
      [FILE_ID.type, 'enum', ACTIVITY_FILE],
      [1, 'uint16', DEVELOPMENT], // manufacturer
      [2, 'uint16', 1], // product
      [3, 'uint32z', 1], // serial number
      [FILE_ID.createdAt, 'uint32', start],
    ],
  }
  const records = Array.from({ length: input.seconds }, (_, i): Message[] => {
    // The interval between two heartbeats; empty if no heart rate was measured.
    const beatS = 60 / at(track.hr, i) + BEAT_SPREAD_S * drawBell(random)
    return [recordAt(track, i), { number: HRV.message, fields: [[HRV.time, 'uint16', beatS * 1_000]] }]
  })
  return encodeFit([
    fileId,
    makeEvent(start, EVENT_TYPE.start),
    ...records.flat(),
    makeEvent(end, EVENT_TYPE.stopAll),
    ...sumMessages({ start, end, seconds: input.seconds }, totals),
  ])
}

function makeEvent(time: number, type: number): Message {
  return {
    number: 21,
    fields: [
      [TIMESTAMP, 'uint32', time],
      [0, 'enum', EVENT.timer],
      [1, 'enum', type],
    ],
  }
}

/** Makes a record. Temperature follows season, evening and height; respiration follows the heart rate; the right leg works more as the left leg tires. */
function recordAt(track: Track, place: number): Message {
  const hours = place / 3_600
  const season = 18 - 10 * Math.cos((2 * Math.PI * at(track.unixMs, place)) / (365.25 * DAY))
  const balance = OF_THE_RIGHT_LEG | Math.round(50.5 + Math.min(4, hours * 2))
  return {
    number: RECORD.message,
    fields: [
      [TIMESTAMP, 'uint32', fitTime(at(track.unixMs, place))],
      [0, 'sint32', at(track.lat, place) * SEMICIRCLES_PER_DEGREE],
      [1, 'sint32', at(track.lng, place) * SEMICIRCLES_PER_DEGREE],
      [5, 'uint32', at(track.dist, place) * 100],
      [73, 'uint32', at(track.spd, place) * 1_000],
      [78, 'uint32', (at(track.alt, place) + 500) * 5],
      [7, 'uint16', at(track.power, place)],
      [3, 'uint8', at(track.hr, place)],
      [4, 'uint8', at(track.cad, place)],
      [13, 'sint8', season - hours * 3 - at(track.alt, place) * 0.0065],
      [30, 'uint8', balance],
      [108, 'uint16', (8 + at(track.hr, place) / 8) * 100],
    ],
  }
}

/** Returns the messages that summarize the ride: one lap, one session, the activity. */
function sumMessages(time: { start: number; end: number; seconds: number }, totals: Totals): Message[] {
  const common: Field[] = [
    [TIMESTAMP, 'uint32', time.end],
    [254, 'uint16', 0], // message index
    [1, 'enum', EVENT_TYPE.stop],
    [SESSION.startedAt, 'uint32', time.start],
    [7, 'uint32', totals.elapsedSeconds * 1_000],
    [8, 'uint32', time.seconds * 1_000], // timer time
    [9, 'uint32', totals.distanceKm * 100_000],
    [11, 'uint16', totals.workKj], // calories
  ]
  const lap: Field[] = [
    [0, 'enum', EVENT.lap],
    [25, 'enum', SPORT.cycling],
    [18, 'uint8', totals.maxCadence],
    [19, 'uint16', totals.avgPower],
    [20, 'uint16', totals.maxPower],
    [21, 'uint16', totals.climbM],
  ]
  const session: Field[] = [
    [0, 'enum', EVENT.session],
    [SESSION.sport, 'enum', SPORT.cycling],
    [6, 'enum', SPORT.road],
    [19, 'uint8', totals.maxCadence],
    [20, 'uint16', totals.avgPower],
    [21, 'uint16', totals.maxPower],
    [22, 'uint16', totals.climbM],
    [25, 'uint16', 0], // first lap
    [26, 'uint16', 1], // laps
  ]
  const activity: Field[] = [
    [TIMESTAMP, 'uint32', time.end],
    [0, 'uint32', time.seconds * 1_000], // timer time
    [1, 'uint16', 1], // sessions
    [2, 'enum', 0], // manual
    [3, 'enum', EVENT.activity],
    [4, 'enum', EVENT_TYPE.stop],
  ]
  return [
    { number: 19, fields: [...common, ...lap] },
    { number: SESSION.message, fields: [...common, ...session] },
    { number: 34, fields: activity },
  ]
}

function fitTime(unixMs: number): number {
  return unixMs / 1_000 - FIT_EPOCH_S
}
