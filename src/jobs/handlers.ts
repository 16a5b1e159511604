import type { Logger } from 'pino'
import { MusetteError } from '../kit/errors.ts'
import { CATALOG, type JobName, type PayloadOf } from './catalog.ts'

/** What a handler may say: nothing; that work is left and the job should run again; or counts worth an info line. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler that returns nothing is of this type
export type HandlerResult = void | Readonly<{ requeue: true }> | Readonly<{ counts: Record<string, number> }>

export type HandlerContext = Readonly<{
  /** Aborts when the daemon stops or the job was given to another worker. */
  signal: AbortSignal
  log: Logger
  /** Shows how far the job is; a failure to show it is no failure of the job. */
  progress: (done: number, total: number) => Promise<void>
}>

export type Handlers = {
  readonly [N in JobName]: (payload: PayloadOf<N>, context: HandlerContext) => Promise<HandlerResult>
}

/**
 * Refuses handlers that do not match the catalog one to one.
 * Throws MusetteError `handlers_mismatch`, naming what is missing and what is too much.
 */
export function assertHandlers(handlers: Readonly<Record<string, unknown>>): void {
  const missing = Object.keys(CATALOG).filter((name) => typeof handlers[name] !== 'function')
  const extra = Object.keys(handlers).filter((name) => !Object.hasOwn(CATALOG, name))
  if (missing.length === 0 && extra.length === 0) return
  const parts = [
    ...missing.map((name) => `no handler for job "${name}"`),
    ...extra.map((name) => `handler "${name}" has no job in the catalog`),
  ]
  throw new MusetteError('handlers_mismatch', `jobs: start: ${parts.join('; ')}`)
}

/** Checks a payload against its schema and runs the one handler of that name. Throws the schema's or handler's error. */
export function runHandler<N extends JobName>(
  handlers: Handlers,
  input: { name: N; payload: unknown; context: HandlerContext },
): Promise<HandlerResult> {
  return handlers[input.name](CATALOG[input.name].payload.parse(input.payload), input.context)
}

/** The key of a job from an unchecked payload. Throws the schema's error when the payload is not one of that name. */
export function keyOf<N extends JobName>(name: N, payload: unknown): string {
  const definition = CATALOG[name]
  return definition.key(definition.payload.parse(payload))
}
