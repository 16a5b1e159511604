import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { marksPlugin } from '../test/near/marks-plugin.ts'
import SlowestFirst from './slowest-first.ts'

/** Tests without a database and a queue: they begin at once. One that wants a server fails with the name of what it lacks. */
const PLAIN = [
  'test/{architecture,program/config,core/dropfolder,core/fit,core/normalize,near,promises,removal,sandbox,core/service}/**/*.test.ts',
  'test/features/{backup/tar,dashboard/erg-profile,webhooks/send,webhooks/texts}.test.ts',
  'test/core/jobs/{error-tally,outcome,wanted-schedules}.test.ts',
  'test/core/mirror/{item-failure,list-changes,shrunken-lists,windows}.test.ts',
  'test/core/store/activity-rows.test.ts',
  'test/core/upload/{fit-rows,match-activity,outcome}.test.ts',
  'test/core/vault/seal.test.ts',
  'test/program/{cli/help,cli/lines,doctor/commands,web/cached-probe,web/sessions}.test.ts',
  'test/docs/findings.test.ts',
]

export default defineConfig({
  plugins: [marksPlugin],
  test: {
    root: fileURLToPath(new URL('..', import.meta.url)),
    pool: 'forks',
    // Loading the libraries anew for each file took four times as long, 170 s more in all. No test replaces a module.
    isolate: false,
    // More than a small machine has cores: many tests wait, for a lock that runs out or a process that ends.
    maxWorkers: 5,
    sequence: { sequencer: SlowestFirst },
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A page on a busy machine takes longer than the second that is vitest's own limit.
    expect: { poll: { timeout: 20_000 } },
    globalSetup: ['test/kit/build-setup.ts'],
    setupFiles: ['test/near/ran-setup.ts'],
    reporters: [
      'default',
      './test/near/record.ts',
      ...(process.env.CI ? ['./test/kit/closing-line-reporter.ts'] : []),
    ],
    projects: [
      { extends: true, test: { name: 'plain', include: PLAIN } },
      {
        extends: true,
        test: {
          name: 'served',
          include: ['test/**/*.test.ts'],
          exclude: PLAIN,
          globalSetup: ['test/kit/servers-setup.ts'],
        },
      },
    ],
  },
})
