/** Bodies that were written lately, so that the same answer is not written twice. */
export type Bodies = { kept: Map<string, Buffer>; bytes: number }

/** Enough for some thirty rides with samples, small beside the rest of a process. */
const MAX_BYTES = 48 * 1024 * 1024

/** Makes an empty shelf of bodies. */
export function makeBodies(): Bodies {
  return { kept: new Map(), bytes: 0 }
}

/** The body kept under a key, or a new one that is then kept; the oldest make room. */
export function bodyFor(bodies: Bodies, key: string, write: () => string): Buffer {
  const known = bodies.kept.get(key)
  if (known) {
    bodies.kept.delete(key)
    bodies.kept.set(key, known)
    return known
  }
  const body = Buffer.from(write())
  bodies.kept.set(key, body)
  bodies.bytes += body.length
  for (const [oldest, old] of bodies.kept) {
    if (bodies.bytes <= MAX_BYTES || oldest === key) break
    bodies.kept.delete(oldest)
    bodies.bytes -= old.length
  }
  return body
}
