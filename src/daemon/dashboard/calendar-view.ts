import type { App } from '../../app/app.ts'
import { findActivityFacets, findCalendar } from '../../store/dashboard/activity-list.ts'
import type { ActivityQuery, CalendarView } from '../../web/dashboard/dashboard-types.ts'

/** Finds what the list of activities can be filtered by, and the days of the filter's year; without a year, of the newest. */
export async function findActivityCalendar(
  { store }: Pick<App, 'store'>,
  { filter }: ActivityQuery,
): Promise<CalendarView> {
  return await store.read(async (tx) => {
    const facets = await findActivityFacets(tx)
    const year = filter.year ?? facets.years.at(-1) ?? null
    const none = { days: [], activities: [], elapsed_s: [], xss: [] }
    return { ...facets, year, calendar: year === null ? none : await findCalendar(tx, { filter, year }) }
  })
}
