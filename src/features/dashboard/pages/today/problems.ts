import { countOf, formatCount } from '../../../../kit/text.ts'
import { collectFindings } from '../../../../program/frame/findings/collect-findings.ts'
import { TIMEZONE_RULE } from '../../../../program/frame/findings/core-sources.ts'
import type { Facts } from '../../../../program/frame/findings/facts.ts'

/** A problem in a sentence, with the command to type where there is one. `calm`: it passes by itself, or is past. */
type ProblemView = {
  text: string
  command: string | null
  calm?: boolean
  /** the account whose home time zone mends it, which the browser may offer */
  home_of?: string
}

/** What a person reads; a fault of the service may be a problem of each of 10,000 accounts. */
const MAX_PROBLEMS = 20

/** Describes how many other accounts than the shown one need a look. */
export function describeOthers(unwell: ReadonlySet<unknown>, shown?: string): ProblemView[] {
  const others = [...unwell].filter((name) => name !== undefined && name !== shown).length
  const text = `${countOf(others, 'other account needs', 'other accounts need')} a look. Type:`
  return others === 0 ? [] : [{ text, command: 'musette status', calm: true }]
}

/**
 * Collects what a person should know or do, by the findings of a page, or of the head of every page, each with the command to type where
 * there is one; after the first `most` their number.
 */
export async function collectProblems(
  facts: Facts,
  place: 'page' | 'header',
  most = MAX_PROBLEMS,
): Promise<ProblemView[]> {
  const findings = (await collectFindings(facts, { place })).filter(({ state }) => state !== 'ok')
  const more = findings.length - most
  const rest = more > 0 ? [{ text: `And ${formatCount(more)} more. Type:`, command: 'musette status' }] : []
  return findings
    .slice(0, most)
    .map(({ found, run, state, rule, account }): ProblemView => {
      const sentence = found.replace(/"([^"]*)"/g, '“$1”').replace(/^./, (letter) => letter.toUpperCase())
      return {
        text: `${sentence.replace(/\.$/, '')}.${run === undefined ? '' : ' Type:'}`,
        command: run ?? null,
        ...(state === 'calm' && { calm: true }),
        ...(rule === TIMEZONE_RULE && account !== undefined && { home_of: account }),
      }
    })
    .concat(rest)
}
