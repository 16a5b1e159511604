import { cp, readdir, rename, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { collectGarbage } from '../../../src/core/service/transport.ts'
import { eventually } from '../../kit/eventually.ts'
import { openForAll } from '../../kit/open-for.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { openLine } from '../../kit/postgres-line.ts'
import { distPath, runNode, startNode } from '../../kit/processes.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { ask } from '../../program/web/rig.ts'
import { dropAssistantLogins } from './guarded/rig.ts'
import { callTool, connectClient, connectHttp, connectStdio, openMcpWeb, TOKEN } from './rig.ts'

let url: string
const database = openForAll(openTestDatabase)
beforeAll(() => {
  url = database.url
})
afterAll(() => dropAssistantLogins(url))

const ACTIVE = `select pid from pg_stat_activity
  where datname = current_database() and application_name = 'musette mcp' and state = 'active'`
const countActive = async () => (await queryOnce(url, ACTIVE)).length
const rowsOf = async (client: Client, sql: string) => (await callTool(client, 'run_query', { sql })).data.rows

describe.each([
  ['stdio', 'auto'],
  ['http', 'legacy'],
  ['http', 'auto'],
] as const)('MCP over %s (%s)', (transport, era) => {
  it('serves two clients at once, cancels queries, and survives an outage of Postgres', async () => {
    const line = await openLine(url)
    onTestFinished(() => line.close())
    const connect = () => connectClient(transport, line.url, { era })
    const clients = await Promise.all([connect(), connect()])
    const [client] = clients
    const asked = clients.flatMap((each, index) =>
      [0, 1, 2, 3, 4].map((number) => rowsOf(each, `select ${index}, ${number}, pg_sleep(0.05)::text`)),
    )
    const expected = [0, 1].flatMap((index) => [0, 1, 2, 3, 4].map((number) => [[index, number, '']]))
    expect(await Promise.all(asked)).toEqual(expected)

    const stop = new AbortController()
    const call = callTool(client, 'run_query', { sql: 'select pg_sleep(15)' }, stop.signal)
    call.catch(() => undefined)
    await eventually(async () => (await countActive()) === 1)
    collectGarbage()
    stop.abort()
    await expect(call).rejects.toThrow()
    await eventually(async () => (await countActive()) === 0, { timeoutMs: 10_000 })
    expect(await rowsOf(client, 'select 2')).toEqual([[2]])

    line.become('cut')
    const text = expect.stringContaining('the database cannot be reached')
    expect(await callTool(client, 'what_is_here')).toMatchObject({ isError: true, text })
    line.become('good')
    expect(await callTool(client, 'what_is_here')).toMatchObject({ isError: false })
  })
})

const request = (id: number, method: string, params: object) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })
const INITIALIZE = request(1, 'initialize', {
  ...{ protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a test', version: '1' } },
})

describe('musette mcp', () => {
  it('writes only messages to standard output, and exits when its input ends', async () => {
    const options = { env: { DATABASE_URL: url } }
    const running = startNode([distPath('main.js'), 'mcp'], { ...options, typed: true })
    running.type(INITIALIZE)
    await running.waitForLine(/"protocolVersion"/)
    running.type('this is no message')
    running.type(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }))
    running.type(request(2, 'tools/call', { name: 'what_is_here', arguments: {} }))
    await running.waitForLine(/"id":2/)
    const { code, stdout } = await running.kill('SIGTERM')
    expect(code).toBe(0)
    for (const line of stdout.trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' })
    const atEnd = await runNode([distPath('main.js'), 'mcp'], { ...options, input: `${INITIALIZE}\n` })
    expect(atEnd.code).toBe(0)
  })

  it('creates nothing without a database, and answers with the command to type', async () => {
    const folder = await openTempDir('nothing')
    onTestFinished(() => folder.close())
    const client = await connectStdio({ MUSETTE_DATA_DIR: join(folder.path, 'data') })
    const answer = await client.callTool({ name: 'run_query', arguments: { sql: 'select 1' } })
    expect(answer).toMatchObject({ isError: true })
    expect(JSON.stringify(answer.content)).toContain('run: musette login')
    expect(await readdir(folder.path)).toEqual([])
  })
})

it('musette mcp reads the embedded Postgres as a login that it creates', async () => {
  const folder = await openTempDir('mcp-embedded')
  onTestFinished(() => folder.close())
  const env = { MUSETTE_DATA_DIR: folder.path }
  const migrated = await runNode([distPath('main.js'), 'migrate'], { env, timeoutMs: 120_000 })
  expect(migrated).toMatchObject({ code: 0 })
  const user = await rowsOf(await connectStdio(env), 'select current_user::text')
  expect(user).toEqual([[expect.stringMatching(/^musette_mcp_[0-9a-f]{8}$/)]])
})

describe('/mcp', () => {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const post = (address: string, more: Record<string, string> = {}, body = INITIALIZE) =>
    ask(`${address}/mcp`, { method: 'POST', headers: { ...headers, ...more }, body })
  const authorization = `Bearer ${TOKEN}`

  const EVIL = { origin: 'https://evil.example' }

  it('requires the token, and refuses the origin of another site', async () => {
    const { url: address } = await openMcpWeb(url)
    const large = request(1, 'x', { text: 'x'.repeat(300_000) })
    for (const [status, more, body] of [
      [403, {}],
      [401, { authorization: 'Bearer wrong' }],
      [200, { authorization }],
      [403, { authorization, ...EVIL }],
      [413, { authorization }, large],
      [400, { authorization }, '{'],
      [415, { authorization, 'content-type': 'text/plain' }],
    ] as const)
      expect([more, (await post(address, more, body)).status]).toEqual([more, status])
    for (const method of ['GET', 'HEAD'])
      expect(await ask(`${address}/mcp`, { method, headers: { authorization } })).toMatchObject({
        status: 405,
      })
  })

  it('without a token answers local programs, but no page of another site', async () => {
    const { url: address } = await openMcpWeb(url, { token: undefined })
    expect(await post(address)).toMatchObject({ status: 200 })
    for (const foreign of [EVIL, { 'sec-fetch-site': 'cross-site' }, { host: 'evil.example' }])
      expect(await post(address, foreign)).toMatchObject({ status: 403 })
    expect(await ask(`${address}/login`, { method: 'POST', headers })).not.toMatchObject({ status: 200 })
  })

  it('still answers after an upgrade has replaced the files of the program', async () => {
    const folder = await openTempDir('replaced')
    onTestFinished(() => folder.close())
    const dist = join(folder.path, 'dist')
    await cp(distPath('chunks'), join(dist, 'chunks'), {
      recursive: true,
      filter: (path) => !path.endsWith('.map'),
    })
    await cp(distPath('main.js'), join(dist, 'main.js'))
    await cp(distPath('../package.json'), join(folder.path, 'package.json'))
    for (const name of ['drizzle', 'node_modules', 'dist/node_modules', 'dist/web', 'dist/scan-rows.wasm'])
      await symlink(distPath(`../${name}`), join(folder.path, name))
    const daemon = startNode([join(dist, 'main.js'), 'start', '--roles', 'web'], {
      env: {
        ...{ DATABASE_URL: url, MUSETTE_DATA_DIR: join(folder.path, 'data') },
        ...{ MUSETTE_HTTP: '127.0.0.1:0', MUSETTE_HTTP_TOKEN: TOKEN },
      },
    })
    onTestFinished(() => void daemon.kill('SIGKILL'))
    const { url: address } = JSON.parse(await daemon.waitForLine(/"msg":"started"/))
    await rename(join(dist, 'chunks'), join(dist, 'replaced'))
    const call = request(7, 'tools/call', { name: 'run_query', arguments: { sql: 'select 3' } })
    const answer = await post(address, { authorization, 'mcp-protocol-version': '2025-06-18' }, call)
    expect(answer).toMatchObject({ status: 200, body: expect.stringContaining('[[3]]') })
  })

  it('continues to serve a client after a restart of the daemon', async () => {
    const first = await openMcpWeb(url)
    await rowsOf(await connectHttp(first.url), 'select 1')
    const second = await openMcpWeb(url)
    const call = request(7, 'tools/call', { name: 'run_query', arguments: { sql: 'select 3' } })
    const session = { 'mcp-session-id': 'of the first one', 'mcp-protocol-version': '2025-06-18' }
    const answer = await post(second.url, { authorization, ...session }, call)
    expect(answer).toMatchObject({ status: 200, body: expect.stringContaining('[[3]]') })
  })
})
