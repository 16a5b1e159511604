import { addAbortSignal, type Readable } from 'node:stream'
import { joinSignals } from '../../kit/time.ts'

type Choice = {
  initialValue?: string
  /** returns what is wrong with the line, or undefined */
  validate?: (line: string | undefined) => string | undefined
}

/** Asks for a line on the terminal. Throws AbortError at Ctrl-C, Ctrl-D or Escape, or if the signal aborts. */
export async function promptForText(
  message: string,
  signal: AbortSignal,
  choice: Choice = {},
): Promise<string> {
  const { text } = await import('@clack/prompts')
  return untilCancelled(signal, (cancel) =>
    text({ message, ...choice, output: process.stderr, signal: cancel }),
  )
}

/** Asks for a secret on the terminal, which shows a mask. Throws as promptForText does. */
export async function promptForSecret(message: string, signal: AbortSignal): Promise<string> {
  const { password } = await import('@clack/prompts')
  return untilCancelled(signal, (cancel) => password({ message, output: process.stderr, signal: cancel }))
}

async function untilCancelled(
  signal: AbortSignal,
  ask: (cancel: AbortSignal) => Promise<string | symbol>,
): Promise<string> {
  const cancel = joinSignals([signal])
  // The library ignores Ctrl-D and would wait forever on a closed input.
  const onKey = (_text: string | undefined, key: { ctrl?: boolean; name?: string } | undefined) => {
    if (key?.ctrl && key.name === 'd') cancel.abort()
  }
  process.stdin.on('keypress', onKey)
  try {
    const answer = await ask(cancel.signal)
    if (typeof answer === 'string') return answer
    throw new DOMException('the prompt was cancelled', 'AbortError')
  } finally {
    process.stdin.off('keypress', onKey)
    cancel.clear()
  }
}

/** Reads a stream to its end as UTF-8 text. Throws AbortError if the signal aborts first. */
export async function readInput(stream: Readable, signal?: AbortSignal): Promise<string> {
  if (signal) addAbortSignal(signal, stream)
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString('utf8')
}
