import { describe, expect, it } from 'vitest'
import { makeReleaseStack } from '../../../src/kit/release-stack.ts'
import { openForAll } from '../../kit/open-for.ts'
import { openTestDatabase } from '../../kit/postgres.ts'
import { distPath, runNode } from '../../kit/processes.ts'
import { readTable } from '../../kit/table.ts'
import { ask } from '../../program/web/rig.ts'
import { openMcpWeb, TOKEN } from './rig.ts'

type Answer = { id: unknown; result?: unknown; error?: { code: number; message: string } }

const CODES: Record<string, number> = { PARSE: -32700, REQUEST: -32600, PARAMS: -32602 }

const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' })
const initialize = (protocolVersion: string) => ({
  jsonrpc: '2.0',
  id: 'hello',
  method: 'initialize',
  params: { protocolVersion, capabilities: {}, clientInfo: { name: 'a test', version: '1' } },
})

/** Invalid messages, and the code and id of the error response. */
const REFUSED = readTable(`
no JSON | this is no message | PARSE | null
params that are null | {"jsonrpc":"2.0","id":3,"method":"ping","params":null} | PARAMS | 3
no params where a method needs them | {"jsonrpc":"2.0","id":3,"method":"tools/call"} | PARAMS | 3
a cursor that was never given out | {"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"bogus"}} | PARAMS | 3
no version of JSON-RPC | {"id":3,"method":"ping"} | REQUEST | 3
an id that is an object | {"jsonrpc":"2.0","id":{},"method":"ping"} | REQUEST | null
an empty batch | [] | REQUEST | null`)

/** Messages that get no response: notifications, even unknown or malformed, responses to requests never made, and blank lines. */
const UNANSWERED = [
  '{"jsonrpc":"2.0","method":"notifications/initialized"}',
  '{"jsonrpc":"2.0","method":"notifications/unknown"}',
  '{"jsonrpc":"2.0","method":"tools/call","params":"x"}',
  '{"jsonrpc":"1.0","method":"ping"}',
  '{"jsonrpc":"2.0","id":5,"result":{}}',
  '   ',
]

const database = openForAll(openTestDatabase)

/** Writes lines to `musette mcp` and returns its responses, except the response to `initialize`. */
async function exchange(lines: readonly string[], version: string): Promise<Answer[]> {
  const { stdout } = await runNode([distPath('main.js'), 'mcp'], {
    env: { DATABASE_URL: database.url },
    input: [JSON.stringify(initialize(version)), ...lines, ''].join('\n'),
  })
  const answers: Answer[] = stdout.split('\n').flatMap((line) => (line === '' ? [] : JSON.parse(line)))
  return answers.filter(({ id }) => id !== 'hello')
}

const refusal = (id: unknown, code = 'REQUEST') => ({
  jsonrpc: '2.0',
  id,
  error: expect.objectContaining({ code: CODES[code], message: expect.stringMatching(/\w+ \w+/) }),
})
const pong = (id: number) => ({ jsonrpc: '2.0', id, result: {} })
const BATCH = JSON.stringify([ping(1), ping(2)])
const ALONE = expect.objectContaining({ message: expect.stringContaining('send each message by itself') })

describe('MCP over standard streams', () => {
  it('answers each invalid message with a JSON-RPC error, and continues', async () => {
    const long = `"${'x'.repeat(11 * 1024 * 1024)}"`
    const texts = REFUSED.map(([, text = '']) => text)
    const answers = await exchange(
      [...texts, ...UNANSWERED, long, BATCH, JSON.stringify(ping(9))],
      '2025-06-18',
    )
    for (const [what, , code, id = ''] of REFUSED)
      expect(answers, what).toContainEqual(refusal(JSON.parse(id), code))
    expect(answers).toContainEqual({ jsonrpc: '2.0', id: null, error: ALONE })
    expect(answers.at(-1)).toEqual(pong(9))
    // The refused batch counts as one message.
    expect(answers).toHaveLength(REFUSED.length + 3)
    expect(await exchange([BATCH], '2025-11-25')).toMatchObject([{ id: null, error: ALONE }])
  })

  it('answers each message of a batch, in the protocol version with batches', async () => {
    const batch = [
      ping(1),
      5,
      { jsonrpc: '2.0', method: 'notifications/unknown' },
      { ...ping(2), params: 'x' },
    ]
    const answers = await exchange([JSON.stringify(batch)], '2025-03-26')
    expect(answers).toHaveLength(3)
    for (const answer of [pong(1), refusal(null), refusal(2, 'PARAMS')])
      expect(answers).toContainEqual(answer)
  })
})

describe('MCP over HTTP', () => {
  const web = openForAll(async () => {
    const release = makeReleaseStack()
    const atEnd = (close: () => Promise<void>) => release.defer('web', close)
    const { url } = await openMcpWeb(database.url, { token: TOKEN, atEnd })
    return { url, close: () => release.release() }
  })

  const post = async (body: string, version?: string) => {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${TOKEN}`,
      ...(version && { 'mcp-protocol-version': version }),
    }
    const answer = await ask(`${web.url}/mcp`, { method: 'POST', headers, body })
    const text = answer.body.replace(/^event: message\ndata: /, '')
    return { status: answer.status, text }
  }

  it('answers each invalid message with a JSON-RPC error, and no notification', async () => {
    for (const [what, body = '', code, id = ''] of REFUSED) {
      const { text } = await post(body, '2025-06-18')
      expect(JSON.parse(text), what).toEqual(refusal(JSON.parse(id), code))
    }
    for (const body of UNANSWERED.slice(0, 2))
      expect(await post(body, '2025-06-18')).toEqual({ status: 202, text: '' })
  })

  it('answers a batch in the protocol version with batches, and refuses it in later versions', async () => {
    for (const version of ['2025-03-26', undefined]) {
      const { status, text } = await post(BATCH, version)
      expect([version, status, text.match(/"result":\{\}/g)]).toEqual([
        version,
        200,
        Array(2).fill('"result":{}'),
      ])
    }
    for (const version of ['2025-06-18', '2026-07-28']) {
      const { status, text } = await post(BATCH, version)
      expect([version, status, JSON.parse(text)]).toEqual([version, 400, refusal(null)])
    }
  })
})
