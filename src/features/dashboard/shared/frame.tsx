import { type ComponentChild, render } from 'preact'
import { fetchJson } from './live.tsx'
import { Select } from './parts.tsx'
import { find, ROOT } from './root.ts'
import { readSettings, type Settings, storeSettings } from './settings.ts'

/** Shows a page's contents in its frame, and the settings below them. */
export function showPage(page: ComponentChild): void {
  const main = find('#main')
  main.replaceChildren()
  render(page, main)
  showSettings()
  for (const type of ['dragover', 'drop'] as const) document.addEventListener(type, onDrag)
}

const early: File[] = []
let isOpening = false

/** Opens the drop zone on a page without one when a file is dragged over it: a dropped file would replace the page. */
async function onDrag(event: DragEvent): Promise<void> {
  event.preventDefault()
  if (document.querySelector('#drop-files') || location.pathname === `${ROOT}/`) return
  if (event.type === 'drop') early.push(...(event.dataTransfer?.files ?? []))
  if (isOpening) return
  isOpening = true
  const { DropZone } = await import('./drop-zone.tsx')
  const answer = await fetchJson<{ accounts: { account: string }[] }>('/api/activities/calendar')
  isOpening = false
  if (answer.kind !== 'data') return
  const accounts = answer.data.accounts.map(({ account }) => account)
  render(<DropZone accounts={accounts} first={early.splice(0)} />, find('#drop'))
}

/** Shows the settings; a new choice draws the page again. */
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
    <label for={`setting-${name}`}>
      {label}{' '}
      <Select
        id={`setting-${name}`}
        value={readSettings()[name]}
        options={Object.entries<string>(values)}
        onChoose={(value) => {
          if (storeSettings({ ...readSettings(), [name]: value })) location.reload()
        }}
      />
    </label>
  )
}
