/** The state of the list in the address; a missing key sets no filter. */
export type ListState = Readonly<Partial<Record<Key, string>>>

const KEYS = [
  'search',
  'account',
  'type',
  'year',
  'day',
  'length',
  'breakthrough',
  'power',
  'absent',
  'sort',
  'order',
] as const
export type Key = (typeof KEYS)[number]

/** The lengths to choose from; the daemon knows their limits. */
export const LENGTHS: ReadonlyArray<[value: string, text: string]> = [
  ['under-1h', 'under 1 h'],
  ['1h-2h', '1 to 2 h'],
  ['2h-4h', '2 to 4 h'],
  ['over-4h', '4 h and longer'],
]

/** Parses the part of an address after `?`. */
export function parseAddress(query: string): ListState {
  const given = new URLSearchParams(query)
  return Object.fromEntries(
    KEYS.flatMap((key) => {
      const value = given.get(key)
      return value ? [[key, value]] : []
    }),
  )
}

/** Formats a state as the part of an address after `?`, empty for the whole list. */
export function formatAddress(state: ListState): string {
  const query = new URLSearchParams()
  for (const key of KEYS) {
    const value = state[key]
    if (value) query.set(key, value)
  }
  const text = query.toString()
  return text && `?${text}`
}

/** Changes a state. A new year clears the day; an empty value removes its key. */
export function changeState(state: ListState, changes: ListState): ListState {
  const next = { ...state, ...('year' in changes && { day: '' }), ...changes }
  return Object.fromEntries(Object.entries(next).filter(([, value]) => value))
}

const DESCENDING_FIRST: readonly string[] = ['started', 'time', 'distance', 'power', 'xss']

/** Returns the column and the direction of the order. */
export function orderOf({ sort = 'started', order }: ListState): { sort: string; descending: boolean } {
  return { sort, descending: order === undefined ? true : order === 'desc' }
}

/** Sorts by a column; by the same one again in the other direction. */
export function sortBy(state: ListState, sort: string): ListState {
  const now = orderOf(state)
  const descending = now.sort === sort ? !now.descending : DESCENDING_FIRST.includes(sort)
  return changeState(state, {
    sort: sort === 'started' ? '' : sort,
    order: descending ? '' : 'asc',
  })
}
