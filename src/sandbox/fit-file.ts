import { fitCrc } from '../fit/fit-walker.ts'
import { ACTIVITY_FILE, FILE_ID, FIT_EPOCH_S, RECORD, SESSION, TIMESTAMP } from '../fit/profile.ts'
import type { Signature } from './athlete/fitness-model.ts'
import { homeIn } from './athlete/history.ts'
import { at, simulateTrack, type Track } from './athlete/ride.ts'
import { scoreTrack, sumTrack, type Totals } from './athlete/score.ts'

const SIGNATURE: Signature = { ftp: 250, ltp: 200, hie: 21, pp: 1_050 }
const SEMICIRCLES_PER_DEGREE = 2 ** 31 / 180

/** Values of the FIT profile: events, types of events, sports. */
const EVENT = { timer: 0, session: 8, lap: 9, activity: 26 }
const EVENT_TYPE = { start: 0, stop: 1, stopAll: 4 }
const SPORT = { cycling: 2, road: 7 }
const DEVELOPMENT = 255

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
    home: homeIn(),
    breakthrough: false,
  })
  const totals = sumTrack(scoreTrack(track, SIGNATURE))
  const start = fitTime(startMs)
  const end = start + totals.elapsedSeconds
  return encodeFit([
    makeFileId(start),
    makeEvent(start, EVENT_TYPE.start),
    ...Array.from({ length: input.seconds }, (_, i) => makeRecord(track, i)),
    makeEvent(end, EVENT_TYPE.stopAll),
    ...makeSums({ start, end, seconds: input.seconds }, totals),
  ])
}

/** A message by its number in the FIT profile (below 256); messages of one number have the same fields. */
type Message = { number: number; fields: readonly Field[] }
/** A field by its number in the FIT profile, in the profile's unit; NaN where nothing was recorded. */
type Field = readonly [number: number, type: keyof typeof BASE_TYPES, value: number]

function makeFileId(createdAt: number): Message {
  return {
    number: FILE_ID.message,
    fields: [
      [FILE_ID.type, 'enum', ACTIVITY_FILE],
      [1, 'uint16', DEVELOPMENT], // manufacturer
      [2, 'uint16', 1], // product
      [3, 'uint32z', 1], // serial number
      [FILE_ID.createdAt, 'uint32', createdAt],
    ],
  }
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

function makeRecord(track: Track, place: number): Message {
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
    ],
  }
}

/** Makes the messages that sum the ride up: one lap, one session, the activity. */
function makeSums(time: { start: number; end: number; seconds: number }, totals: Totals): Message[] {
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

/** Base types of the FIT protocol: their number, their bytes, and the value that stands for nothing. */
const BASE_TYPES = {
  enum: [0x00, 1, 0xff],
  uint8: [0x02, 1, 0xff],
  uint16: [0x84, 2, 0xffff],
  sint32: [0x85, 4, 0x7fffffff],
  uint32: [0x86, 4, 0xffffffff],
  uint32z: [0x8c, 4, 0],
} as const

const HEADER_BYTES = 14
/** Version 2.0. */
const PROTOCOL_VERSION = 0x20

/** Encodes messages as a FIT file: header, a definition before the first message of each number, checksum. */
function encodeFit(messages: readonly Message[]): Uint8Array {
  const numbers: number[] = []
  const encoded = messages.flatMap((message) => {
    const isNew = !numbers.includes(message.number)
    if (isNew) numbers.push(message.number)
    const local = numbers.indexOf(message.number)
    return isNew
      ? [encodeDefinition(message, local), encodeData(message, local)]
      : [encodeData(message, local)]
  })
  const data = Buffer.concat(encoded)
  const header = Buffer.alloc(HEADER_BYTES)
  header.set([HEADER_BYTES, PROTOCOL_VERSION])
  header.writeUInt32LE(data.length, 4)
  header.write('.FIT', 8, 'latin1')
  header.writeUInt16LE(fitCrc(0, header.subarray(0, 12)), 12)
  const file = Buffer.concat([header, data, Buffer.alloc(2)])
  file.writeUInt16LE(fitCrc(0, file.subarray(0, -2)), file.length - 2)
  return file
}

function encodeDefinition({ number, fields }: Message, local: number): Buffer {
  const places = fields.flatMap(([field, type]) => [field, BASE_TYPES[type][1], BASE_TYPES[type][0]])
  return Buffer.from([0x40 | local, 0, 0, number, 0, fields.length, ...places])
}

function encodeData({ fields }: Message, local: number): Buffer {
  const data = Buffer.alloc(fields.reduce((bytes, [, type]) => bytes + BASE_TYPES[type][1], 1))
  let place = data.writeUInt8(local)
  for (const [, type, value] of fields) {
    const [, size, nothing] = BASE_TYPES[type]
    const written = Number.isNaN(value) ? nothing : Math.round(value)
    place = type === 'sint32' ? data.writeInt32LE(written, place) : data.writeUIntLE(written, place, size)
  }
  return data
}
