import { formatQuery } from '../../shared/address-query.tsx'
import { fetchJson } from '../../shared/live.tsx'
import type { Problem } from '../../shared/parts.tsx'
import type { Sent } from '../../shared/sent.ts'
import type { ListState } from './address.ts'
import type { findActivityPage } from './queries.ts'

export type Page = Sent<typeof findActivityPage>
export type Line = Page['lines'][number]

const PAGE_LINES = 100
/** Maximum number of pages in memory; scrolling fetches other pages again. */
const MAX_PAGES = 20

/** The activities of one filtered list, fetched page by page on demand. */
export type ListPages = ReturnType<typeof pagesOfList>

/** Makes the pages of a list; fetches no page yet. */
export function pagesOfList(state: ListState) {
  const pages = new Map<number, readonly Line[]>()
  const fetching = new Set<number>()
  let sums: string | undefined
  const pageOf = (index: number) => Math.floor(Math.max(0, index) / PAGE_LINES)
  /** Returns the URL of the page that contains a row. */
  const addressOf = (index: number) =>
    `/api/activities/list${formatQuery({ ...state, offset: pageOf(index) * PAGE_LINES, limit: PAGE_LINES })}`
  /** Stores a fetched page and returns whether a line or a sum has changed. */
  const accept = (page: Page, index: number) => {
    const { lines, ...rest } = page
    const before = JSON.stringify(pages.get(pageOf(index)))
    const now = JSON.stringify(rest)
    // If the number of activities has changed, all positions may have moved.
    if (sums !== undefined && sums !== now) pages.clear()
    const changed = sums !== now || before !== JSON.stringify(lines)
    sums = now
    pages.set(pageOf(index), lines)
    const oldest = pages.keys().next().value
    if (pages.size > MAX_PAGES && oldest !== undefined) pages.delete(oldest)
    return changed
  }
  return {
    lineAt: (index: number) => pages.get(pageOf(index))?.[index % PAGE_LINES],
    addressOf,
    accept,
    /** Fetches the missing pages of these rows; resolves to the newest page, a problem, or undefined if no page was missing. */
    async fetchRows({ first, last }: { first: number; last: number }): Promise<Page | Problem | undefined> {
      let newest: Page | undefined
      for (let page = pageOf(first); page <= pageOf(last); page++) {
        if (pages.has(page) || fetching.has(page)) continue
        fetching.add(page)
        const answer = await fetchJson<Page>(addressOf(page * PAGE_LINES))
        fetching.delete(page)
        if (answer.kind === 'problem') return answer.problem
        if (answer.kind !== 'data') continue
        newest = answer.data
        accept(newest, page * PAGE_LINES)
      }
      return newest
    },
  }
}
