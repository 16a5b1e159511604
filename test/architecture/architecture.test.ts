import { describe, expect, it } from 'vitest'
import { findCycle, listViolations, parseSource, readSources } from './rooms.ts'

const sources = readSources()

describe('the rooms of src', () => {
  it('import only what the table allows', () => {
    expect(listViolations(sources)).toEqual([])
  })

  it('would be caught crossing a wall', () => {
    const planted = [
      parseSource('service/planted.ts', `import { openStore } from '../store/store.ts'\n`),
      parseSource('normalize/planted.ts', `import { openService } from '../service/service.ts'\n`),
      parseSource('mirror/planted.ts', `import { Queue } from 'bullmq'\n`),
    ]
    expect(listViolations(planted)).toEqual([
      'service/planted.ts imports store/store.ts',
      'normalize/planted.ts imports service/service.ts',
      'mirror/planted.ts imports the package bullmq',
    ])
  })

  it('take types from the rooms below, and from no room above', () => {
    const planted = [
      parseSource('web/planted.ts', `import type { Samples } from '../store/samples/encode-samples.ts'\n`),
      parseSource('store/planted.ts', `import type { Service } from '../service/service.ts'\n`),
    ]
    expect(listViolations(planted)).toEqual(['store/planted.ts imports service/service.ts'])
  })

  it('import each other without a cycle', () => {
    expect(findCycle(sources)).toBeUndefined()
  })

  it('would be caught in a cycle', () => {
    const planted = [
      parseSource('kit/a.ts', `import { b } from './b.ts'\n`),
      parseSource('kit/b.ts', `export { a } from './a.ts'\n`),
    ]
    expect(findCycle(planted)).toEqual(['kit/a.ts', 'kit/b.ts', 'kit/a.ts'])
  })

  it('leave the environment to config', () => {
    const readers = sources.filter(
      (file) => !file.path.startsWith('config/') && file.text.includes('process.env'),
    )
    expect(readers.map((file) => file.path)).toEqual([])
  })

  it('make connections, queues and watchers in one factory each', () => {
    const factories: Array<[RegExp, string]> = [
      [/new (?:pg\.)?Pool\(/, 'store'],
      [/new Queue\(|new Worker\(|new IORedis\(|new Redis\(/, 'jobs'],
      [/new Agent\(/, 'service'],
      [/chokidar\.watch\(/, 'dropfolder'],
    ]
    const strays = factories.flatMap(([made, room]) =>
      sources
        .filter((file) => made.test(file.text) && !file.path.startsWith(`${room}/`))
        .map((file) => file.path),
    )
    // BullMQ's Postgres backend takes a pool of its own kind, made beside its queues.
    expect(strays.filter((path) => path !== 'jobs/backend.ts')).toEqual([])
  })

  it('connect to Postgres by the client that does not give the password away', () => {
    const strays = sources.filter(
      ({ text }) =>
        /new (?:pg\.)?Client\(/.test(text) || /new pg\.Pool\(\{\n(?!\s+Client: PostgresClient,)/.test(text),
    )
    expect(strays.map((file) => file.path)).toEqual([])
  })

  it('have files of a size that reads well: none over 400 lines, nine in ten under 250, half between 80 and 150', () => {
    const lines = sources.map((file) => file.text.split('\n').length).sort((a, b) => a - b)
    const at = (share: number) => lines[Math.floor((lines.length - 1) * share)]
    expect(lines.at(-1)).toBeLessThanOrEqual(400)
    expect(at(0.9)).toBeLessThan(250)
    expect(at(0.5)).toBeGreaterThanOrEqual(80)
    expect(at(0.5)).toBeLessThanOrEqual(150)
  })
})
