/** One message of a client to Postgres, whole; `type` is empty for the first one, which has none. */
type ClientMessage = { type: string; bytes: Buffer }

const LENGTH_BYTES = 4

/** Makes a reader that turns what a client sends, in pieces of any size, into whole messages. */
export function makeMessageReader(): (chunk: Buffer) => ClientMessage[] {
  let pending: Buffer = Buffer.alloc(0)
  let begun = false
  return (chunk) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    const messages: ClientMessage[] = []
    for (;;) {
      const head = begun ? 1 : 0
      if (pending.length < head + LENGTH_BYTES) return messages
      const size = head + pending.readInt32BE(head)
      if (pending.length < size) return messages
      messages.push({
        type: begun ? pending.toString('latin1', 0, 1) : '',
        bytes: pending.subarray(0, size),
      })
      begun = true
      pending = pending.subarray(size)
    }
  }
}

/** Whether a message makes Postgres do something: a query, simple or parsed, or the end of a COPY. */
export function isStatement(message: ClientMessage): boolean {
  return message.type === 'Q' || message.type === 'P' || message.type === 'c'
}
