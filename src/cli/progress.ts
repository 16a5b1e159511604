import { progress as makeBar } from '@clack/prompts'
import { formatDuration, MINUTE, SECOND } from '../kit/durations.ts'
import type { Context } from './context.ts'

export type ProgressLine = {
  show(now: { done: number; total: number }): void
  finish(sentence: string): void
}

/** How often a plain line is written where no terminal redraws it. */
const PLAIN_EVERY_MS = 5 * SECOND

/** Makes a progress line with rate and time to go: a moving bar on a terminal, now and then a plain line elsewhere. */
export function makeProgressLine(
  context: Pick<Context, 'terminal' | 'note'>,
  what: string,
  now = Date.now,
): ProgressLine {
  const startedAt = now()
  return context.terminal
    ? makeMovingLine(what, startedAt, now)
    : makePlainLines(context, what, startedAt, now)
}

function makeMovingLine(what: string, startedAt: number, now: () => number): ProgressLine {
  let bar: ReturnType<typeof makeBar> | undefined
  let shown = 0
  return {
    show({ done, total }) {
      if (!bar) {
        bar = makeBar({ max: total, output: process.stderr })
        bar.start(what)
      }
      bar.advance(done - shown, sentenceOf(what, done, total, now() - startedAt))
      shown = done
    },
    finish(sentence) {
      if (bar) bar.stop(sentence)
      else process.stderr.write(`${sentence}\n`)
    },
  }
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
    finish: (sentence) => context.note(sentence),
  }
}

function sentenceOf(what: string, done: number, total: number, elapsedMs: number): string {
  if (done === 0) return `${what}: 0 of ${total}`
  const perMinute = (done / Math.max(1, elapsedMs)) * MINUTE
  const toGo = formatDuration((elapsedMs / done) * (total - done))
  return `${what}: ${done} of ${total}, ${Math.round(perMinute)} a minute, ${toGo} to go`
}
