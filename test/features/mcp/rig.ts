import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { onTestFinished } from 'vitest'
import { registerAssistants } from '../../../src/features/mcp/routes.ts'
import type { AtEnd } from '../../core/store/open.ts'
import { readConfig } from '../../kit/config.ts'
import { makeTestLog } from '../../kit/log.ts'
import { distPath } from '../../kit/processes.ts'
import { openBareWeb } from '../../program/web/rig.ts'

export const TOKEN = 'a token for the mcp tests'

/** A tool's result as its client sees it. */
export type Answered = { text: string; data: Record<string, never>; isError: boolean }

type Options = { account?: string; era?: 'legacy' | 'auto'; atEnd?: AtEnd }

/** Connects an SDK client over a transport to a server that reads the database at `url`. */
export async function connectClient(
  transport: 'stdio' | 'http',
  url: string,
  options: Options = {},
): Promise<Client> {
  if (transport === 'stdio') return connectStdio({ DATABASE_URL: url }, options)
  const { url: address } = await openMcpWeb(url, { token: TOKEN, ...options })
  return connectHttp(address, options)
}

/** Starts `musette mcp` with these settings and connects to it. */
export async function connectStdio(
  env: Record<string, string>,
  { account, ...options }: Options = {},
): Promise<Client> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [distPath('main.js'), 'mcp', ...(account ? ['--account', account] : [])],
    env: { PATH: process.env.PATH ?? '', ...env },
    stderr: 'inherit',
  })
  return connect(transport, options)
}

/** Connects to `/mcp` of the web server at `address`. */
export async function connectHttp(
  address: string,
  { account, token = TOKEN, ...options }: Options & { token?: string } = {},
): Promise<Client> {
  const url = new URL('/mcp', address)
  if (account) url.searchParams.set('account', account)
  const headers = { authorization: `Bearer ${token}` }
  return connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }), options)
}

async function connect(
  transport: Parameters<Client['connect']>[0],
  { era: mode = 'legacy', atEnd = onTestFinished }: Options,
) {
  const client = new Client({ name: 'a test', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(transport)
  atEnd(() => client.close())
  return client
}

/** Opens a web server that serves only `/mcp`. */
export async function openMcpWeb(
  databaseUrl: string,
  options: { token?: string | undefined; atEnd?: AtEnd } = { token: TOKEN },
) {
  const { log, text } = makeTestLog()
  const app = { log, databaseUrl, config: readConfig({ DATABASE_URL: databaseUrl }) }
  const web = await openBareWeb({
    ...{ host: '127.0.0.1', token: options.token },
    features: [{ name: 'mcp', routes: (server) => registerAssistants(server, { app }) }],
  })
  const { atEnd = onTestFinished } = options
  atEnd(() => web.close())
  return { url: web.url, log: text }
}

/** Calls a tool and returns its text, its data and whether it failed. */
export async function callTool(
  client: Client,
  name: string,
  input: Record<string, unknown> = {},
  signal?: AbortSignal,
): Promise<Answered> {
  const answer = await client.callTool({ name, arguments: input }, signal && { signal })
  const [first] = answer.content as Array<{ text: string }>
  return {
    text: first?.text ?? '',
    data: (answer.structuredContent ?? {}) as Record<string, never>,
    isError: answer.isError === true,
  }
}
