import { FEATURES } from '../../features/index.ts'
import { collectFindings } from '../frame/findings/collect-findings.ts'
import { makeFacts } from '../frame/findings/facts.ts'
import { type Finding, leftOut } from '../frame/findings/finding.ts'
import type { MirrorContext } from './doctor-context.ts'

/** Finds what the judges of a check find. */
export async function findListed({ config, mirror }: MirrorContext, check: string): Promise<Finding[]> {
  const database = await mirror()
  if ('reason' in database) return [leftOut(database.reason)]
  return collectFindings(makeFacts({ config, store: database.store, features: FEATURES }, new Date()), {
    check,
  })
}
