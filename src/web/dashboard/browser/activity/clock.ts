/** What is known of an activity's own clock. */
export type Start = { started_at: string | null; started_at_local: string | null; timezone: string | null }

/** Writes the time of day from the seconds since the start; `zone` as the service named it. */
export type Clock = { of: (elapsedS: number) => string; zone: string }

/**
 * Makes the clock on the wall where the activity was, `17:05`, from the seconds since its start. A zone's name knows when
 * clocks are turned; of an offset or an abbreviation only the start is known, and the clock goes on from there. Undefined
 * when the start could not be read.
 */
export function makeClock(start: Start): Clock | undefined {
  if (start.started_at === null || start.started_at_local === null) return undefined
  const startMs = Date.parse(start.started_at)
  const wallMs = Date.parse(`${start.started_at_local}Z`)
  const plain = makeFormat('UTC')
  const zoned = start.timezone?.includes('/') ? makeFormat(start.timezone) : undefined
  // A zone that this browser knows differently must not contradict what the service said.
  const agrees = zoned?.format(startMs) === plain?.format(wallMs)
  const of = (elapsedS: number) => {
    if (zoned && agrees) return zoned.format(startMs + elapsedS * 1_000)
    return plain?.format(wallMs + elapsedS * 1_000) ?? ''
  }
  return { of, zone: start.timezone ?? 'zone not told' }
}

function makeFormat(timeZone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit' })
  } catch {
    return undefined
  }
}
