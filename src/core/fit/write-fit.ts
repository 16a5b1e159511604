import { fitCrc } from './fit-walker.ts'

/** A message by its number in the FIT profile (below 256). */
export type Message = { number: number; fields: readonly Field[] }
/** A field by its number in the FIT profile, in the unit of the profile; NaN if nothing was recorded. */
export type Field =
  | readonly [number: number, type: keyof typeof BASE_TYPES, value: number]
  | readonly [number: number, type: 'string', value: string]

/** Base types of the FIT protocol: number, size in bytes, and invalid value, which means no value. */
const BASE_TYPES = {
  enum: [0x00, 1, 0xff],
  sint8: [0x01, 1, 0x7f],
  uint8: [0x02, 1, 0xff],
  uint16: [0x84, 2, 0xffff],
  sint32: [0x85, 4, 0x7fffffff],
  uint32: [0x86, 4, 0xffffffff],
  uint32z: [0x8c, 4, 0],
} as const
const STRING = 0x07

const HEADER_BYTES = 14
/** FIT protocol 2.0. */
const PROTOCOL_VERSION = 0x20
/** Maximum number of message kinds in a file. */
const MAX_KINDS = 16

/**
 * Encodes messages as a FIT file: header, messages, checksum. A definition precedes each message whose fields differ from the last message of
 * its number. Strings are UTF-8 with a final zero byte, at most 254 bytes. Throws RangeError for more than 16 message numbers.
 */
export function encodeFit(messages: readonly Message[]): Uint8Array {
  const numbers: number[] = []
  const definitions: Buffer[] = []
  const encoded = messages.flatMap((message) => {
    if (!numbers.includes(message.number)) numbers.push(message.number)
    const local = numbers.indexOf(message.number)
    if (local >= MAX_KINDS) throw new RangeError('a FIT file of more than 16 kinds of messages')
    const definition = encodeDefinition(message, local)
    const isKnown = definitions[local]?.equals(definition) ?? false
    definitions[local] = definition
    return isKnown ? [encodeData(message, local)] : [definition, encodeData(message, local)]
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
  const places = fields.flatMap((field) => {
    const [of, type] = field
    return [of, sizeOf(field), type === 'string' ? STRING : BASE_TYPES[type][0]]
  })
  return Buffer.from([0x40 | local, 0, 0, number, 0, fields.length, ...places])
}

function sizeOf([, type, value]: Field): number {
  return type === 'string' ? Buffer.byteLength(value) + 1 : BASE_TYPES[type][1]
}

function encodeData({ fields }: Message, local: number): Buffer {
  const data = Buffer.alloc(fields.reduce((bytes, field) => bytes + sizeOf(field), 1))
  let place = data.writeUInt8(local)
  for (const field of fields) {
    const [, type, value] = field
    if (type === 'string') {
      data.write(value, place)
      place += sizeOf(field)
      continue
    }
    const [, size, nothing] = BASE_TYPES[type]
    const written = Number.isNaN(value) ? nothing : Math.round(value)
    const isSigned = type === 'sint8' || type === 'sint32'
    place = isSigned ? data.writeIntLE(written, place, size) : data.writeUIntLE(written, place, size)
  }
  return data
}
