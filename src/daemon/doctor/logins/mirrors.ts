import { formatDuration } from '../../../kit/durations.ts'
import { findStandings, type Standing } from '../../../store/standing.ts'
import { type Finding, leftOut, ok, warning } from '../finding.ts'
import type { Patient } from '../patient.ts'

/** A poll may be late by a run that waits for the service; this many intervals late is not fresh. */
const FRESH_WITHIN_INTERVALS = 3

/** Looks whether each account was polled lately, and what of it could not be mirrored. */
export async function checkMirrors({ config, mirror }: Patient): Promise<Finding[]> {
  const found = await mirror()
  if ('reason' in found) return [leftOut(found.reason)]
  const standings = await found.store.read(findStandings)
  if (standings.length === 0) return [leftOut('there is no account yet')]
  return standings.flatMap((standing) => [
    judgePoll(standing, FRESH_WITHIN_INTERVALS * config.mirror.pollEveryMs),
    ...judgeTrouble(standing),
  ])
}

function judgePoll({ account, polled_at, mirrored, activities }: Standing, freshMs: number): Finding {
  const name = `account "${account}"`
  if (!polled_at) return warning(`${name} was never polled`, 'musette start')
  const age = Date.now() - polled_at.getTime()
  const found = `${name}: ${mirrored} of ${activities} activities are here; last good poll ${formatDuration(age)} ago`
  return age > freshMs ? warning(found, 'musette start') : ok(found)
}

function judgeTrouble({ account, failed, reconcile_error }: Standing): Finding[] {
  const findings: Finding[] = []
  if (failed > 0) {
    const found = `account "${account}": ${failed} activities failed; they are asked for again by themselves`
    findings.push(warning(found, 'musette status'))
  }
  if (reconcile_error) findings.push(warning(`account "${account}": ${reconcile_error}`, 'musette status'))
  return findings
}
