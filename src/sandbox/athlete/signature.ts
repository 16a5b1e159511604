import { type Load, type Standing, totalOf } from './loads.ts'

/** A fitness signature: ftp, ltp and pp in watts, hie in kilojoules. */
export type Signature = { ftp: number; ltp: number; hie: number; pp: number }

/** The state of what is left above threshold: `balanceJ` joules of `signature.hie`. */
export type Reserve = { balanceJ: number }

/** Makes a rested reserve. */
export function makeReserve(signature: Signature): Reserve {
  return { balanceJ: signature.hie * 1_000 }
}

/**
 * Moves the reserve through `seconds` at `watts` and returns the maximal power available after it, in watts: it falls
 * from Peak Power towards Threshold Power while the rider is above threshold, and comes back below.
 */
export function spendReserve(reserve: Reserve, signature: Signature, watts: number, seconds = 1): number {
  const full = signature.hie * 1_000
  if (watts > signature.ftp) {
    reserve.balanceJ = Math.max(0, reserve.balanceJ - (watts - signature.ftp) * seconds)
  } else {
    const share = 1 - Math.exp((-(signature.ftp - watts) * seconds) / full)
    reserve.balanceJ += (full - reserve.balanceJ) * share
  }
  return availablePower(reserve, signature)
}

/** The maximal power available now, in watts. */
export function availablePower(reserve: Reserve, signature: Signature): number {
  const spent = 1 - reserve.balanceJ / (signature.hie * 1_000)
  return signature.ftp + (signature.pp - signature.ftp) * (1 - spent * spent)
}

/** What sets a rider apart. */
export type Body = { weightKg: number; base: Signature; daily: Load }

/** The signature a rider of this body has at this standing: more training load, more power. */
export function signatureAt(body: Body, standing: Standing): Signature {
  const gain = Math.tanh(totalOf(standing.tl) / 60)
  return makeSignature({
    ftp: body.base.ftp * (0.9 + 0.2 * gain),
    ltp: body.base.ltp * (0.88 + 0.24 * gain),
    hie: body.base.hie * (0.95 + 0.1 * Math.tanh(standing.tl.high / 3)),
    pp: body.base.pp * (0.97 + 0.06 * Math.tanh(standing.tl.peak)),
  })
}

/** A signature with every number times `factor`. */
export function scaleSignature(signature: Signature, factor: number): Signature {
  return makeSignature({
    ftp: signature.ftp * factor,
    ltp: signature.ltp * factor,
    hie: signature.hie * factor,
    pp: signature.pp * factor,
  })
}

/** Recorded signatures have ten decimals and a whole number for Peak Power. */
export function makeSignature({ ftp, ltp, hie, pp }: Signature): Signature {
  return { ftp: tenDecimals(ftp), ltp: tenDecimals(ltp), hie: tenDecimals(hie), pp: Math.round(pp) }
}

function tenDecimals(value: number): number {
  return Math.round(value * 1e10) / 1e10
}
