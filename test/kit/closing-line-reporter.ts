import { writeSync } from 'node:fs'
import type { Reporter, TestModule } from 'vitest/node'

type Counts = { passed: number; failed: number; skipped: number }

/**
 * Prints, as the very last line and alone on it, `N passed, N failed, N skipped`. A file that could not be loaded, an
 * error outside any test and a run that could not begin count as failed.
 */
export default class ClosingLineReporter implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>, unhandled: ReadonlyArray<unknown>): void {
    const counts = countTests(modules, unhandled.length)
    // Other reporters and the global teardown still print; at the exit nobody does.
    process.once('exit', (code) => {
      // A run that failed before its first test, in the global setup, has no failed test to show for it.
      if (code !== 0 && counts.failed === 0) counts.failed = 1
      writeSync(1, `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`)
    })
  }
}

function countTests(modules: ReadonlyArray<TestModule>, unhandled: number): Counts {
  const counts = { passed: 0, failed: unhandled, skipped: 0 }
  for (const module of modules) {
    let failedHere = 0
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      if (state === 'passed') counts.passed += 1
      else if (state === 'failed') failedHere += 1
      else counts.skipped += 1
    }
    counts.failed += failedHere === 0 && module.state() === 'failed' ? 1 : failedHere
  }
  return counts
}
