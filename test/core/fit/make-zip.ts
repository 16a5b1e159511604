import { crc32, deflateRawSync } from 'node:zlib'

export type ZipMember = {
  name: string
  bytes: Uint8Array
  /** size that the directory states, if it is wrong */
  claimedSize?: number
  encrypted?: boolean
  method?: number
  unixMode?: number
}

/** Makes a zip archive, including invalid ones. */
export function makeZip(members: ZipMember[]): Buffer {
  const bodies: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const member of members) {
    const method = member.method ?? 8
    const packed = method === 8 ? deflateRawSync(member.bytes) : Buffer.from(member.bytes)
    const name = Buffer.from(member.name)
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(0x800 | (member.encrypted ? 1 : 0), 2)
    common.writeUInt16LE(method, 4)
    common.writeUInt32LE(checksum(member.bytes), 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(member.claimedSize ?? member.bytes.length, 18)
    common.writeUInt16LE(name.length, 22)
    const place = Buffer.alloc(14)
    place.writeUInt32LE(((member.unixMode ?? 0o100644) << 16) >>> 0, 6)
    place.writeUInt32LE(offset, 10)
    const body = Buffer.concat([Buffer.from('PK\x03\x04'), common, name, packed])
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x03'), common, place, name]))
    bodies.push(body)
    offset += body.length
  }
  const entries = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 0, 'latin1')
  end.writeUInt16LE(members.length, 8)
  end.writeUInt16LE(members.length, 10)
  end.writeUInt32LE(entries.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...bodies, entries, end])
}

/** The oldest Node that the tests run on has no crc32. */
function checksum(bytes: Uint8Array): number {
  return typeof crc32 === 'function' ? crc32(bytes) : 0
}
