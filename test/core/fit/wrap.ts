const CRC_TABLE = [
  0x0000, 0xcc01, 0xd801, 0x1400, 0xf001, 0x3c00, 0x2800, 0xe401, 0xa001, 0x6c00, 0x7800, 0xb401, 0x5000,
  0x9c01, 0x8801, 0x4400,
]

/** Wraps messages, byte by byte, into a FIT file with a right length and checksum. */
export function wrap(data: ArrayLike<number>): Buffer {
  const file = Buffer.alloc(12 + data.length + 2)
  file.set([12, 0x20, 0, 0], 0)
  file.writeUInt32LE(data.length, 4)
  file.write('.FIT', 8, 'latin1')
  file.set(data, 12)
  let crc = 0
  for (const byte of file.subarray(0, -2)) {
    for (const half of [byte & 0xf, byte >> 4]) {
      crc = (crc >> 4) ^ (CRC_TABLE[crc & 0xf] ?? 0) ^ (CRC_TABLE[half] ?? 0)
    }
  }
  file.writeUInt16LE(crc, file.length - 2)
  return file
}

/** The four bytes of a number, the lowest first. */
export const littleEndian = (value: number) => [
  value & 0xff,
  (value >> 8) & 0xff,
  (value >> 16) & 0xff,
  value >>> 24,
]
/** A definition and a message that name the file an activity. */
export const FILE_ID_ACTIVITY = [0x40, 0, 0, 0, 0, 1, 0, 1, 0, 0x00, 4]
/** A moment as FIT counts it, in s. */
export const T0 = 1_100_000_000
