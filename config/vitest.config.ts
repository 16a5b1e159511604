import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import SlowestFirst from './slowest-first.ts'

export default defineConfig({
  test: {
    root: fileURLToPath(new URL('..', import.meta.url)),
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/kit/global-setup.ts'],
    pool: 'forks',
    // Loading the libraries anew for each file took four times as long, 170 s more in all. No test replaces a module.
    isolate: false,
    // One more than a small machine has cores: many tests wait, for a lock that runs out or a process that ends.
    maxWorkers: 3,
    sequence: { sequencer: SlowestFirst },
    testTimeout: 120_000,
    hookTimeout: 120_000,
    reporters: process.env.CI ? ['default', './test/kit/closing-line-reporter.ts'] : ['default'],
  },
})
