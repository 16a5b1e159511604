import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { FEATURES } from '../../src/features/index.ts'
import { listSources } from '../../src/program/frame/findings/collect-findings.ts'
import { loadStates } from '../../src/program/frame/findings/facts.ts'

it('docs/monitoring.md has the table of the code', async () => {
  const page = await readFile('docs/monitoring.md', 'utf8')
  const rows = page.split('\n').filter((line) => /^\| `[a-z]+_[a-z_]+` \| \w+ \| [a-z, ]+ \| /.test(line))
  const sources = await listSources({ states: () => loadStates(FEATURES) })
  const table = sources
    .flatMap(({ rules }) => Object.values(rules))
    .map(
      ({ code, severity, shown, run }) =>
        `| \`${code}\` | ${severity} | ${shown.join(', ')} | ${run && `\`${run}\``} |`,
    )
  expect(rows).toEqual(table)
})
