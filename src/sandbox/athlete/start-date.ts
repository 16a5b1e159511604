import { DateTime } from 'luxon'

/** How the service writes a zone: 1 = offset from UTC, 2 = abbreviation, 3 = zone name. */
export type ZoneStyle = 1 | 2 | 3

/** A serialised PHP DateTime (start_date object). */
export type StartDate = { date: string; timezone_type: ZoneStyle; timezone: string }

/** Writes a moment in UTC, as every published list entry has it. */
export function makeUtcDate(atMs: number): StartDate {
  const date = `${new Date(atMs).toISOString().slice(0, 23).replace('T', ' ')}000`
  return { date, timezone_type: 3, timezone: 'UTC' }
}

/** Writes a moment as the service does: wall-clock time in the zone, six digits of a second, and the zone in its style. */
export function makeStartDate(atMs: number, zone: { style: ZoneStyle; name: string }): StartDate {
  const local = DateTime.fromMillis(atMs, { zone: zone.name })
  return {
    date: `${local.toFormat('yyyy-MM-dd HH:mm:ss.SSS')}000`,
    timezone_type: zone.style,
    timezone: timezoneText(local, zone),
  }
}

function timezoneText(local: DateTime, zone: { style: ZoneStyle; name: string }): string {
  if (zone.style === 1) return local.toFormat('ZZ')
  if (zone.style === 2) return local.setLocale('en-US').toFormat('ZZZZ')
  return zone.name
}
