import { setMaxListeners } from 'node:events'
import type { Logger } from 'pino'
import { type Config, readConfig } from '../config/config.ts'
import { escapeDelete } from '../kit/control-characters.ts'
import { MINUTE } from '../kit/durations.ts'
import { makeLogger } from '../log.ts'
import { EXIT } from './exit.ts'
import { escapeControls } from './terminal-text.ts'

/** npm and npx hand a terminal's Ctrl-C on, so that one press of it comes twice; the second must not cut the stopping short. */
const SAME_PRESS_MS = 500

/** Longer than a token request may take, which is never cancelled; what hangs longer is found by the next run as after a crash. */
const STOP_WITHIN_MS = MINUTE

/** What a verb is handed: the configuration, the log, and the signal that says to stop. */
export type Context = {
  config: Config
  log: Logger
  signal: AbortSignal
  /** whether a person watches: progress moves and questions can be asked */
  terminal: boolean
  /** writes one line of the answer to standard output, control characters in it as psql does */
  print(line: string): void
  /** writes the answer as one line of JSON to standard output */
  printJson(answer: unknown): void
  /** writes one line beside the answer, to standard error, control characters in it as psql does */
  note(line: string): void
}

/** Reads the configuration, unless it is handed in, and listens for SIGINT and SIGTERM; `dispose` stops listening. */
export function makeContext(options: { quiet: boolean; config?: Config }): Context & { dispose(): void } {
  const config = options.config ?? readConfig()
  const terminal = Boolean(process.stderr.isTTY)
  // A verb that answers a question logs only what went wrong, unless a level was asked for.
  const level = options.quiet && config.logLevel === 'info' ? 'warn' : config.logLevel
  const stop = listenForStop()
  return {
    config,
    log: makeLogger({ level, terminal }),
    signal: stop.signal,
    terminal,
    print: (line) => void process.stdout.write(`${escapeControls(line)}\n`),
    printJson: (answer) => void process.stdout.write(`${escapeDelete(JSON.stringify(answer))}\n`),
    note: (line) => void process.stderr.write(`${escapeControls(line)}\n`),
    dispose: stop.dispose,
  }
}

function listenForStop(): { signal: AbortSignal; dispose(): void } {
  const controller = new AbortController()
  // Every request, pause and job of the process listens to this one signal; Node warns of a leak at eleven.
  setMaxListeners(0, controller.signal)
  let firstAt: number | undefined
  const stop = () => {
    if (firstAt !== undefined && performance.now() - firstAt > SAME_PRESS_MS) process.exit(EXIT.interrupted)
    if (firstAt !== undefined) return
    firstAt = performance.now()
    controller.abort()
    setTimeout(() => process.exit(EXIT.interrupted), STOP_WITHIN_MS).unref()
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  return {
    signal: controller.signal,
    dispose() {
      process.off('SIGINT', stop)
      process.off('SIGTERM', stop)
    },
  }
}
