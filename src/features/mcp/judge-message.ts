import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server'
import { isObject, parseIfJson } from '../../kit/json.ts'

/** The answer of JSON-RPC to a message that is not a request; `id` is null where the request has none that can be read. */
export type Refusal = {
  jsonrpc: '2.0'
  id: string | number | null
  error: { code: number; message: string }
}

/** What a client sent, as JSON and as messages: those that the SDK takes, and the answers to those that it does not. */
type Judged = { json?: unknown; messages: unknown[]; refusals: Refusal[] }

/** The only version of the protocol that has batches (its changelog of 2025-06-18). */
export const VERSION_WITH_BATCHES = '2025-03-26'

/**
 * Judges a text that should be a message of JSON-RPC, or a batch of them where `version`, that of the protocol, has batches. What is
 * neither a request nor a notification nor an answer is refused; a notification or an answer of a wrong form is dropped.
 */
export function judgeText(text: string, version: string | undefined): Judged {
  const json = parseIfJson(text)
  if (json === undefined)
    return refused(ProtocolErrorCode.ParseError, 'this is not JSON; send one message of JSON-RPC 2.0')
  if (!Array.isArray(json)) return { json, ...judgeMessage(json) }
  if (version !== VERSION_WITH_BATCHES)
    return refused(
      ProtocolErrorCode.InvalidRequest,
      `a batch is refused: only version ${VERSION_WITH_BATCHES} of the protocol has batches; send each message by itself`,
    )
  if (json.length === 0) return refused(ProtocolErrorCode.InvalidRequest, 'a batch needs a message')
  const judged = json.map(judgeMessage)
  return {
    json,
    messages: judged.flatMap(({ messages }) => messages),
    refusals: judged.flatMap(({ refusals }) => refusals),
  }
}

/** Makes the answer to a message that is not a request. */
export function makeRefusal(code: number, message: string, id: Refusal['id'] = null): Refusal {
  return { jsonrpc: '2.0', id, error: { code, message } }
}

function refused(code: number, message: string, id?: Refusal['id']): Judged {
  return { messages: [], refusals: [makeRefusal(code, message, id)] }
}

function judgeMessage(message: unknown): Judged {
  // Every list is sent whole, so no cursor was ever given out.
  if (isJSONRPCRequest(message) && message.method.endsWith('/list') && message.params?.cursor !== undefined)
    return refused(ProtocolErrorCode.InvalidParams, 'there is no such cursor; ask without one', message.id)
  if (isJSONRPCRequest(message) || isJSONRPCNotification(message) || isJSONRPCResponse(message))
    return { messages: [message], refusals: [] }
  const refusal = refusalOf(message)
  return { messages: [], refusals: refusal ? [refusal] : [] }
}

function refusalOf(message: unknown): Refusal | undefined {
  if (!isObject(message))
    return makeRefusal(ProtocolErrorCode.InvalidRequest, 'a message of JSON-RPC 2.0 is an object')
  const { params, ...rest }: { id?: unknown; params?: unknown } = message
  const isAnswer = !('method' in message) && ('result' in message || 'error' in message)
  const isNotification = 'method' in message && !('id' in message)
  if (isAnswer || isNotification) return undefined
  const id = typeof rest.id === 'string' || typeof rest.id === 'number' ? rest.id : null
  if (params !== undefined && isJSONRPCRequest(rest))
    return makeRefusal(
      ProtocolErrorCode.InvalidParams,
      'params must be an object, and _meta in it one, too',
      id,
    )
  const form =
    'a request of JSON-RPC 2.0 has jsonrpc "2.0", an id that is a text or an integer, a method that is a text, params, and nothing else'
  return makeRefusal(ProtocolErrorCode.InvalidRequest, form, id)
}
