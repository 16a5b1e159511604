import { fitCommand } from '../../app/remedy.ts'
import { CORE_SOURCES } from './core-sources.ts'
import type { Facts } from './facts.ts'
import type { Finding, Place } from './finding.ts'

/** Returns all sources of findings, in the order of the doctor's checks. */
export async function listSources(facts: Pick<Facts, 'states'>) {
  return [...CORE_SOURCES, ...(await facts.states())]
}

/**
 * Collects the findings of one check of the doctor, or the findings shown at a place; findings with the state `ok` are included. Each
 * command is fitted to where the settings are. Reads no more than the choice needs.
 */
export async function collectFindings(facts: Facts, choice: { check: string } | { place: Place }) {
  const place = 'place' in choice ? choice.place : 'doctor'
  const found: Array<Finding & { check: string }> = []
  for (const { check, rules, judge } of await listSources(facts)) {
    const isChosen =
      'check' in choice
        ? check === choice.check
        : Object.values(rules).some(({ shown }) => shown.includes(place))
    for (const finding of isChosen ? await facts.once(judge) : []) {
      const { rule, run } = finding
      if (rule && !rule.shown.includes(place)) continue
      found.push({ check, ...finding, ...(run !== undefined && { run: fitCommand(run, facts.config) }) })
    }
  }
  return found
}

/** Finds the last database copy that a feature made, and the check of that feature; undefined if no feature makes copies. */
export async function findLastCopy(facts: Facts) {
  for (const { check, findCopy } of await facts.states()) {
    const copy = await findCopy?.(facts)
    if (copy) return { ...copy, check }
  }
  return undefined
}
