/** Parses a day as a person types it, `2024-01-31`, to its first moment in UTC; undefined when there is no such day. */
export function parseDay(text: string): Date | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined
  const day = new Date(`${text}T00:00:00Z`)
  // Date takes 31 February for 2 March.
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text) ? day : undefined
}
