import pg from 'pg'
import { SECOND } from '../../kit/time.ts'

/** The form of a column's texts. `number`: exact as JavaScript numbers; `digits`: numbers with more digits; `json`: JSON texts. */
type Form = 'number' | 'digits' | 'boolean' | 'json' | 'text'

export type Field = {
  name: string
  form: Form
  /** OID and number of the table or view column that the values come from; undefined for an expression */
  origin?: { table: number; column: number } | undefined
}

/** A row's values in the order of the fields, as Postgres writes them; NULL is null. */
export type Row = ReadonlyArray<string | null>

/**
 * A part of the results of statements. A statement that returns rows yields `fields`, then `rows` any number of times, then `done`. Any
 * other statement yields only `done`, after the `copied` bytes of a COPY … TO STDOUT.
 */
export type Part =
  | { kind: 'fields'; fields: readonly Field[] }
  | { kind: 'rows'; rows: Row[] }
  | { kind: 'copied'; bytes: Uint8Array }
  /** `command` is the command tag: `SELECT 12` */
  | { kind: 'done'; command: string }

export type Statement = {
  text: string
  /** the text's parameters $1, $2, …; only with `extended` */
  values?: readonly unknown[] | undefined
  /** `extended` allows exactly one statement, `simple` any number of them */
  protocol: 'simple' | 'extended'
  /** after this many bytes of results the connection is destroyed, because one row may be larger than the memory */
  maxBytes?: number | undefined
  signal?: AbortSignal | undefined
}

/** Ends a result larger than `maxBytes`; the connection is no longer usable. */
export class ResultTooLarge extends Error {
  override readonly name = 'ResultTooLarge'
}

/** How long after a cancellation without an answer of the server the connection is destroyed, ms. */
const CANCEL_WITHIN_MS = 15 * SECOND

const { builtins } = pg.types
const OID = { json: 114, xid: 28, cid: 29, xid8: 5069, money: 790 } as const
const OIDS: Readonly<Record<Exclude<Form, 'text'>, readonly number[]>> = {
  number: [builtins.INT2, builtins.INT4, builtins.FLOAT4, builtins.FLOAT8],
  digits: [builtins.INT8, builtins.NUMERIC, builtins.OID, OID.xid, OID.cid, OID.xid8, OID.money],
  boolean: [builtins.BOOL],
  json: [OID.json, builtins.JSONB],
}
const FORMS = new Map(
  Object.entries(OIDS).flatMap(([form, oids]) => oids.map((oid) => [oid, form as Form] as const)),
)

// The driver's query callbacks, which its types lack.
type Driver = {
  handleRowDescription(message: { fields: pg.FieldDef[] }): void
  handleDataRow(message: { fields: Row }): void
  handleCopyData(message: { chunk: Uint8Array }): void
  handleCommandComplete(message: { text: string }): void
  handleError(error: unknown): void
  handleReadyForQuery(): void
}

/**
 * Runs a text on an idle connection and yields the parts of its result as they arrive. The socket is read only while the caller waits for
 * the next part, so memory holds one chunk of the socket, about 64 kB. An abort, or an early return of the caller, cancels the statement on
 * the server; the connection stays usable. Throws the driver's errors, the signal's reason after an abort, and ResultTooLarge.
 */
export async function* runStatement(
  client: pg.Client,
  { text, values, protocol, maxBytes, signal }: Statement,
): AsyncGenerator<Part, void, undefined> {
  signal?.throwIfAborted()
  const { stream } = client.connection
  let arrived: Part[] = []
  let unread = true
  let ended = false
  let failure: unknown
  let wake = () => {}
  const add = (part: Part) => {
    if (!unread) return
    arrived.push(part)
    stream.pause()
    wake()
  }
  const end = (error?: unknown) => {
    if (ended) return
    failure = error
    ended = true
    wake()
  }
  const driver: Driver = {
    handleRowDescription: ({ fields }) => add({ kind: 'fields', fields: fields.map(fieldOf) }),
    handleDataRow({ fields }) {
      const last = arrived.at(-1)
      if (last?.kind === 'rows') last.rows.push(fields)
      else add({ kind: 'rows', rows: [fields] })
    },
    handleCopyData: ({ chunk }) => add({ kind: 'copied', bytes: Uint8Array.from(chunk) }),
    handleCommandComplete: ({ text: command }) => add({ kind: 'done', command }),
    handleError(error) {
      // After a server error the driver drops the query; the connection is idle again at `readyForQuery`.
      if (!(error instanceof pg.DatabaseError)) return end(error)
      for (const sign of ['readyForQuery', 'end']) client.connection.once(sign, () => end(error))
    },
    handleReadyForQuery: () => end(),
  }
  const next = async () => {
    stream.resume()
    if (!ended && arrived.length === 0) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
  let stopCancelling = () => {}
  const cancel = () => {
    unread = false
    arrived = []
    stopCancelling = cancelAtServer(client)
    stream.resume()
  }
  let bytes = 0
  const count = (chunk: Uint8Array) => {
    bytes += chunk.length
    if (ended || maxBytes === undefined || bytes <= maxBytes) return
    end(new ResultTooLarge(`the result is larger than ${maxBytes} bytes`))
    stopCancelling = cancelAtServer(client)
    stream.destroy()
  }
  signal?.addEventListener('abort', cancel, { once: true })
  stream.prependListener('data', count)
  try {
    const config = { text, queryMode: protocol, ...(values && { values: [...values] }) }
    client.query(Object.assign(new pg.Query(config), driver))
    while (!ended || arrived.length > 0) {
      await next()
      const parts = arrived
      arrived = []
      yield* parts
    }
    if (signal?.aborted) throw signal.reason
    if (failure !== undefined) throw failure
  } finally {
    signal?.removeEventListener('abort', cancel)
    stream.off('data', count)
    if (!ended && unread) cancel()
    while (!ended) await next()
    stopCancelling()
    stream.resume()
  }
}

function fieldOf({ name, dataTypeID, tableID, columnID }: pg.FieldDef): Field {
  const origin = tableID > 0 ? { table: tableID, column: columnID } : undefined
  return { name, form: FORMS.get(dataTypeID) ?? 'text', origin }
}

/** Sends a cancel request for a connection's running statement, as psql does: on a second connection, with the key that the server sent. Returns a function that ends the attempt. */
function cancelAtServer(client: pg.Client): () => void {
  const { processID, secretKey } = client as unknown as Record<'processID' | 'secretKey', number>
  const connection = new pg.Connection() as pg.Connection & {
    connect(portOrPath: number | string, host?: string): void
    cancel(processID: number, secretKey: number): void
  }
  connection.on('error', () => undefined)
  connection.once('connect', () => connection.cancel(processID, secretKey))
  if (client.host.startsWith('/')) connection.connect(`${client.host}/.s.PGSQL.${client.port}`)
  else connection.connect(client.port, client.host)
  const late = setTimeout(() => client.connection.stream.destroy(), CANCEL_WITHIN_MS)
  return () => {
    clearTimeout(late)
    connection.stream.destroy()
  }
}
