/** Wraps the bytes of messages into a FIT file with a correct length and checksum. */
export function wrap(data: ArrayLike<number>): Buffer {
  const file = Buffer.alloc(12 + data.length + 2)
  file.set([12, 0x20, 0, 0], 0)
  file.writeUInt32LE(data.length, 4)
  file.write('.FIT', 8, 'latin1')
  file.set(data, 12)
  let crc = 0
  // CRC-16 with the polynomial 0xA001, bit by bit.
  for (const byte of file.subarray(0, -2)) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (crc & 1 ? 0xa001 : 0)
  }
  file.writeUInt16LE(crc, file.length - 2)
  return file
}

/** The four bytes of a number, lowest byte first. */
export const littleEndian = (value: number) => [0, 8, 16, 24].map((shift) => (value >>> shift) & 0xff)
/** A definition and a message that declare the file an activity. */
export const FILE_ID_ACTIVITY = [0x40, 0, 0, 0, 0, 1, 0, 1, 0, 0x00, 4]
/** A FIT time, s. */
export const T0 = 1_100_000_000

/** Makes a generator of numbers from 0 to 1, the same numbers for the same seed. */
export function makeRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state / 2 ** 31
  }
}
