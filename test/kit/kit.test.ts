import { once } from 'node:events'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { collectGarbage } from '../../src/core/service/transport.ts'
import { connectReason, errorCode, errorLine, isAbort } from '../../src/kit/errors.ts'
import { nameSourceLines, PROGRAM_FOLDER } from '../../src/kit/program-folder.ts'
import { makeReleaseStack } from '../../src/kit/release-stack.ts'
import { backoffMs, formatDuration, joinSignals, parseDuration, sleep } from '../../src/kit/time.ts'

describe('durations', () => {
  it.each([
    ['90s', 90_000],
    ['15m', 900_000],
    ['1h', 3_600_000],
    ['1d', 86_400_000],
    ['250ms', 250],
    ['1.5h', 5_400_000],
  ])('are read from %s', (text, ms) => expect(parseDuration(text)).toBe(ms))

  it.each(['', '15', 'm', '-1h', '1 hour', '1e3s'])('are not read from %j', (text) =>
    expect(parseDuration(text)).toBeUndefined(),
  )

  it('are formatted as a person says them', () => {
    expect(formatDuration(400)).toBe('0.4 s')
    expect(formatDuration(725_000)).toBe('12 min 5 s')
    expect(formatDuration(3 * 86_400_000 + 4 * 3_600_000 + 59_000)).toBe('3 d 4 h')
    expect(formatDuration(3_600_000)).toBe('1 h')
  })
})

describe('the growing pause', () => {
  const backoff = { firstMs: 1_000, maxMs: 60_000, factor: 3 }

  it('is half to all of each growing step, up to the longest', () => {
    expect([1, 2, 3, 9].map((attempt) => backoffMs(backoff, attempt, () => 0))).toEqual([
      500, 1_500, 4_500, 30_000,
    ])
    expect([1, 2, 3, 9].map((attempt) => backoffMs(backoff, attempt, () => 1))).toEqual([
      1_000, 3_000, 9_000, 60_000,
    ])
  })

  it('is always whole milliseconds', () => {
    expect(Number.isInteger(backoffMs(backoff, 2, () => 0.123_456))).toBe(true)
  })
})

describe('the release stack', () => {
  it('releases every step in reverse order, and keeps the first error', async () => {
    const order: string[] = []
    const heard: string[] = []
    const stack = makeReleaseStack((step) => heard.push(step))
    stack.defer('first', () => order.push('first'))
    stack.defer('second', () => {
      order.push('second')
      throw new Error('second broke')
    })
    stack.defer('third', async () => {
      order.push('third')
      throw new Error('third broke')
    })
    await expect(stack.release()).rejects.toThrow('third broke')
    expect(order).toEqual(['third', 'second', 'first'])
    expect(heard).toEqual(['third', 'second'])
    await expect(stack.release()).resolves.toBeUndefined()
  })
})

describe('errors', () => {
  it('of OpenSSL are described by their reason only', () => {
    const line =
      'write EPROTO 807CC3D4C67F0000:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../x.c:350:'
    expect(connectReason(new Error(line))).toBe('TLS failed (wrong version number)')
  })

  it('are one line without control characters, however long and odd they are', () => {
    const line = errorLine(new Error(`a\nb\u0000c ${'x'.repeat(1_000)}`))
    expect(line.startsWith('a b c ')).toBe(true)
    expect(line).toHaveLength(500)
  })

  it('have a code, from any thrower', () => {
    expect(errorCode(Object.assign(new Error('gone'), { code: 'ECONNRESET' }))).toBe('ECONNRESET')
    expect(errorCode(new Error('plain'))).toBe('unexpected')
  })
})

describe('a joined signal', () => {
  it.each<[string, (first: AbortController, own: ReturnType<typeof joinSignals>) => void, object]>([
    ['the first of the others', (first) => first.abort(new Error('first')), { message: 'first' }],
    ['its own abort', (_, own) => own.abort(new Error('own')), { message: 'own' }],
    ['its time', () => undefined, { code: 'ETIMEDOUT' }],
  ])('aborts with %s, also after garbage was collected', async (_, act, reason) => {
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

  it('has no listeners after the end of its work', async () => {
    const outer = new AbortController()
    const own = joinSignals([outer.signal], 1)
    own.clear()
    outer.abort()
    await sleep(10)
    expect(own.signal.aborted).toBe(false)
  })
})

describe('sleep', () => {
  it("ends with the signal's own reason", async () => {
    const controller = new AbortController()
    const reason = new Error('stop now')
    const sleeping = sleep(60_000, controller.signal)
    controller.abort(reason)
    await expect(sleeping).rejects.toBe(reason)
    expect(isAbort(reason, controller.signal)).toBe(true)
  })
})

describe('the lines of a stack', () => {
  // The first column of the first line belongs to a source, the second to none.
  const WHOLE = {
    version: 3,
    sources: ['../src/main.ts'],
    sourcesContent: [null],
    names: [],
    mappings: 'AAAA,C,C',
  }

  it.each([
    ['become those of the source', WHOLE, 1, 'src/main.ts:1:1'],
    ['stay when no source has them', WHOLE, 2, 'dist/planted.js:1:2'],
    ['stay when the map names no source', { ...WHOLE, sources: [null] }, 1, 'dist/planted.js:1:1'],
    ['stay when the map is none', 'no map', 1, 'dist/planted.js:1:1'],
    ['stay when the source has no address', { ...WHOLE, sources: ['http://[.ts'] }, 1, 'dist/planted.js:1:1'],
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
