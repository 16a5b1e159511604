import { writeSync } from 'node:fs'
import type { Reporter, TestModule } from 'vitest/node'

type Counts = { passed: number; failed: number; skipped: number }

const SLOWEST = 10

/**
 * Lists the ten slowest tests, and prints `N passed, N failed, N skipped` as the very last line. A file that could not be loaded, an error
 * outside any test and a run that could not start count as failed.
 */
export default class ClosingLineReporter implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>, unhandled: ReadonlyArray<unknown>): void {
    const counts = countTests(modules, unhandled.length)
    for (const line of listSlowest(modules)) writeSync(1, `${line}\n`)
    // Other reporters and the global teardown still print, but nothing prints at exit.
    process.once('exit', (code) => {
      // A run that failed in the global setup has no failed test.
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

function listSlowest(modules: ReadonlyArray<TestModule>): string[] {
  const tests = modules.flatMap((module) => [...module.children.allTests()])
  const timed = tests.map((test) => ({ test, seconds: (test.diagnostic()?.duration ?? 0) / 1_000 }))
  const slowest = timed.sort((a, b) => b.seconds - a.seconds).slice(0, SLOWEST)
  return slowest.map(
    ({ test, seconds }) => `${seconds.toFixed(1)} s  ${test.module.relativeModuleId}: ${test.fullName}`,
  )
}
