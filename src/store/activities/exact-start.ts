/**
 * Writes a start as ISO 8601 in UTC with every digit of its wall clock's second: a Date ends at milliseconds, and no zone is
 * away from UTC by a fraction of a second. `local` is `YYYY-MM-DD HH:MM:SS.ffffff`.
 */
export function exactStart(startedAt: Date, local: string | null | undefined): string {
  const beyondMs = /\.\d{3}(\d+)$/.exec(local ?? '')?.[1] ?? ''
  return startedAt.toISOString().replace('Z', `${beyondMs}Z`)
}
