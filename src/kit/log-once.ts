import type { Logger } from 'pino'

export type LogOnce = ReturnType<typeof makeLogOnce>

/** Maximum number of problems in memory. Beyond this number the oldest problem is forgotten, so that changing keys cause no leak. */
const MAX_KEPT = 1_000

/** Makes a logger for recurring problems: each is logged once, then counted, and logged again when it changes or ends. */
export function makeLogOnce(log: Logger) {
  const held = new Map<string, { sentence: string; times: number }>()
  return {
    /** Logs a problem when it starts or its sentence changes. Counts repetitions. */
    say(level: 'warn' | 'error', key: string, sentence: string, fields: Record<string, unknown> = {}): void {
      const known = held.get(key)
      if (known?.sentence === sentence) {
        known.times += 1
        return
      }
      const [oldest] = held.keys()
      if (oldest !== undefined && held.size >= MAX_KEPT) held.delete(oldest)
      held.set(key, { sentence, times: 1 })
      log[level](fields, sentence)
    },
    /** Logs that a problem is over and how often it occurred. Does nothing if there was none. */
    over(key: string): void {
      const known = held.get(key)
      if (!held.delete(key) || !known) return
      log.info({ times: known.times }, `over: ${known.sentence}`)
    },
  }
}
