import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../../kit/postgres.ts'
import { distPath, runNode } from '../../kit/processes.ts'
import { ask } from '../../program/web/rig.ts'
import { openMcpWeb, TOKEN } from './rig.ts'

type Answer = { id: unknown; result?: unknown; error?: { code: number; message: string } }

const CODES = { PARSE_ERROR: -32700, INVALID_REQUEST: -32600, INVALID_PARAMS: -32602 }
const { INVALID_REQUEST, INVALID_PARAMS } = CODES

const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' })
const initialize = (protocolVersion: string) => ({
  jsonrpc: '2.0',
  id: 'hello',
  method: 'initialize',
  params: { protocolVersion, capabilities: {}, clientInfo: { name: 'a test', version: '1' } },
})

/** What a client sends in the place of a request, and the code and the id of the answer. */
const REFUSED = `
no JSON | this is no message | PARSE_ERROR | null
half a message | {"jsonrpc":"2.0","id":3 | PARSE_ERROR | null
params that are a text | {"jsonrpc":"2.0","id":3,"method":"tools/list","params":"x"} | INVALID_PARAMS | 3
params that are a list | {"jsonrpc":"2.0","id":"b","method":"tools/list","params":[]} | INVALID_PARAMS | "b"
params that are null | {"jsonrpc":"2.0","id":3,"method":"ping","params":null} | INVALID_PARAMS | 3
no params where a method needs them | {"jsonrpc":"2.0","id":3,"method":"tools/call"} | INVALID_PARAMS | 3
params of another form | {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":5}} | INVALID_PARAMS | 3
_meta of another form | {"jsonrpc":"2.0","id":3,"method":"ping","params":{"_meta":5}} | INVALID_PARAMS | 3
a cursor that was never given out | {"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"bogus"}} | INVALID_PARAMS | 3
a cursor for prompts | {"jsonrpc":"2.0","id":"c","method":"prompts/list","params":{"cursor":"100"}} | INVALID_PARAMS | "c"
no version of JSON-RPC | {"id":3,"method":"ping"} | INVALID_REQUEST | 3
a method that is no text | {"jsonrpc":"2.0","id":3,"method":5} | INVALID_REQUEST | 3
no method | {"jsonrpc":"2.0","id":3} | INVALID_REQUEST | 3
more than a request has | {"jsonrpc":"2.0","id":3,"method":"ping","more":1} | INVALID_REQUEST | 3
an id that is an object | {"jsonrpc":"2.0","id":{},"method":"ping"} | INVALID_REQUEST | null
an id that is null | {"jsonrpc":"2.0","id":null,"method":"ping"} | INVALID_REQUEST | null
a number | 5 | INVALID_REQUEST | null
null | null | INVALID_REQUEST | null
an empty batch | [] | INVALID_REQUEST | null
`
  .trim()
  .split('\n')
  .map((row) => {
    const [what = '', text = '', code = '', id = ''] = row.split(' | ')
    return [what, text, CODES[code as keyof typeof CODES], JSON.parse(id) as unknown] as const
  })

/** Notifications, also those that nobody understands, and answers to requests that were never made. */
const UNANSWERED = [
  '{"jsonrpc":"2.0","method":"notifications/initialized"}',
  '{"jsonrpc":"2.0","method":"notifications/unknown"}',
  '{"jsonrpc":"2.0","method":"tools/call","params":"x"}',
  '{"jsonrpc":"1.0","method":"ping"}',
  '{"jsonrpc":"2.0","method":5}',
  '{"jsonrpc":"2.0","id":5,"result":{}}',
  '{"jsonrpc":"2.0","id":5,"result":7}',
  '',
  '   ',
]

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database.close())

/** Writes lines to `musette mcp`, the last one without an end, and returns its answers but that to `initialize`. */
async function exchange(lines: readonly string[], version = '2025-06-18'): Promise<Answer[]> {
  const { stdout } = await runNode([distPath('main.js'), 'mcp'], {
    env: { DATABASE_URL: database.url },
    input: [JSON.stringify(initialize(version)), ...lines, ''].join('\n'),
  })
  const answers: Answer[] = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
  return answers.filter(({ id }) => id !== 'hello')
}

const refusal = (id: unknown, code: number) => ({
  jsonrpc: '2.0',
  id,
  error: expect.objectContaining({ code, message: expect.stringMatching(/\w+ \w+/) }),
})

describe('over standard streams', () => {
  it('a message that is not a request gets the JSON-RPC error', async () => {
    const answers = await exchange(REFUSED.map(([, text]) => text))
    for (const [what, , code, id] of REFUSED) expect(answers, what).toContainEqual(refusal(id, code))
    expect(answers).toHaveLength(REFUSED.length)
  })

  it('only requests are answered, also the next one', async () => {
    expect(await exchange([...UNANSWERED, JSON.stringify(ping(9))])).toEqual([
      { jsonrpc: '2.0', id: 9, result: {} },
    ])
  })

  it('a too large message is refused, and the next request is answered', async () => {
    const answers = await exchange([`"${'x'.repeat(11 * 1024 * 1024)}"`, JSON.stringify(ping(9))])
    expect(answers).toEqual([refusal(null, INVALID_REQUEST), { jsonrpc: '2.0', id: 9, result: {} }])
  })

  it.each([
    ['2025-06-18', [refusal(null, INVALID_REQUEST)]],
    ['2025-11-25', [refusal(null, INVALID_REQUEST)]],
    ['2025-03-26', [1, 2].map((id) => ({ jsonrpc: '2.0', id, result: {} }))],
  ])('a batch is answered as version %s of the protocol says', async (version, answers) => {
    const found = await exchange([JSON.stringify([ping(1), ping(2)])], version)
    expect(found).toEqual(answers)
    if (found[0]?.error) expect(found[0].error.message).toContain('send each message by itself')
  })

  it('each message of a batch is answered separately', async () => {
    const batch = [
      ping(1),
      5,
      { jsonrpc: '2.0', method: 'notifications/unknown' },
      { ...ping(2), params: 'x' },
    ]
    const answers = await exchange([JSON.stringify(batch)], '2025-03-26')
    expect(answers).toHaveLength(3)
    expect(answers).toContainEqual({ jsonrpc: '2.0', id: 1, result: {} })
    expect(answers).toContainEqual(refusal(null, INVALID_REQUEST))
    expect(answers).toContainEqual(refusal(2, INVALID_PARAMS))
  })
})

describe('over HTTP', () => {
  let url: string
  let close: () => Promise<void>
  beforeAll(async () => {
    const atEnd = (closing: () => Promise<void>) => {
      close = closing
    }
    url = (await openMcpWeb(database.url, { token: TOKEN, atEnd })).url
  })
  afterAll(() => close())

  const post = async (body: string, version?: string) => {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${TOKEN}`,
      ...(version && { 'mcp-protocol-version': version }),
    }
    const answer = await ask(`${url}/mcp`, { method: 'POST', headers, body })
    const text = answer.body.replace(/^event: message\ndata: /, '')
    return { status: answer.status, text }
  }

  it.each(REFUSED)('%s is answered as over standard streams', async (_, body, code, id) => {
    const { text } = await post(body, '2025-06-18')
    expect(JSON.parse(text)).toEqual(refusal(id, code))
  })

  it.each(['2025-06-18', '2025-11-25', '2026-07-28'])('a batch is refused in version %s', async (version) => {
    const { status, text } = await post(JSON.stringify([ping(1), ping(2)]), version)
    expect({ status, answer: JSON.parse(text) }).toEqual({
      status: 400,
      answer: refusal(null, INVALID_REQUEST),
    })
  })

  it.each(['2025-03-26', undefined])('a batch is answered in version %s', async (version) => {
    const { status, text } = await post(JSON.stringify([ping(1), ping(2)]), version)
    expect(status).toBe(200)
    expect(text.match(/"result":\{\}/g)).toHaveLength(2)
  })

  it.each(UNANSWERED.slice(0, 2))('a notification has no answer: %s', async (body) => {
    expect(await post(body, '2025-06-18')).toEqual({ status: 202, text: '' })
  })
})
