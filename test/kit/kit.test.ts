import { once } from 'node:events'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { collectGarbage } from '../../src/core/service/transport.ts'
import { connectReason, errorCode, errorLine } from '../../src/kit/errors.ts'
import { readRoom } from '../../src/kit/files.ts'
import { nameSourceLines, PROGRAM_FOLDER } from '../../src/kit/program-folder.ts'
import { backoffMs, joinSignals } from '../../src/kit/time.ts'

it.each([
  [0, [500, 1_500, 4_500, 30_000]],
  [1, [1_000, 3_000, 9_000, 60_000]],
])('a growing pause is half to all of each step in whole ms (random %s)', (chance, ms) => {
  const backoff = { firstMs: 1_000, maxMs: 60_000, factor: 3 }
  expect([1, 2, 3, 9].map((attempt) => backoffMs(backoff, attempt, () => chance))).toEqual(ms)
})

it('an error has a one-line message, a code, and the plain reason of OpenSSL', () => {
  const line = 'write EPROTO 80:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../x.c:350:'
  expect(connectReason(new Error(line))).toBe('TLS failed (wrong version number)')
  expect(errorLine(new Error(`a\nb\u0000c ${'x'.repeat(1_000)}`))).toBe(`a b c ${'x'.repeat(493)}…`)
  expect(errorCode(Object.assign(new Error('gone'), { code: 'ECONNRESET' }))).toBe('ECONNRESET')
  expect(errorCode(new Error('plain'))).toBe('unexpected')
})

it.each<[string, (first: AbortController, own: ReturnType<typeof joinSignals>) => void, object]>([
  ['the first of its signals', (first) => first.abort(new Error('first')), { message: 'first' }],
  ['its own abort', (_, own) => own.abort(new Error('own')), { message: 'own' }],
  ['its timeout', () => undefined, { code: 'ETIMEDOUT' }],
])('a joined signal aborts with %s, even after garbage collection', async (_, act, reason) => {
  const [first, second] = [new AbortController(), new AbortController()]
  const own = joinSignals([first.signal, undefined, second.signal], 30)
  const ended = once(own.signal, 'abort')
  collectGarbage()
  act(first, own)
  await ended
  second.abort(new Error('too late'))
  expect(own.signal.reason).toMatchObject(reason)
  expect(own.isOver()).toBe('code' in reason)
  expect(joinSignals([undefined, second.signal]).signal.reason).toMatchObject({ message: 'too late' })
})

describe('stack traces', () => {
  // The first column of the first line maps to a source, the second to none.
  const WHOLE = {
    version: 3,
    sources: ['../src/main.ts'],
    sourcesContent: [null],
    names: [],
    mappings: 'AAAA,C,C',
  }

  it.each([
    ['positions become those of the source', WHOLE, 1, 'src/main.ts:1:1'],
    ['positions stay if they map to no source', WHOLE, 2, 'dist/planted.js:1:2'],
    ['positions stay if the source map is invalid', 'no map', 1, 'dist/planted.js:1:1'],
    [
      'positions stay if the URL of the source is invalid',
      { ...WHOLE, sources: ['http://[.ts'] },
      1,
      'dist/planted.js:1:1',
    ],
  ])('%s', async (_what, map, column, named) => {
    const file = join(PROGRAM_FOLDER, 'dist', 'planted.js')
    await writeFile(`${file}.map`, JSON.stringify(map))
    try {
      const line = nameSourceLines(`Error: the true one\n    at ${pathToFileURL(file).href}:1:${column}`)
      expect(line).toBe(`Error: the true one\n    at ${pathToFileURL(join(PROGRAM_FOLDER, named)).href}`)
    } finally {
      await rm(`${file}.map`)
    }
  })
})

it('a disk that does not report its size does not count as full', async () => {
  expect(await readRoom(PROGRAM_FOLDER)).toMatchObject({ bytes: expect.any(Number) })
  if (process.platform === 'linux') expect(await readRoom('/proc')).toBeUndefined()
})
