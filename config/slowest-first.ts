import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Takes twenty seconds and more, the slowest first: a file of these that began last would run alone at the end. */
const SLOWEST: readonly string[] = [
  'container/build',
  'flows/leaks/verbs',
  'flows/scale/fleet',
  'docs/cookbook.test',
  'flows/upgrade/upgrade',
  'features/backup/change-major',
  'removal/removal',
  'dashboard/browser/every-page',
  'flows/connections-ended',
  'flows/surroundings/',
  'package/package',
  'mcp/cookbook.test',
  'web/outage',
  'flows/verbs-killed',
  'doctor/causes',
  'mirror/activities.test',
  'docs/tutorial',
  'flows/failover',
  'converge/converge',
  'export/export-damage',
  'dashboard/browser/',
  'flows/scale/partitions',
  'jobs/stopping',
  'mirror/reconcile',
  'export/export-all',
  'flows/other-role',
  'backup/archive.test',
  'embedded/open',
]

/** Starts the slowest test files first, in the order of SLOWEST, and then the others in vitest's own order; with ORDER=reversed all the other way round. */
export default class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = SLOWEST.findIndex((path) => moduleId.includes(`/${path}`))
      return place < 0 ? SLOWEST.length : place
    }
    const sorted = (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
    return process.env.ORDER === 'reversed' ? sorted.reverse() : sorted
  }
}
