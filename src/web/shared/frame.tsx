import { type ComponentChild, render } from 'preact'
import { find } from './root.ts'
import { readSettings, type Settings, storeSettings } from './settings.ts'

/** Shows a page's contents in its frame, and the choice of settings below them. */
export function showPage(page: ComponentChild): void {
  const main = find('#main')
  main.replaceChildren()
  render(page, main)
  showSettings()
}

/** Shows the choice of settings; the page is drawn anew with another one. */
export function showSettings(): void {
  render(
    <>
      <Choice name="distances" label="Distances" values={{ kilometres: 'kilometres', miles: 'miles' }} />
      <Choice
        name="dates"
        label="Dates"
        values={{ 'day first': '18 Nov 2026', browser: 'as this browser writes them' }}
      />
    </>,
    find('#settings'),
  )
}

type ChoiceProps<Name extends keyof Settings> = {
  name: Name
  label: string
  values: Record<Settings[Name], string>
}

function Choice<Name extends keyof Settings>({ name, label, values }: ChoiceProps<Name>) {
  return (
    <label>
      {label}{' '}
      <select
        value={readSettings()[name]}
        onChange={({ currentTarget }) => {
          if (storeSettings({ ...readSettings(), [name]: currentTarget.value })) location.reload()
        }}
      >
        {Object.entries<string>(values).map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}
