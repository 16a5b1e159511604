import { formatCount } from '../../kit/text.ts'
import { formatDuration, MINUTE, SECOND } from '../../kit/time.ts'
import type { Context } from './context.ts'
import { escapeControls } from './output.ts'

export type ProgressLine = {
  show(now: { done: number; total: number }): void
  /** ends the line and keeps its last state; a second call, or a call after `finish`, does nothing */
  close(): void
  finish(sentence: string): void
}

/** The part of a terminal that a redrawn line needs. */
type Terminal = { columns?: number; write(text: string): unknown }

/** The interval of the plain lines when the output is not a terminal. */
const PLAIN_EVERY_MS = 5 * SECOND
const REDRAW_EVERY_MS = 100
/** The width of a terminal that does not report it, in columns. */
const USUAL_COLUMNS = 80
/** A shorter bar, in columns, shows too little and is left out. */
const SHORTEST_BAR = 10
const LONGEST_BAR = 40
const CLEAR_LINE = '\r\x1b[2K'

/**
 * Makes a progress line with rate and remaining time: redrawn in place on a terminal, a plain line every five seconds
 * elsewhere. It handles no keys and no signals, so that Ctrl-C stops the work in order.
 */
export function makeProgressLine(
  context: Pick<Context, 'terminal' | 'note'>,
  what: string,
  now = Date.now,
  terminal: Terminal = process.stderr,
): ProgressLine {
  return context.terminal ? movingLine(terminal, what, now) : plainLines(context, what, now)
}

function movingLine(terminal: Terminal, what: string, now: () => number): ProgressLine {
  const startedAt = now()
  let drawnAt: number | undefined
  return {
    show({ done, total }) {
      if (drawnAt !== undefined && now() - drawnAt < REDRAW_EVERY_MS && done < total) return
      drawnAt = now()
      const sentence = sentenceOf(what, done, total, drawnAt - startedAt)
      // Some terminals begin a new line after a full last column. The cursor returns, so that a log line overwrites this one.
      const width = (terminal.columns || USUAL_COLUMNS) - 1
      terminal.write(`${CLEAR_LINE}${withBar(sentence, done / Math.max(1, total), width)}\r`)
    },
    close() {
      if (drawnAt !== undefined) terminal.write('\n')
      drawnAt = undefined
    },
    finish(sentence) {
      terminal.write(`${drawnAt === undefined ? '' : CLEAR_LINE}${escapeControls(sentence)}\n`)
      drawnAt = undefined
    },
  }
}

/** Returns a sentence and, if `width` columns suffice, a bar behind it. */
function withBar(sentence: string, share: number, width: number): string {
  const length = Math.min(LONGEST_BAR, width - sentence.length - 2)
  if (length < SHORTEST_BAR) return sentence.slice(0, width)
  const full = Math.round(share * length)
  return `${sentence}  ${'━'.repeat(full)}${'─'.repeat(length - full)}`
}

function plainLines({ note }: Pick<Context, 'note'>, what: string, now: () => number): ProgressLine {
  const startedAt = now()
  let lastAt = startedAt
  return {
    show({ done, total }) {
      if (now() - lastAt < PLAIN_EVERY_MS) return
      lastAt = now()
      note(sentenceOf(what, done, total, lastAt - startedAt))
    },
    close: () => undefined,
    finish: note,
  }
}

function sentenceOf(what: string, done: number, total: number, elapsedMs: number): string {
  if (done === 0) return `${what}: 0 of ${formatCount(total)}`
  const perMinute = (done / Math.max(1, elapsedMs)) * MINUTE
  const toGo = formatDuration((elapsedMs / done) * (total - done))
  return `${what}: ${formatCount(done)} of ${formatCount(total)}, ${formatCount(Math.round(perMinute))} a minute, ${toGo} to go`
}
