import { FIT_EPOCH_S } from '../fit/profile.ts'
import { fitCrc } from '../fit/walk.ts'
import type { Signature } from './athlete/fitness.ts'
import { at, simulateTrack, type Track } from './athlete/ride.ts'
import { scoreTrack, sumTrack } from './athlete/score.ts'

const SIGNATURE: Signature = { ftp: 250, ltp: 200, hie: 21, pp: 1_050 }
const SEMICIRCLES_PER_DEGREE = 2 ** 31 / 180

/** Numbers of the FIT profile that name a value. */
const MAKER = { development: 255 }
const SPORT = { cycling: 2, road: 7 }
const EVENT = { timer: 0, session: 8, lap: 9, activity: 26 }
const EVENT_TYPE = { start: 0, stop: 1, stopAll: 4 }

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
  const start = fitTime(startMs)
  const end = start + totals.elapsedSeconds
  const summary = {
    timestamp: end,
    startTime: start,
    sport: SPORT.cycling,
    messageIndex: 0,
    eventType: EVENT_TYPE.stop,
    elapsedTime: totals.elapsedSeconds,
    timerTime: input.seconds,
    distance: totals.distanceKm * 1_000,
    ascent: totals.climbM,
    avgPower: totals.avgPower,
    maxPower: totals.maxPower,
    maxCadence: totals.maxCadence,
    calories: totals.workKj,
  }
  return encodeFit([
    ['fileId', { type: 4, manufacturer: MAKER.development, product: 1, serialNumber: 1, createdAt: start }],
    ['event', { timestamp: start, event: EVENT.timer, eventType: EVENT_TYPE.start }],
    ...Array.from({ length: input.seconds }, (_, i) => makeRecord(track, i)),
    ['event', { timestamp: end, event: EVENT.timer, eventType: EVENT_TYPE.stopAll }],
    ['lap', { ...summary, event: EVENT.lap }],
    ['session', { ...summary, event: EVENT.session, subSport: SPORT.road, firstLap: 0, laps: 1 }],
    [
      'activity',
      {
        timestamp: end,
        timerTime: input.seconds,
        sessions: 1,
        type: 0,
        event: EVENT.activity,
        eventType: EVENT_TYPE.stop,
      },
    ],
  ])
}

function makeRecord(track: Track, place: number): Message {
  return [
    'record',
    {
      timestamp: fitTime(at(track.unixMs, place)),
      lat: at(track.lat, place) * SEMICIRCLES_PER_DEGREE,
      lng: at(track.lng, place) * SEMICIRCLES_PER_DEGREE,
      distance: at(track.dist, place),
      speed: at(track.spd, place),
      altitude: at(track.alt, place),
      power: at(track.power, place),
      heartRate: at(track.hr, place),
      cadence: at(track.cad, place),
    },
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

/** A field by its number in the FIT profile; the number written is `(value + offset) * scale`. */
type Field = readonly [number: number, type: keyof typeof BASE_TYPES, scale?: number, offset?: number]

const TIME: Field = [253, 'uint32']
const INDEX: Field = [254, 'uint16']

/** The messages we write, by their number in the FIT profile. */
const MESSAGES = {
  fileId: {
    number: 0,
    fields: {
      type: [0, 'enum'],
      manufacturer: [1, 'uint16'],
      product: [2, 'uint16'],
      serialNumber: [3, 'uint32z'],
      createdAt: [4, 'uint32'],
    },
  },
  event: { number: 21, fields: { timestamp: TIME, event: [0, 'enum'], eventType: [1, 'enum'] } },
  record: {
    number: 20,
    fields: {
      timestamp: TIME,
      lat: [0, 'sint32'],
      lng: [1, 'sint32'],
      distance: [5, 'uint32', 100],
      speed: [73, 'uint32', 1_000],
      altitude: [78, 'uint32', 5, 500],
      power: [7, 'uint16'],
      heartRate: [3, 'uint8'],
      cadence: [4, 'uint8'],
    },
  },
  lap: {
    number: 19,
    fields: {
      timestamp: TIME,
      startTime: [2, 'uint32'],
      sport: [25, 'enum'],
      elapsedTime: [7, 'uint32', 1_000],
      timerTime: [8, 'uint32', 1_000],
      distance: [9, 'uint32', 100],
      ascent: [21, 'uint16'],
      avgPower: [19, 'uint16'],
      maxPower: [20, 'uint16'],
      maxCadence: [18, 'uint8'],
      calories: [11, 'uint16'],
      messageIndex: INDEX,
      event: [0, 'enum'],
      eventType: [1, 'enum'],
    },
  },
  session: {
    number: 18,
    fields: {
      timestamp: TIME,
      startTime: [2, 'uint32'],
      sport: [5, 'enum'],
      subSport: [6, 'enum'],
      elapsedTime: [7, 'uint32', 1_000],
      timerTime: [8, 'uint32', 1_000],
      distance: [9, 'uint32', 100],
      ascent: [22, 'uint16'],
      avgPower: [20, 'uint16'],
      maxPower: [21, 'uint16'],
      maxCadence: [19, 'uint8'],
      calories: [11, 'uint16'],
      messageIndex: INDEX,
      event: [0, 'enum'],
      eventType: [1, 'enum'],
      firstLap: [25, 'uint16'],
      laps: [26, 'uint16'],
    },
  },
  activity: {
    number: 34,
    fields: {
      timestamp: TIME,
      timerTime: [0, 'uint32', 1_000],
      sessions: [1, 'uint16'],
      type: [2, 'enum'],
      event: [3, 'enum'],
      eventType: [4, 'enum'],
    },
  },
} as const satisfies Record<string, { number: number; fields: Record<string, Field> }>

type Kind = keyof typeof MESSAGES
type Message = {
  [K in Kind]: [kind: K, values: Partial<Record<keyof (typeof MESSAGES)[K]['fields'], number>>]
}[Kind]

const KINDS = Object.keys(MESSAGES)
const HEADER_BYTES = 14

/** Encodes messages as a FIT file: header with checksum, a definition before the first message of each kind, checksum. */
function encodeFit(messages: readonly Message[]): Uint8Array {
  const defined = new Set<Kind>()
  const body = messages.flatMap(([kind, values]) => {
    const message = encodeMessage(kind, values)
    if (defined.has(kind)) return [message]
    defined.add(kind)
    return [encodeDefinition(kind), message]
  })
  const header = Buffer.alloc(HEADER_BYTES)
  header.set([HEADER_BYTES, 0x20])
  header.writeUInt32LE(
    body.reduce((sum, bytes) => sum + bytes.length, 0),
    4,
  )
  header.write('.FIT', 8, 'latin1')
  header.writeUInt16LE(fitCrc(0, header.subarray(0, 12)), 12)
  const file = Buffer.concat([header, ...body, Buffer.alloc(2)])
  file.writeUInt16LE(fitCrc(0, file.subarray(0, -2)), file.length - 2)
  return file
}

/** Each kind has a local number of its own, so one definition serves all its messages. */
function encodeDefinition(kind: Kind): Buffer {
  const fields: Field[] = Object.values(MESSAGES[kind].fields)
  const head = Buffer.from([0x40 | KINDS.indexOf(kind), 0, 0, 0, 0, fields.length])
  head.writeUInt16LE(MESSAGES[kind].number, 3)
  const places = fields.flatMap(([number, type]) => [number, BASE_TYPES[type][1], BASE_TYPES[type][0]])
  return Buffer.concat([head, Buffer.from(places)])
}

function encodeMessage(kind: Kind, values: Readonly<Record<string, number>>): Buffer {
  const fields: Array<[string, Field]> = Object.entries(MESSAGES[kind].fields)
  const bytes = fields.reduce((sum, [, [, type]]) => sum + BASE_TYPES[type][1], 1)
  const message = Buffer.alloc(bytes)
  let place = message.writeUInt8(KINDS.indexOf(kind))
  for (const [name, [, type, scale = 1, offset = 0]] of fields) {
    const [, size, nothing] = BASE_TYPES[type]
    const number = Math.round(((values[name] ?? Number.NaN) + offset) * scale)
    const written = Number.isNaN(number) ? nothing : number
    place =
      type === 'sint32' ? message.writeInt32LE(written, place) : message.writeUIntLE(written, place, size)
  }
  return message
}
