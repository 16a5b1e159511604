import type { ActivityFacets } from '../../../store/dashboard/page-rows.ts'
import type { Serialized } from '../../dashboard/dashboard-types.ts'
import { type Child, make } from '../dom.ts'
import { formatDay } from '../format.ts'
import { SORTS } from './activity-table.ts'
import { type Key, LENGTHS, type ListState, orderOf } from './address.ts'

type Facets = Serialized<ActivityFacets>
/** `typed`: the search goes on while one types, so it makes no new place to go Back to. */
type OnChange = (changes: ListState, how?: { typed: boolean }) => void

/** Long enough that a word is not searched for letter by letter, ms. */
const TYPING_MS = 200

/** Makes the search and the filters. They hold the state themselves; call `show` when it changed elsewhere. */
export function makeFilters(
  facets: Facets,
  onChange: OnChange,
): { element: HTMLElement; show(state: ListState): void } {
  const search = make('input', {
    type: 'search',
    id: 'search',
    placeholder: 'Name or description',
    autocomplete: 'off',
    maxlength: 200,
  })
  let timer: ReturnType<typeof setTimeout> | undefined
  search.addEventListener('input', () => {
    clearTimeout(timer)
    timer = setTimeout(() => onChange({ search: search.value.trim() }, { typed: true }), TYPING_MS)
  })
  const choices: ReadonlyArray<{ key: Key; element: HTMLElement; select: HTMLSelectElement }> = [
    makeChoice('type', 'Type', [['', 'all'], ...facets.types.map((type) => same(type))], onChange),
    makeChoice('length', 'Length', [['', 'any'], ...LENGTHS], onChange),
    makeChoice(
      'power',
      'Power',
      [
        ['', 'with or without'],
        ['yes', 'with power'],
        ['no', 'without power'],
      ],
      onChange,
    ),
    makeChoice(
      'breakthrough',
      'Breakthrough',
      [
        ['', 'all activities'],
        ['yes', 'breakthroughs only'],
      ],
      onChange,
    ),
    ...(facets.accounts.length > 1
      ? [
          makeChoice(
            'account',
            'Account',
            [
              ['', 'all'],
              ...facets.accounts.map(({ account_id: id, account }): [string, string] => [
                String(id),
                account,
              ]),
            ],
            onChange,
          ),
        ]
      : []),
  ]
  const sort = makeSort(onChange)
  const element = make(
    'form',
    { class: 'filters', role: 'search', 'aria-label': 'Activities' },
    make('div', { class: 'search' }, make('label', { for: search.id }, 'Search'), search),
    ...choices.map((choice) => choice.element),
    sort.element,
  )
  element.addEventListener('submit', (event) => {
    event.preventDefault()
    clearTimeout(timer)
    onChange({ search: search.value.trim() })
  })
  return {
    element,
    show(state) {
      // While one types, the field is ahead of the state.
      if (document.activeElement !== search) search.value = state.search ?? ''
      for (const { key, select } of choices) select.value = state[key] ?? ''
      sort.show(state)
    },
  }
}

const same = (text: string): [string, string] => [text, text]

function makeChoice(
  key: Key,
  title: string,
  options: ReadonlyArray<[value: string, text: string]>,
  onChange: OnChange,
) {
  const select = make(
    'select',
    { id: `filter-${key}` },
    ...options.map(([value, text]) => make('option', { value }, text)),
  )
  select.addEventListener('change', () => onChange({ [key]: select.value }))
  return { key, select, element: makeField(title, select) }
}

function makeField(title: string, field: HTMLElement, className?: string): HTMLElement {
  return make('div', { class: className }, make('label', { for: field.id }, title), field)
}

/** Makes the choice of the order, for screens where the table has no head. */
function makeSort(onChange: OnChange) {
  const options = SORTS.flatMap(([value, text]) => [
    make('option', { value: `${value} desc` }, `${text} ↓`),
    make('option', { value: `${value} asc` }, `${text} ↑`),
  ])
  const select = make('select', { id: 'filter-sort' }, ...options)
  select.addEventListener('change', () => {
    const [sort = '', order] = select.value.split(' ')
    onChange({ sort: sort === 'started' ? '' : sort, order: order === 'asc' ? 'asc' : '' })
  })
  return {
    element: makeField('Order', select, 'narrow-only'),
    show(state: ListState) {
      const { sort, descending } = orderOf(state)
      select.value = `${sort} ${descending ? 'desc' : 'asc'}`
    },
  }
}

/** Makes the choice of a season, newest first. */
export function makeSeasons(facets: Facets, state: ListState, onChange: OnChange): HTMLElement {
  const choices = ['', ...facets.years.toReversed().map(String)]
  const buttons = choices.map((year) => {
    const button = make(
      'button',
      { type: 'button', id: `year-${year || 'all'}`, 'aria-pressed': String((state.year ?? '') === year) },
      year || 'All seasons',
    )
    button.addEventListener('click', () => onChange({ year }))
    return button
  })
  return make('div', { class: 'choice seasons', role: 'group', 'aria-label': 'Season' }, ...buttons)
}

/** Makes a button for each filter that is set, which takes it away again. */
export function makeSetFilters(state: ListState, facets: Facets, onChange: OnChange): Child[] {
  const texts: Readonly<Partial<Record<Key, string>>> = {
    ...(state.search && { search: `“${state.search}”` }),
    ...(state.type && { type: state.type }),
    ...(state.day && { day: formatDay(state.day) }),
    ...(state.length && { length: LENGTHS.find(([value]) => value === state.length)?.[1] ?? state.length }),
    ...(state.power && { power: state.power === 'yes' ? 'with power' : 'without power' }),
    ...(state.breakthrough && { breakthrough: 'breakthroughs' }),
    ...(state.absent && { absent: 'also no longer listed' }),
    ...(state.account && {
      account: facets.accounts.find(({ account_id: id }) => String(id) === state.account)?.account ?? '',
    }),
  }
  const keys = Object.keys(texts) as Key[]
  const buttons = keys.map((key) => {
    const button = make(
      'button',
      { type: 'button', id: `without-${key}`, 'aria-label': `Remove the filter ${texts[key]}` },
      texts[key],
      make('span', { 'aria-hidden': 'true' }, ' ×'),
    )
    button.addEventListener('click', () => onChange({ [key]: '' }))
    return button
  })
  if (keys.length < 2) return buttons
  const all = make('button', { type: 'button', id: 'without-all' }, 'Remove all filters')
  all.addEventListener('click', () => onChange(Object.fromEntries(keys.map((key) => [key, '']))))
  return [...buttons, all]
}
