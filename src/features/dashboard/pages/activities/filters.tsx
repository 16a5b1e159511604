import { useEffect, useRef } from 'preact/hooks'
import { formatDay } from '../../shared/format.ts'
import { Select, Toggle } from '../../shared/parts.tsx'
import type { Sent } from '../../shared/sent.ts'
import { type Key, LENGTHS, type ListState, orderOf } from './address.ts'
import type { findActivityCalendar } from './queries.ts'
import { SORTS } from './rows.tsx'

/** The options of the filters, and a year's days with their sums. */
export type Facets = Sent<typeof findActivityCalendar>
/** With `typed`, a change adds no entry to the browser's history. */
export type OnChange = (changes: ListState, how?: { typed: boolean }) => void
type Option = readonly [value: string, text: string]
type Props = { facets: Facets; state: ListState; onChange: OnChange }

/** How long typing must pause before a search starts, ms, so that the letters of a dictation tool start only one search. */
const TYPING_MS = 10

/** The search and the filters. */
export function Filters({ facets, state, onChange }: Props) {
  const choice = (key: Key, title: string, options: readonly Option[]) => (
    <Choice
      id={`filter-${key}`}
      title={title}
      value={state[key] ?? ''}
      options={options}
      onChoose={(value) => onChange({ [key]: value })}
    />
  )
  const accounts = facets.accounts.map(({ account_id: id, account }): Option => [String(id), account])
  return (
    <form class="filters" role="search" aria-label="Activities" onSubmit={(event) => event.preventDefault()}>
      <Search state={state} onChange={onChange} />
      {choice('type', 'Type', [['', 'all'], ...facets.types.map((type): Option => [type, type])])}
      {choice('length', 'Length', [['', 'any'], ...LENGTHS.map(({ name, text }): Option => [name, text])])}
      {choice('power', 'Power', [
        ['', 'with or without'],
        ['yes', 'with power'],
        ['no', 'without power'],
      ])}
      {choice('breakthrough', 'Breakthrough', [
        ['', 'all activities'],
        ['yes', 'breakthroughs only'],
      ])}
      {accounts.length > 1 && choice('account', 'Account', [['', 'all'], ...accounts])}
      <Order state={state} onChange={onChange} />
    </form>
  )
}

function Search({ state, onChange }: Omit<Props, 'facets'>) {
  const field = useRef<HTMLInputElement>(null)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => {
    // Do not overwrite the field while a person types, because its text is newer than the state.
    if (field.current && document.activeElement !== field.current) field.current.value = state.search ?? ''
  }, [state.search])
  const search = () => {
    clearTimeout(timer.current)
    onChange({ search: field.current?.value.trim() ?? '' }, { typed: true })
  }
  return (
    <div class="search">
      <label for="search">Search</label>
      <input
        type="search"
        id="search"
        ref={field}
        placeholder="Name or description"
        autocomplete="off"
        maxlength={200}
        onInput={() => {
          clearTimeout(timer.current)
          timer.current = setTimeout(search, TYPING_MS)
        }}
        onKeyDown={({ key }) => key === 'Enter' && search()}
      />
    </div>
  )
}

type ChoiceProps = Parameters<typeof Select>[0] & { id: string; title: string; class?: string }

function Choice({ id, title, class: className, ...rest }: ChoiceProps) {
  return (
    <div class={className}>
      <label for={id}>{title}</label>
      <Select {...rest} id={id} />
    </div>
  )
}

/** The choice of the sort order, for screens on which the table has no header. */
function Order({ state, onChange }: Omit<Props, 'facets'>) {
  const { sort: by, descending } = orderOf(state)
  const options = SORTS.flatMap(([value, text]): Option[] => [
    [`${value} desc`, `${text} ↓`],
    [`${value} asc`, `${text} ↑`],
  ])
  const choose = (value: string) => {
    const [sort = '', order] = value.split(' ')
    onChange({ sort: sort === 'started' ? '' : sort, order: order === 'asc' ? order : '' })
  }
  return (
    <Choice
      id="filter-sort"
      class="narrow-only"
      title="Order"
      value={`${by} ${descending ? 'desc' : 'asc'}`}
      options={options}
      onChoose={choose}
    />
  )
}

/** The buttons of the seasons, newest first. */
export function Seasons({ facets, state, onChange }: Props) {
  if (facets.years.length < 2) return null
  return (
    <div class="choice seasons" role="group" aria-label="Season">
      {['', ...facets.years.toReversed().map(String)].map((year) => (
        <Toggle key={year} pressed={(state.year ?? '') === year} onClick={() => onChange({ year })}>
          {year || 'All seasons'}
        </Toggle>
      ))}
    </div>
  )
}

/** A button for each active filter, which removes the filter. */
export function SetFilters({ facets, state, onChange }: Props) {
  const account = facets.accounts.find(({ account_id: id }) => String(id) === state.account)?.account
  const texts: Readonly<Partial<Record<Key, string>>> = {
    ...(state.search && { search: `“${state.search}”` }),
    ...(state.type && { type: state.type }),
    ...(state.day && { day: formatDay(state.day) }),
    ...(state.length && { length: LENGTHS.find(({ name }) => name === state.length)?.text ?? state.length }),
    ...(state.power && { power: state.power === 'yes' ? 'with power' : 'without power' }),
    ...(state.breakthrough && { breakthrough: 'breakthroughs' }),
    ...(state.absent && { absent: 'including no longer listed' }),
    ...(state.account && { account: account ?? '' }),
  }
  const keys = Object.keys(texts) as Key[]
  return (
    <div class="choice set-filters">
      {keys.map((key) => (
        <button
          key={key}
          type="button"
          aria-label={`Remove the filter ${texts[key]}`}
          onClick={() => onChange({ [key]: '' })}
        >
          {texts[key]}
          <span aria-hidden="true"> ×</span>
        </button>
      ))}
      {keys.length > 1 && (
        <button type="button" onClick={() => onChange(Object.fromEntries(keys.map((key) => [key, ''])))}>
          Remove all filters
        </button>
      )}
    </div>
  )
}
