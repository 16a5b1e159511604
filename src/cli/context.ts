import { setMaxListeners } from 'node:events'
import type { Logger } from 'pino'
import { type Config, readConfig } from '../config/config.ts'
import { makeLogger } from '../log.ts'
import { EXIT } from './exit.ts'

/** What a verb is handed: the configuration, the log, and the signal that says to stop. */
export type Context = {
  config: Config
  log: Logger
  signal: AbortSignal
  /** whether a person watches: progress moves and questions can be asked */
  terminal: boolean
  /** writes one line of the answer to standard output */
  print(line: string): void
  /** writes one line beside the answer, to standard error */
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
    print: (line) => void process.stdout.write(`${line}\n`),
    note: (line) => void process.stderr.write(`${line}\n`),
    dispose: stop.dispose,
  }
}

function listenForStop(): { signal: AbortSignal; dispose(): void } {
  const controller = new AbortController()
  // Every request, pause and job of the process listens to this one signal; Node warns of a leak at eleven.
  setMaxListeners(0, controller.signal)
  const stop = () => {
    if (controller.signal.aborted) process.exit(EXIT.interrupted)
    controller.abort()
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
