import { DAY } from '../../kit/time.ts'

/** A training load in its three parts, in XSS. */
export type Load = { low: number; high: number; peak: number }

/** The training load, which changes slowly, and the recovery load, which changes quickly, in XSS per day. */
export type Loads = { tl: Load; rl: Load }

/** The days after which each part of a load has fallen to about a third. */
const TRAINING_DAYS: Load = { low: 42, high: 20, peak: 12 }
const RECOVERY_DAYS: Load = { low: 7, high: 9, peak: 6 }

/** Makes the loads of a rider who has long had the same daily load. */
export function makeLoads(daily: Load): Loads {
  return { tl: { ...daily }, rl: { ...daily } }
}

/** Returns the loads after `ms` without training; the recovery load stays at least a share of the training load (note 40). */
export function rest(loads: Loads, ms: number): Loads {
  const days = Math.max(0, ms) / DAY
  const fade = (load: Load, fading: Load) => mapLoad((part) => load[part] * Math.exp(-days / fading[part]))
  const [tl, rl] = [fade(loads.tl, TRAINING_DAYS), fade(loads.rl, RECOVERY_DAYS)]
  return { tl, rl: mapLoad((part) => Math.max(rl[part], tl[part] * Math.exp(-1 / RECOVERY_DAYS[part]))) }
}

export function train(loads: Loads, load: Load): Loads {
  const add = (old: Load, fading: Load) =>
    mapLoad((part) => old[part] + load[part] * (1 - Math.exp(-1 / fading[part])))
  return { tl: add(loads.tl, TRAINING_DAYS), rl: add(loads.rl, RECOVERY_DAYS) }
}

export function mapLoad(value: (part: keyof Load) => number): Load {
  return { low: value('low'), high: value('high'), peak: value('peak') }
}

export function totalOf(load: Load): number {
  return load.low + load.high + load.peak
}

/** Returns training load minus recovery load; negative means tired. */
export function formOf(loads: Loads): number {
  return totalOf(loads.tl) - totalOf(loads.rl)
}

/** Returns the service's term for how rested a rider is (Training info, `status`). */
export function freshnessOf(loads: Loads): string {
  const training = totalOf(loads.tl)
  const share = training > 0 ? formOf(loads) / training : 0
  if (training < 4) return 'Detraining'
  // With the smallest recovery load, the share is at most 0.13.
  if (share > 0.1) return 'Very fresh'
  if (share > -0.1) return 'Fresh'
  return share > -0.6 ? 'Tired' : 'Very tired'
}

/** A fitness signature: ftp, ltp and pp in watts, hie in kilojoules. */
export type Signature = { ftp: number; ltp: number; hie: number; pp: number }

/** A rider's properties: weight, the signature without training, and the usual daily load. */
export type Body = { weightKg: number; base: Signature; daily: Load }

/** Returns a rider's body; its size depends on the seed. */
export function bodyOf(seed: number): Body {
  const size = 1 + ((Math.abs(seed) % 7) - 3) * 0.04
  return {
    weightKg: Math.round(720 * size) / 10,
    base: { ftp: 256 * size, ltp: 204 * size, hie: 21.5 * size, pp: 1_085 * size },
    daily: { low: 14, high: 0.8, peak: 0.1 },
  }
}

/** Returns a rider's signature at these loads: more training load gives more power. */
export function signatureAt({ base }: Body, { tl }: Loads): Signature {
  const gain = Math.tanh(totalOf(tl) / 60)
  return makeSignature({
    ftp: base.ftp * (0.9 + 0.2 * gain),
    ltp: base.ltp * (0.88 + 0.24 * gain),
    hie: base.hie * (0.95 + 0.1 * Math.tanh(tl.high / 3)),
    pp: base.pp * (0.97 + 0.06 * Math.tanh(tl.peak)),
  })
}

export function scaleSignature({ ftp, ltp, hie, pp }: Signature, factor: number): Signature {
  return makeSignature({ ftp: ftp * factor, ltp: ltp * factor, hie: hie * factor, pp: pp * factor })
}

/** Makes a signature with the precision of recorded signatures: ten decimals, and a whole Peak Power. */
export function makeSignature({ ftp, ltp, hie, pp }: Signature): Signature {
  const tenDecimals = (value: number) => Math.round(value * 1e10) / 1e10
  return { ftp: tenDecimals(ftp), ltp: tenDecimals(ltp), hie: tenDecimals(hie), pp: Math.round(pp) }
}

/** The remaining energy above threshold: `balanceJ` joules of `signature.hie`. */
type Reserve = { balanceJ: number }

export function makeReserve(signature: Signature): Reserve {
  return { balanceJ: signature.hie * 1_000 }
}

/** Rides `seconds` at `watts` and returns the maximal power available afterwards, W. Above threshold, it falls from Peak Power towards Threshold Power; below, it recovers. */
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

export function availablePower(reserve: Reserve, signature: Signature): number {
  const spent = 1 - reserve.balanceJ / (signature.hie * 1_000)
  return signature.ftp + (signature.pp - signature.ftp) * (1 - spent * spent)
}
