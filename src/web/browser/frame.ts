import { find, make } from './dom.ts'
import { readSettings, type Settings, storeSettings } from './settings.ts'

type Choice<Name extends keyof Settings> = {
  name: Name
  label: string
  values: Record<Settings[Name], string>
}

const DISTANCES: Choice<'distances'> = {
  name: 'distances',
  label: 'Distances',
  values: { kilometres: 'kilometres', miles: 'miles' },
}
const DATES: Choice<'dates'> = {
  name: 'dates',
  label: 'Dates',
  values: { 'day first': '18 Nov 2026', browser: 'as this browser writes them' },
}

find('#settings').append(makeChoice(DISTANCES), makeChoice(DATES))

/** Makes the choice of one setting; the page is drawn anew with it. */
function makeChoice<Name extends keyof Settings>({ name, label, values }: Choice<Name>): HTMLElement {
  const options = Object.entries<string>(values).map(([value, text]) =>
    make('option', { value, selected: readSettings()[name] === value }, text),
  )
  const select = make('select', {}, ...options)
  select.addEventListener('change', () => {
    if (storeSettings({ ...readSettings(), [name]: select.value })) location.reload()
  })
  return make('label', {}, `${label} `, select)
}
