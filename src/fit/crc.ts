/** The FIT checksum of each byte: CRC-16 with the reflected polynomial 0xA001. */
const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >> 1) ^ 0xa001 : crc >> 1
  return crc
})

/** Continues a FIT checksum over more bytes; it begins with 0, and over a part with its own checksum it is 0 again. */
export function fitCrc(crc: number, bytes: Uint8Array): number {
  let sum = crc
  for (let i = 0; i < bytes.length; i++) sum = (sum >> 8) ^ (TABLE[(sum ^ (bytes[i] ?? 0)) & 0xff] ?? 0)
  return sum
}
