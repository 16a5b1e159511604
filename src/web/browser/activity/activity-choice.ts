import type { ActivityPage } from '../../../store/dashboard/page-rows.ts'
import type { Serialized } from '../../dashboard/dashboard-types.ts'
import { make, refill } from '../dom.ts'
import { formatWallClock } from '../format.ts'
import { fetchJson, showState } from '../live.ts'

/** As many as can be read at a glance; a word more finds the others. */
const SHOWN = 8
/** Long enough that a word is not searched for letter by letter, ms. */
const TYPING_MS = 200

/** Makes a search for another activity with power; `onChoose` gets the one that was chosen and its name. */
export function makeActivityChoice(
  own: number,
  onChoose: (activityId: number, name: string) => void,
): { element: HTMLElement; start(): void } {
  const search = make('input', { type: 'search', id: 'other-activity', autocomplete: 'off', maxlength: 200 })
  const found = make('div', { class: 'choice', role: 'group', 'aria-label': 'Activities found' })
  const load = async () => {
    const query = new URLSearchParams({ power: 'yes', limit: String(SHOWN + 1) })
    if (search.value.trim()) query.set('search', search.value.trim())
    const answer = await fetchJson<Serialized<ActivityPage>>(`/api/activities/list?${query}`)
    if (answer.kind === 'problem') return showState(answer.problem)
    if (answer.kind !== 'data') return
    const lines = answer.data.lines.filter((line) => line.activity_id !== own).slice(0, SHOWN)
    const buttons = lines.map((line) => {
      const name = line.name || 'without a name'
      const button = make('button', { type: 'button' }, `${name}, ${formatWallClock(line.started_at_local)}`)
      button.addEventListener('click', () => onChoose(line.activity_id, name))
      return button
    })
    refill(found, ...(buttons.length > 0 ? buttons : ['No activity with power fits.']))
  }
  let timer: ReturnType<typeof setTimeout> | undefined
  search.addEventListener('input', () => {
    clearTimeout(timer)
    timer = setTimeout(() => void load(), TYPING_MS)
  })
  const label = make('label', { for: 'other-activity' }, 'Search in names and descriptions')
  return {
    element: make('div', { class: 'other-activity', hidden: true }, label, search, found),
    start() {
      search.focus()
      void load()
    },
  }
}
