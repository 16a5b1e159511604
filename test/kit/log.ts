import { Writable } from 'node:stream'
import { type Logger, pino } from 'pino'

export type LogLine = { level: string; msg?: string; [field: string]: unknown }

export type TestLog = {
  log: Logger
  /** every line so far, parsed; `level` is a name */
  lines: LogLine[]
  /** every line so far as written, to search for secrets */
  text(): string
}

/** Makes a logger that keeps its lines for assertions. */
export function makeTestLog(level = 'trace'): TestLog {
  const lines: LogLine[] = []
  let text = ''
  const destination = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk)
      for (const line of String(chunk).split('\n')) if (line) lines.push(JSON.parse(line))
      done()
    },
  })
  const log = pino({ level, base: null, formatters: { level: (label) => ({ level: label }) } }, destination)
  return { log, lines, text: () => text }
}

export function makeSilentLog(): Logger {
  return pino({ level: 'silent' })
}
