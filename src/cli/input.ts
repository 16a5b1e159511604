import { addAbortSignal, type Readable } from 'node:stream'

/** Reads a stream to its end as text. Throws an AbortError when the signal aborts before. */
export async function readInput(stream: Readable, signal?: AbortSignal): Promise<string> {
  if (signal) addAbortSignal(signal, stream)
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString('utf8')
}
