/** The keys of the list's state in the URL. If a key is missing, its filter does not apply. */
export const KEYS = [
  ...(['search', 'account', 'type', 'year', 'day', 'length', 'breakthrough', 'power', 'absent'] as const),
  ...(['sort', 'order'] as const),
]
export type Key = (typeof KEYS)[number]
export type ListState = Readonly<Partial<Record<Key, string>>>

/** The choices of the length filter, s. */
export const LENGTHS: ReadonlyArray<{ name: string; text: string; minS?: number; maxS?: number }> = [
  { name: 'under-1h', text: 'under 1 h', maxS: 3_600 },
  { name: '1h-2h', text: '1 to 2 h', minS: 3_600, maxS: 7_200 },
  { name: '2h-4h', text: '2 to 4 h', minS: 7_200, maxS: 14_400 },
  { name: 'over-4h', text: '4 h or longer', minS: 14_400 },
]

/** Applies changes to a state. A new year clears the day; an empty value removes its key. */
export function changeState(state: ListState, changes: ListState): ListState {
  const next = { ...state, ...('year' in changes && { day: '' }), ...changes }
  return Object.fromEntries(KEYS.map((key) => [key, next[key]]).filter(([, value]) => value))
}

/** Returns the sort column and the direction. */
export function orderOf({ sort = 'started', order }: ListState): { sort: string; descending: boolean } {
  return { sort, descending: order === undefined || order === 'desc' }
}

/**
 * Returns the changes that sort by a column: names from A, other columns from the highest value. If the list is already sorted by this
 * column, reverses the order.
 */
export function sortBy(state: ListState, sort: string): ListState {
  const now = orderOf(state)
  const descending = now.sort === sort ? !now.descending : sort !== 'name'
  return { sort: sort === 'started' ? '' : sort, order: descending ? '' : 'asc' }
}
