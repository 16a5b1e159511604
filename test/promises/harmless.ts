import type { Mutant } from './mutants.ts'

/** Changes that cannot matter: the same for every input, or only for speed. They are not counted. */
export type Harmless = { in: string; from: string; to: string; reason: string }

export const HARMLESS: readonly Harmless[] = [
  {
    in: 'src/core/mirror/rebuild-activities.ts',
    from: '3_500_000',
    to: '7000000',
    reason: 'how many bytes of stored answers are rebuilt together is a matter of memory and speed',
  },
  {
    in: 'src/core/normalize/activity-answer.ts',
    from: '!(time >= previous && fitsTimestamp(time))',
    to: '!(!(time >= previous && fitsTimestamp(time)))',
    reason: 'samples in order are sorted, too, which takes time and changes nothing',
  },
  {
    in: 'src/core/service/scanner/scan-rows.ts',
    from: '256',
    to: '257',
    reason: 'a list is read the same in whatever windows',
  },
  {
    in: 'src/core/service/wire/scan-samples.ts',
    from: '16',
    to: '17',
    reason: 'a byte more of memory is read by nobody',
  },
]

/** Tells whether a mutant is one of those that cannot matter. Pure. */
export function isHarmless(mutant: Mutant): boolean {
  return HARMLESS.some(
    ({ in: path, from, to }) => path === mutant.in && from === mutant.from && to === mutant.to,
  )
}
