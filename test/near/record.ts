import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Reporter, TestModule } from 'vitest/node'
import type { Ran } from './ran.ts'

/** By test file: what its last whole run here ran, and how many seconds it took among others. */
export type TestRecord = ReadonlyMap<string, Ran & { seconds: number }>

const FOLDER = fileURLToPath(new URL('../../dist/.ran/', import.meta.url))

/** Reads what test files ran here; empty before the first run. */
export function readRecord(): TestRecord {
  if (!existsSync(FOLDER)) return new Map()
  const names = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.json'),
  )
  return new Map(
    names.map((name) => [name.replace(/\.json$/, ''), JSON.parse(readFileSync(`${FOLDER}${name}`, 'utf8'))]),
  )
}

/** Renews the record with each test file that passed whole. */
export default class RecordReporter implements Reporter {
  onTestModuleEnd(module: TestModule): void {
    const { ran } = module.meta()
    if (!ran || module.state() !== 'passed' || module.project.globalConfig.testNamePattern) return
    const { collectDuration, setupDuration, duration } = module.diagnostic()
    const path = `${FOLDER}${module.relativeModuleId}.json`
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(
      path,
      JSON.stringify({ ...ran, seconds: (collectDuration + setupDuration + duration) / 1_000 }),
    )
  }
}
