import { formatCount } from '../../kit/text.ts'
import { formatDuration, MINUTE, SECOND } from '../../kit/time.ts'
import type { Context } from './context.ts'
import { escapeControls } from './output.ts'

export type ProgressLine = {
  show(now: { done: number; total: number }): void
  /** ends the line and keeps its last state; does nothing after `close` or `finish` */
  close(): void
  finish(sentence: string): void
}

/** The part of a terminal that a redrawn line uses. */
type Terminal = { columns?: number; write(text: string): unknown }

/** Interval of the plain lines if standard error is not a terminal, ms. */
const PLAIN_EVERY_MS = 5 * SECOND
const REDRAW_EVERY_MS = 100
/** The width assumed for a terminal that does not report its width, in columns. */
const USUAL_COLUMNS = 80
/** Minimum length of the bar, in columns; a shorter bar would show too little and is left out. */
const SHORTEST_BAR = 10
const LONGEST_BAR = 40
const CLEAR_LINE = '\r\x1b[2K'

/**
 * Makes a progress line with rate and remaining time. On a terminal the line is redrawn in place; elsewhere a plain line is written every
 * five seconds. The progress line handles no keys and no signals, so Ctrl-C stops the work in order.
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
      // Some terminals begin a new line after a full last column. The carriage return lets a log line overwrite this line.
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

/** Returns a sentence, followed by a bar if `width` columns suffice. */
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
