import { findWaitingFiles } from '../../../store/waiting-files.ts'
import { type Finding, leftOut, ok, warning } from '../finding.ts'
import type { Patient } from '../patient.ts'

/** How many are named; the rest stands in `musette status`. */
const NAMED = 5

/** Looks what waits in the drop folder for a person, as the daemon that watches it has said last. */
export async function checkWaitingFiles({ mirror }: Pick<Patient, 'mirror'>): Promise<Finding[]> {
  const found = await mirror()
  if ('reason' in found) return [leftOut(found.reason)]
  const waiting = await found.store.read(findWaitingFiles)
  if (waiting.length === 0) return [ok('no file in the drop folder waits for a person')]
  const findings = waiting
    .slice(0, NAMED)
    .map(({ path, reason }) => warning(`${path} waits: ${reason}`, 'musette status'))
  const more = waiting.length - NAMED
  if (more > 0) findings.push(warning(`${more} more wait`, 'musette status'))
  return findings
}
