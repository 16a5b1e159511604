import { countOf, formatCount } from '../../../../kit/text.ts'
import { collectFindings } from '../../../../program/frame/findings/collect-findings.ts'
import { TIMEZONE_RULE } from '../../../../program/frame/findings/core-sources.ts'
import type { Facts } from '../../../../program/frame/findings/facts.ts'

/** A problem in a sentence, with the command to run if there is one. `calm`: the problem is over, or ends without a person. */
type ProblemView = {
  text: string
  command: string | null
  calm?: boolean
  /** the account that needs a home time zone to fix the problem; the page offers the browser's zone */
  home_of?: string
}

/** Maximum number of problems on a page: an outage of the service may affect each of 10,000 accounts. */
const MAX_PROBLEMS = 20

/** Describes how many accounts other than the shown account have problems. */
export function describeOthers(unwell: ReadonlySet<unknown>, shown?: string): ProblemView[] {
  const others = [...unwell].filter((name) => name !== undefined && name !== shown).length
  const text = `${countOf(others, 'other account has', 'other accounts have')} problems. Run:`
  return others === 0 ? [] : [{ text, command: 'musette status', calm: true }]
}

/**
 * Collects the problems for a page or for the header of every page, each with the command to run if there is one. After the first `most`,
 * adds the number of the others.
 */
export async function collectProblems(
  facts: Facts,
  place: 'page' | 'header',
  most = MAX_PROBLEMS,
): Promise<ProblemView[]> {
  const findings = (await collectFindings(facts, { place })).filter(({ state }) => state !== 'ok')
  const more = findings.length - most
  const rest = more > 0 ? [{ text: `And ${formatCount(more)} more. Run:`, command: 'musette status' }] : []
  return findings
    .slice(0, most)
    .map(({ found, run, state, rule, account }): ProblemView => {
      const sentence = found.replace(/"([^"]*)"/g, '“$1”').replace(/^./, (letter) => letter.toUpperCase())
      return {
        text: `${sentence.replace(/\.$/, '')}.${run === undefined ? '' : ' Run:'}`,
        command: run ?? null,
        ...(state === 'calm' && { calm: true }),
        ...(rule === TIMEZONE_RULE && account !== undefined && { home_of: account }),
      }
    })
    .concat(rest)
}
