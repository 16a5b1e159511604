import { McpServer, type McpServerFactory } from '@modelcontextprotocol/server'
import type { Logger } from 'pino'
import { z } from 'zod'
import { errorLine, isAbort, MusetteError } from '../../kit/errors.ts'
import { VERSION } from '../../kit/program-folder.ts'
import { joinSignals } from '../../kit/time.ts'
import { COOKBOOK, type Recipe } from './cookbook/cookbook.ts'
import type { GuardedReader } from './guarded-reader.ts'
import { makeQuery, type Query } from './json-rows.ts'
import { describeSchema } from './schema-text.ts'
import { findActivities, getActivity } from './tools/activity-tools.ts'
import { powerBests } from './tools/power-bests.ts'
import { recentChanges } from './tools/recent-changes.ts'
import { runQuery } from './tools/run-query.ts'
import { stateToday } from './tools/state-today.ts'
import { ABOUT_TEXTS, makeFailed, makeFailure, makeUnknown, type Tool } from './tools/tool.ts'
import { whatIsHere } from './tools/what-is-here.ts'

const TOOLS: readonly Tool[] = [
  whatIsHere,
  stateToday,
  findActivities,
  getActivity,
  powerBests,
  recentChanges,
  runQuery,
]

const INSTRUCTIONS = `A read-only mirror of a rider's training history in Postgres. Units are in field names (_w, _s, _kg, _kj) or in what_is_here; days are local to the activity; null means unknown. ${ABOUT_TEXTS}`

const SCHEMA_URI = 'musette://schema.md'
const SCHEMA_ORIGIN = 'Every table, view and column of the mirror, from the comments in the database.'

export type McpDeps = { log: Logger; reader: GuardedReader }

/**
 * Makes the factory of server instances, one for each connection or HTTP request. A server has seven tools, the questions of the cookbook
 * as prompts, and the data dictionary as a resource. All data comes from Postgres through the guarded reader.
 */
export function makeServerFactory(deps: McpDeps): McpServerFactory {
  return ({ requestInfo }) => {
    const server = new McpServer(
      { name: 'musette', title: 'musette', version: VERSION },
      { instructions: INSTRUCTIONS },
    )
    for (const tool of TOOLS) addTool(server, tool, { ...deps, requestSignal: requestInfo?.signal })
    for (const recipe of COOKBOOK) addPrompt(server, recipe)
    addSchema(server, deps)
    return server
  }
}

type CallDeps = McpDeps & { requestSignal: AbortSignal | undefined }

function addTool(server: McpServer, tool: Tool, { reader, log, requestSignal }: CallDeps): void {
  const { name, title, description, input, output } = tool
  server.registerTool(
    name,
    {
      title,
      description,
      inputSchema: input.strict(),
      outputSchema: z.object({ ...output, left_out: z.string().nullable() }),
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    },
    async (given, context) => {
      const joined = joinSignals([context.mcpReq.signal, requestSignal])
      const { signal } = joined
      try {
        const query = makeQuery(reader, signal)
        return (await refuse(query, given)) ?? (await tool.run({ reader, query, signal }, given as never))
      } catch (error) {
        if (isAbort(error, signal)) throw error
        if (error instanceof MusetteError) {
          log.warn({ tool: name, code: error.code }, 'mcp: a call failed')
          return makeFailed(error.message)
        }
        log.error({ error, tool: name }, 'mcp: a call failed')
        return makeFailure('musette failed to answer; the cause is in its log.')
      } finally {
        joined.clear()
      }
    },
  )
}

/** Returns a failure if every tool would find nothing: the span ends before it begins, or the account does not exist. */
async function refuse(query: Query, { account, from, to }: { account?: string; from?: string; to?: string }) {
  if (from && to && from > to) return makeFailure(`from ${from} is after to ${to}; swap them.`)
  if (account === undefined) return undefined
  const names = (await query('select name from training.accounts order by 1')).map(({ name }) => name)
  return names.includes(account) ? undefined : makeUnknown(`account "${account}"`, names)
}

function addPrompt(server: McpServer, { name, question, sql, reading }: Recipe): void {
  const text = `${question}

Answer with this query from the cookbook; run it with the tool run_query. Replace the activity name or the span of days in it by those that the person means. Each row names its account; if there are several riders, say whose answer each row is.

${sql}

How to read the answer: ${reading}`
  server.registerPrompt(name, { title: question }, () => ({
    messages: [{ role: 'user', content: { type: 'text', text } }],
  }))
}

function addSchema(server: McpServer, { reader, log }: McpDeps): void {
  const meta = { title: 'The data dictionary (docs/schema.md)', mimeType: 'text/markdown' }
  server.registerResource('schema', SCHEMA_URI, meta, async (uri, { mcpReq }) => {
    try {
      const query = makeQuery(reader, mcpReq.signal, 'pg_catalog')
      const text = await describeSchema(query, SCHEMA_ORIGIN)
      return { contents: [{ uri: uri.href, mimeType: 'text/markdown', text }] }
    } catch (error) {
      if (!isAbort(error, mcpReq.signal)) log.warn({ reason: errorLine(error) }, 'mcp: a resource failed')
      throw error
    }
  })
}
