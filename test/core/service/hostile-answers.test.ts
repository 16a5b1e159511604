import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { expect, it, onTestFinished } from 'vitest'
import { runNode } from '../../kit/processes.ts'
import { sample } from '../../kit/sampling.ts'
import { openHttpServer } from './servers.ts'

const READER = fileURLToPath(new URL('hostile-reader.ts', import.meta.url))
const HEAD = '{"success":true,"name":"x","summary":{},'

const sampleAt = (second: number) =>
  JSON.stringify({
    unix_time: 1_760_000_000 + second,
    ...Object.fromEntries(
      Array.from({ length: 24 }, (_, field) => [`field_${field}`, second * 1.25 + field]),
    ),
  })

/** Responses by kind. Each is sent as gzip; an endless one goes on until the client closes. */
const ANSWERS: Readonly<Record<string, () => { head: string; piece: string; times: number; end: string }>> = {
  // A ride of 24 hours.
  honest: () => ({
    head: `${HEAD}"session_data":[${Array.from({ length: 86_400 }, (_, second) => sampleAt(second)).join()}`,
    piece: '',
    times: 0,
    end: ']}',
  }),
  objects: () => ({ head: `${HEAD}"more":[`, piece: '{},'.repeat(100_000), times: 150, end: '{}]}' }),
  nested: () => ({ head: `${HEAD}"more":`, piece: '['.repeat(100_000), times: 500, end: '1' }),
  keys: () => ({ head: HEAD, piece: '"k":1,'.repeat(100_000), times: 40, end: '"l":1}' }),
  entries: () => ({
    head: '{"success":true,"activities":[',
    piece: '{"path":"a"},'.repeat(100_000),
    times: 10,
    end: '{}]}',
  }),
  samples: () => ({
    head: `${HEAD}"session_data":[`,
    piece: '{"t":"x"},'.repeat(100_000),
    times: 55,
    end: '{}]}',
  }),
  text: () => ({ head: `${HEAD}"description":"`, piece: 'ü'.repeat(100_000), times: 280, end: '"}' }),
  endless: () => ({ head: HEAD, piece: ' '.repeat(1_000_000), times: Number.POSITIVE_INFINITY, end: '' }),
}

const REFUSED = [
  ['honest', 86_400],
  ['objects', 'too_large'],
  ['nested', 'too_large'],
  ['keys', 'too_large'],
  ['entries', 'too_large'],
  ['samples', 'too_large'],
  ['text', 'too_large'],
  ['endless', 'too_large'],
]

/** Limits of memory in use. The process may have more, depending on when Node collects garbage. A heap above its limit ends the process. */
const HEAP_MB = 100
const OUTSIDE_MB = 250

it('the client holds less than 400 MB for any response, and reads rides of 24 hours', async () => {
  const ready = new Map<string, Buffer>()
  // Most kinds take seconds each.
  const kinds = ['honest', 'objects', ...sample(Object.keys(ANSWERS).slice(2), 2)]
  const server = await openHttpServer((request, response) => {
    const kind =
      /activity\/(\w+)-/.exec(request.url ?? '')?.[1] ??
      kinds[Number(/from=(\d+)/.exec(request.url ?? '')?.[1])] ??
      ''
    const make = ANSWERS[kind]
    if (!make) return void response.end()
    const { head, piece, times, end } = make()
    const headers = { 'content-type': 'application/json' }
    if (Number.isFinite(times)) {
      const made = ready.get(kind) ?? gzipSync(head + piece.repeat(times) + end, { level: 1 })
      ready.set(kind, made)
      return void response.writeHead(200, { ...headers, 'content-encoding': 'gzip' }).end(made)
    }
    response.writeHead(200, headers)
    const more = () => {
      while (!response.destroyed && response.write(piece));
      if (!response.destroyed) response.once('drain', more)
    }
    response.write(head)
    more()
  })
  onTestFinished(() => server.close())
  const end = await runNode(
    [`--max-old-space-size=${HEAP_MB}`, '--expose-gc', '--import', 'tsx', READER, server.origin],
    {
      env: { KINDS: kinds.join(' ') },
      timeoutMs: 110_000,
    },
  )
  expect(end).toMatchObject({ code: 0, stderr: '' })
  const { codes, outside } = JSON.parse(end.stdout)
  expect(codes).toEqual(REFUSED.filter(([kind]) => kinds.includes(String(kind))))
  expect(outside / 1e6).toBeLessThan(OUTSIDE_MB)
}, 120_000)
