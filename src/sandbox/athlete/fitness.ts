import { type Load, type Standing, totalOf } from './loads.ts'
import type { Signature } from './signature.ts'

/** What sets a rider apart. */
export type Body = { weightKg: number; base: Signature; daily: Load }

/** The signature a rider of this body has at this standing: more training load, more power. */
export function signatureAt(body: Body, standing: Standing): Signature {
  const gain = Math.tanh(totalOf(standing.tl) / 60)
  return {
    ftp: body.base.ftp * (0.9 + 0.2 * gain),
    ltp: body.base.ltp * (0.88 + 0.24 * gain),
    hie: body.base.hie * (0.95 + 0.1 * Math.tanh(standing.tl.high / 3)),
    pp: body.base.pp * (0.97 + 0.06 * Math.tanh(standing.tl.peak)),
  }
}
