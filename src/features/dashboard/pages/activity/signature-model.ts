import type { ComparedPoint } from './queries.ts'

type Signature = { sig_ftp: number | null; sig_atc: number | null; sig_pp: number | null }

/** Computes the maximal power by duration that a signature predicts (three-parameter critical power model), W; undefined without a signature. */
export function modelOf(
  { sig_ftp: ftp, sig_atc: atc, sig_pp: peak }: Signature,
  durations: readonly number[],
): ComparedPoint[] | undefined {
  if (ftp === null || atc === null || peak === null || peak <= ftp || atc <= 0) return undefined
  return durations.map((duration) => ({
    duration_s: duration,
    watts: ftp + atc / (duration + atc / (peak - ftp)),
    activity_id: null,
    day: null,
  }))
}
