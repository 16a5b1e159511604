import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Takes a minute and more: a file of these that began last would run alone at the end. */
const SLOWEST: readonly string[] = [
  'test/container/build.test.ts',
  'test/flows/upgrade/',
  'test/converge/',
  'test/flows/scale/fleet.test.ts',
  'test/docs/cookbook.test.ts',
  'test/flows/leaks/verbs.test.ts',
  'test/program/daemon/stopping.test.ts',
  'test/features/mcp/guarded/hostile.test.ts',
  'test/program/cli/crash.test.ts',
  'test/features/dashboard/browser/',
  'test/embedded/open.test.ts',
  'test/core/mirror/activities.test.ts',
  'test/flows/rebuild-killed.test.ts',
  'test/program/app/key-',
  'test/features/webhooks/kills.test.ts',
  'test/program/cli/',
  'test/program/doctor/',
  'test/container/image.test.ts',
  'test/grafana/panels.test.ts',
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
