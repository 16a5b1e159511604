import { formatDuration, MINUTE, SECOND } from '../kit/time.ts'
import type { Context } from './context.ts'
import { escapeControls } from './output.ts'

export type ProgressLine = {
  show(now: { done: number; total: number }): void
  /** leaves the last state in place and goes on below it; a second call, or one after `finish`, does nothing */
  close(): void
  finish(sentence: string): void
}

/** A terminal, as far as a moving line needs it. */
type Terminal = { columns?: number; write(text: string): unknown }

/** How often a plain line is written where no terminal redraws it. */
const PLAIN_EVERY_MS = 5 * SECOND
const REDRAW_EVERY_MS = 100
/** For a terminal that does not tell its width. */
const USUAL_COLUMNS = 80
/** A bar says nothing below this width. */
const SHORTEST_BAR = 10
const LONGEST_BAR = 40
const CLEAR_LINE = '\r\x1b[2K'

/**
 * Makes a progress line with rate and time to go: one that is redrawn on a terminal, now and then a plain line elsewhere. It
 * leaves keys and signals alone, so that Ctrl-C stops the work in order.
 */
export function makeProgressLine(
  context: Pick<Context, 'terminal' | 'note'>,
  what: string,
  now = Date.now,
  terminal: Terminal = process.stderr,
): ProgressLine {
  const startedAt = now()
  return context.terminal
    ? makeMovingLine(terminal, what, startedAt, now)
    : makePlainLines(context, what, startedAt, now)
}

function makeMovingLine(
  terminal: Terminal,
  what: string,
  startedAt: number,
  now: () => number,
): ProgressLine {
  let drawnAt: number | undefined
  return {
    show({ done, total }) {
      if (drawnAt !== undefined && now() - drawnAt < REDRAW_EVERY_MS && done < total) return
      drawnAt = now()
      const sentence = sentenceOf(what, done, total, drawnAt - startedAt)
      // A full last column would begin a new line on some terminals. The cursor waits in the first one for a line of the log.
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

/** Writes a sentence and, where there is room, a bar behind it, in `width` columns. */
function withBar(sentence: string, share: number, width: number): string {
  const length = Math.min(LONGEST_BAR, width - sentence.length - 2)
  if (length < SHORTEST_BAR) return sentence.slice(0, width)
  const full = Math.round(share * length)
  return `${sentence}  ${'━'.repeat(full)}${'─'.repeat(length - full)}`
}

function makePlainLines(
  context: Pick<Context, 'note'>,
  what: string,
  startedAt: number,
  now: () => number,
): ProgressLine {
  let lastAt = startedAt
  return {
    show({ done, total }) {
      if (now() - lastAt < PLAIN_EVERY_MS) return
      lastAt = now()
      context.note(sentenceOf(what, done, total, lastAt - startedAt))
    },
    close: () => undefined,
    finish: (sentence) => context.note(sentence),
  }
}

function sentenceOf(what: string, done: number, total: number, elapsedMs: number): string {
  if (done === 0) return `${what}: 0 of ${total}`
  const perMinute = (done / Math.max(1, elapsedMs)) * MINUTE
  const toGo = formatDuration((elapsedMs / done) * (total - done))
  return `${what}: ${done} of ${total}, ${Math.round(perMinute)} a minute, ${toGo} to go`
}
