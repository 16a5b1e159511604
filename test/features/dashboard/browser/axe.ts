import axe from 'axe-core'
import type { Page } from 'playwright-core'

type Violation = { id: string; nodes: ReadonlyArray<{ html: string; failureSummary: string }> }

/** Checks the page with axe and returns a sentence for each violation of WCAG 2.2 AA or axe's best practices. */
export async function listViolations(page: Page): Promise<string[]> {
  // The page's content security policy forbids foreign scripts, but the debugger may run them.
  const violations = (await page.evaluate(
    `${axe.source}; axe.run(document).then((result) => result.violations)`,
  )) as Violation[]
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)}: ${failureSummary}`),
  )
}
