import { parseArgs } from 'node:util'
import { benchClub } from './club.ts'
import { benchExport } from './export.ts'
import { benchFit } from './fit.ts'
import { benchIngest } from './ingest.ts'
import { benchMcp } from './mcp.ts'
import { benchRebuild } from './rebuild.ts'
import { type Part, within } from './rig.ts'
import { benchSmall } from './small.ts'
import { benchStart } from './start.ts'
import { benchWaits } from './waits.ts'
import { benchWeb } from './web.ts'
import { benchWorkers } from './workers.ts'

// Prints one table of what a run on this machine shows; docs/performance.md says how to read it. `npm run bench -- ingest`
// runs one part; the sizes are for the part club.
const PARTS: Readonly<Record<string, Part>> = {
  ingest: benchIngest,
  rebuild: benchRebuild,
  export: benchExport,
  start: benchStart,
  club: benchClub,
  workers: benchWorkers,
  fit: benchFit,
  waits: benchWaits,
  web: benchWeb,
  mcp: benchMcp,
  small: benchSmall,
}
const { positionals: asked, values } = parseArgs({
  allowPositionals: true,
  options: {
    accounts: { type: 'string', default: '1000,10000' },
    seconds: { type: 'string', default: '60' },
  },
})
const sizes = {
  accounts: values.accounts.split(',').map(Number),
  seconds: Number(values.seconds),
}
const unknown = asked.filter((name) => !PARTS[name])
if (unknown.length > 0)
  throw new Error(`there is no part ${unknown.join(', ')}; there are ${Object.keys(PARTS).join(', ')}`)

for (const [name, part] of Object.entries(PARTS)) {
  if (asked.length > 0 && !asked.includes(name)) continue
  for (const [what, value, goal] of await within((release) => part(release, sizes)))
    process.stdout.write(`${name.padEnd(11)}${what.padEnd(66)}${value.padStart(24)}   ${goal ?? ''}\n`)
}
