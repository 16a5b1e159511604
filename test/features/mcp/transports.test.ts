import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { collectGarbage } from '../../../src/core/service/transport.ts'
import { eventually } from '../../kit/eventually.ts'
import { openTestDatabase, queryOnce, type TestDatabase } from '../../kit/postgres.ts'
import { openLine } from '../../kit/postgres-line.ts'
import { distPath, runNode, startNode } from '../../kit/processes.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { ask } from '../../program/web/rig.ts'
import { openReaderLogin } from '../reader/reader-login.ts'
import { dropAssistantLogins } from './guarded/rig.ts'
import { callTool, connectClient, connectHttp, connectStdio, openMcpWeb, TOKEN, TRANSPORTS } from './rig.ts'

let url: string
let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
  url = database.url
})
afterAll(async () => {
  if (database) await dropAssistantLogins(url)
  await database?.close()
})

const countActive = async () =>
  (
    await queryOnce(
      url,
      `select pid from pg_stat_activity where datname = current_database() and application_name = 'musette mcp' and state = 'active'`,
    )
  ).length

describe.each(TRANSPORTS)('over %s', (transport) => {
  it.each(['legacy', 'auto'] as const)('a cancelled call cancels its query in Postgres (%s)', async (era) => {
    const client = await connectClient(transport, url, { era })
    await callTool(client, 'run_query', { sql: 'select 1' })
    const stop = new AbortController()
    const call = callTool(client, 'run_query', { sql: 'select pg_sleep(15)' }, stop.signal)
    call.catch(() => undefined)
    await eventually(async () => (await countActive()) === 1)
    collectGarbage()
    stop.abort()
    await expect(call).rejects.toThrow()
    await eventually(async () => (await countActive()) === 0, { timeoutMs: 10_000 })
    expect((await callTool(client, 'run_query', { sql: 'select 2' })).data.rows).toEqual([[2]])
  })

  it('a stopped Postgres gives a sentence, and a call works when it is back', async () => {
    const line = await openLine(url)
    onTestFinished(() => line.close())
    const client = await connectClient(transport, line.url)
    expect((await callTool(client, 'what_is_here')).isError).toBe(false)
    line.become('cut')
    const down = await callTool(client, 'what_is_here')
    expect(down).toMatchObject({
      isError: true,
      text: expect.stringContaining('the database cannot be reached'),
    })
    line.become('good')
    expect((await callTool(client, 'what_is_here')).isError).toBe(false)
  })

  it('two clients are served at once', async () => {
    const clients = await Promise.all([connectClient(transport, url), connectClient(transport, url)])
    const answers = await Promise.all(
      clients.flatMap((client, index) =>
        Array.from({ length: 5 }, async (_, number) => {
          const sql = `select ${index} as client, ${number} as number, pg_sleep(0.05)::text`
          return (await callTool(client, 'run_query', { sql })).data.rows
        }),
      ),
    )
    expect(answers).toEqual(
      [0, 1].flatMap((client) => [0, 1, 2, 3, 4].map((number) => [[client, number, '']])),
    )
  })
})

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a test', version: '1' } },
})

describe('musette mcp', () => {
  const start = () => startNode([distPath('main.js'), 'mcp'], { env: { DATABASE_URL: url }, typed: true })

  it('writes nothing but messages to standard output, and ends with its input', async () => {
    const running = start()
    running.type(INITIALIZE)
    await running.waitForLine(/"protocolVersion"/)
    running.type('this is no message')
    running.type(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }))
    running.type(
      JSON.stringify({
        jsonrpc: '2.0',
        id: 2,
        method: 'tools/call',
        params: { name: 'what_is_here', arguments: {} },
      }),
    )
    await running.waitForLine(/"id":2/)
    const { code, stdout } = await running.kill('SIGTERM')
    expect(code).toBe(0)
    for (const line of stdout.trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' })
    const atEnd = await runNode([distPath('main.js'), 'mcp'], {
      env: { DATABASE_URL: url },
      input: `${INITIALIZE}\n`,
    })
    expect(atEnd.code).toBe(0)
  })

  it('leaves a folder without data as it is, and says in the answer what to type', async () => {
    const folder = await openTempDir('nothing')
    onTestFinished(() => folder.close())
    const client = await connectStdio({ MUSETTE_DATA_DIR: join(folder.path, 'data') })
    const answer = await client.callTool({ name: 'run_query', arguments: { sql: 'select 1' } })
    expect(answer).toMatchObject({ isError: true })
    expect(JSON.stringify(answer.content)).toContain('run: musette login')
    expect(await readdir(folder.path)).toEqual([])
  })
})

describe('musette mcp reads as a login that may only read', () => {
  const currentUser = async (options: Parameters<typeof connectStdio>[0]) => {
    const client = await connectStdio(options)
    return (await callTool(client, 'run_query', { sql: 'select current_user::text' })).data.rows
  }

  it('that MUSETTE_READER_URL names', async () => {
    const login = await openReaderLogin()
    const reader = await login.make()
    expect(await currentUser({ DATABASE_URL: login.url, MUSETTE_READER_URL: reader.url })).toEqual([
      [login.name],
    ])
  })

  it('that it makes in the embedded Postgres', async () => {
    const folder = await openTempDir('mcp-embedded')
    onTestFinished(() => folder.close())
    const env = { MUSETTE_DATA_DIR: folder.path }
    expect(await runNode([distPath('main.js'), 'migrate'], { env, timeoutMs: 120_000 })).toMatchObject({
      code: 0,
    })
    expect(await currentUser(env)).toEqual([[expect.stringMatching(/^musette_mcp_[0-9a-f]{8}$/)]])
  })
})

describe('/mcp', () => {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const post = (address: string, more: Record<string, string> = {}, body = INITIALIZE) =>
    ask(`${address}/mcp`, { method: 'POST', headers: { ...headers, ...more }, body })
  const authorization = `Bearer ${TOKEN}`

  it('requires the token, and checks the origin of a page', async () => {
    const { url: address } = await openMcpWeb(url)
    expect(await post(address)).toMatchObject({ status: 403 })
    expect(await post(address, { authorization: 'Bearer wrong' })).toMatchObject({ status: 401 })
    expect(await post(address, { authorization })).toMatchObject({ status: 200 })
    const foreign = { authorization, origin: 'https://evil.example' }
    expect(await post(address, foreign)).toMatchObject({ status: 403 })
    expect(await ask(`${address}/mcp`, { headers: { authorization } })).toMatchObject({ status: 405 })
  })

  it('without a token answers local programs, and no page of another site', async () => {
    const { url: address } = await openMcpWeb(url, { token: undefined })
    expect(await post(address)).toMatchObject({ status: 200 })
    expect(await post(address, { origin: 'https://evil.example' })).toMatchObject({ status: 403 })
    expect(await post(address, { 'sec-fetch-site': 'cross-site' })).toMatchObject({ status: 403 })
    expect(await post(address, { host: 'evil.example' })).toMatchObject({ status: 403 })
    expect(await ask(`${address}/login`, { method: 'POST', headers })).not.toMatchObject({ status: 200 })
  })

  it('refuses a body that is too large or not JSON', async () => {
    const { url: address } = await openMcpWeb(url)
    const large = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'x',
      params: { text: 'x'.repeat(300_000) },
    })
    expect(await post(address, { authorization }, large)).toMatchObject({ status: 413 })
    expect(await post(address, { authorization }, '{')).toMatchObject({ status: 400 })
    expect(await post(address, { authorization, 'content-type': 'text/plain' })).toMatchObject({
      status: 415,
    })
  })

  it('keeps no session: a client continues after a restart of the daemon', async () => {
    const first = await openMcpWeb(url)
    const client = await connectHttp(first.url)
    await callTool(client, 'run_query', { sql: 'select 1' })
    const second = await openMcpWeb(url)
    const call = {
      jsonrpc: '2.0',
      id: 7,
      method: 'tools/call',
      params: { name: 'run_query', arguments: { sql: 'select 3' } },
    }
    const answer = await post(
      second.url,
      { authorization, 'mcp-session-id': 'of the first one', 'mcp-protocol-version': '2025-06-18' },
      JSON.stringify(call),
    )
    expect(answer.status).toBe(200)
    expect(answer.body).toContain('[[3]]')
  })
})
