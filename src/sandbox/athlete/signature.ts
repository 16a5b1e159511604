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

/** A signature with every number times `factor`. */
export function scaleSignature(signature: Signature, factor: number): Signature {
  return {
    ftp: signature.ftp * factor,
    ltp: signature.ltp * factor,
    hie: signature.hie * factor,
    pp: signature.pp * factor,
  }
}
