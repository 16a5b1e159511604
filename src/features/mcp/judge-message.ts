import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server'
import { isObject, parseIfJson } from '../../kit/json.ts'

/** The JSON-RPC error response to an invalid message; `id` is null if the message has no readable id. */
export type Refusal = {
  jsonrpc: '2.0'
  id: string | number | null
  error: { code: number; message: string }
}

/** A parsed request body or line: its JSON, the messages for the SDK, and the error responses to the invalid messages. */
type Judged = { json?: unknown; messages: unknown[]; refusals: Refusal[] }

/** The only protocol version with batches; 2025-06-18 removed them (see its changelog). */
export const VERSION_WITH_BATCHES = '2025-03-26'

/**
 * Parses a text as a JSON-RPC message, or as a batch if the protocol `version` has batches. Refuses whatever is not a request, notification
 * or response; drops malformed notifications and responses, because JSON-RPC does not answer them.
 */
export function judgeText(text: string, version: string | undefined): Judged {
  const json = parseIfJson(text)
  if (json === undefined)
    return refused(ProtocolErrorCode.ParseError, 'the message is not JSON; send one JSON-RPC 2.0 message')
  if (!Array.isArray(json)) return { json, ...judgeMessage(json) }
  if (version !== VERSION_WITH_BATCHES)
    return refused(
      ProtocolErrorCode.InvalidRequest,
      `only protocol version ${VERSION_WITH_BATCHES} has batches; send each message by itself`,
    )
  if (json.length === 0) return refused(ProtocolErrorCode.InvalidRequest, 'the batch is empty')
  const judged = json.map(judgeMessage)
  return {
    json,
    messages: judged.flatMap(({ messages }) => messages),
    refusals: judged.flatMap(({ refusals }) => refusals),
  }
}

/** Makes the error response to an invalid message. */
export function makeRefusal(code: number, message: string, id: Refusal['id'] = null): Refusal {
  return { jsonrpc: '2.0', id, error: { code, message } }
}

function refused(code: number, message: string, id?: Refusal['id']): Judged {
  return { messages: [], refusals: [makeRefusal(code, message, id)] }
}

function judgeMessage(message: unknown): Judged {
  // Every list fits in one response, so the server never issues a cursor.
  if (isJSONRPCRequest(message) && message.method.endsWith('/list') && message.params?.cursor !== undefined)
    return refused(ProtocolErrorCode.InvalidParams, 'unknown cursor; ask without a cursor', message.id)
  if (isJSONRPCRequest(message) || isJSONRPCNotification(message) || isJSONRPCResponse(message))
    return { messages: [message], refusals: [] }
  const refusal = refusalOf(message)
  return { messages: [], refusals: refusal ? [refusal] : [] }
}

function refusalOf(message: unknown): Refusal | undefined {
  if (!isObject(message))
    return makeRefusal(ProtocolErrorCode.InvalidRequest, 'a JSON-RPC 2.0 message must be an object')
  const { params, ...rest }: { id?: unknown; params?: unknown } = message
  const isAnswer = !('method' in message) && ('result' in message || 'error' in message)
  const isNotification = 'method' in message && !('id' in message)
  if (isAnswer || isNotification) return undefined
  const id = typeof rest.id === 'string' || typeof rest.id === 'number' ? rest.id : null
  if (params !== undefined && isJSONRPCRequest(rest))
    return makeRefusal(ProtocolErrorCode.InvalidParams, 'params must be an object; so must params._meta', id)
  const form =
    'a JSON-RPC 2.0 request has only these members: jsonrpc "2.0", id (a string or an integer), method (a string) and params'
  return makeRefusal(ProtocolErrorCode.InvalidRequest, form, id)
}
