import { Transform } from 'node:stream'

/**
 * Makes a stream of MQTT packets that leaves out packets with more than `limit` bytes while they arrive, so that no process has to hold
 * them. `onDropped` gets the size of each.
 */
export function dropLongPackets(limit: number, onDropped: (bytes: number) => void): Transform {
  /** the type and the length of a packet, as far as they have arrived */
  let head: number[] = []
  /** bytes of the packet that are still to come */
  let left = 0
  let isDropped = false
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      for (let at = 0; at < chunk.length; ) {
        if (left > 0) {
          const part = chunk.subarray(at, at + left)
          if (!isDropped) this.push(part)
          at += part.length
          left -= part.length
          continue
        }
        const byte = chunk[at] ?? 0
        head.push(byte)
        at += 1
        // After the type, a length has up to four bytes with seven bits each, the lowest first; the eighth bit says that another follows.
        if (head.length === 1 || (byte >= 128 && head.length < 5)) continue
        left = head.slice(1).reduce((sum, each, index) => sum + (each % 128) * 128 ** index, 0)
        isDropped = left > limit
        if (isDropped) onDropped(left)
        else this.push(Buffer.from(head))
        head = []
      }
      done()
    },
  })
}
