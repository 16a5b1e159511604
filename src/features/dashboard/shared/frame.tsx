import { type ComponentChild, render } from 'preact'
import { capitalize } from './format.ts'
import { download, fetchJson } from './live.tsx'
import { Notice, Select } from './parts.tsx'
import { find, ROOT } from './root.ts'
import { readSetting, SETTINGS, storeSetting } from './settings.ts'

/** Renders a page's contents in its frame, and the settings below. */
export function showPage(page: ComponentChild): void {
  const main = find('#main')
  main.replaceChildren()
  render(page, main)
  showSettings()
  document.addEventListener('click', download)
  for (const type of ['dragover', 'drop'] as const) document.addEventListener(type, onDrag)
}

const early: File[] = []
let isOpening = false

/** Opens a drop zone if a file is dragged over a page that has none; otherwise the browser would open the dropped file. */
async function onDrag(event: DragEvent): Promise<void> {
  event.preventDefault()
  if (document.querySelector('#drop-files') || location.pathname === `${ROOT}/`) return
  if (event.type === 'drop') early.push(...(event.dataTransfer?.files ?? []))
  if (isOpening) return
  isOpening = true
  const { DropZone } = await import('./drop-zone.tsx')
  const answer = await fetchJson<{ accounts: { account: string }[] }>('/api/activities/calendar')
  isOpening = false
  const first = early.splice(0)
  if (answer.kind === 'data') {
    const accounts = answer.data.accounts.map(({ account }) => account)
    render(<DropZone accounts={accounts} first={first} />, find('#drop'))
  } else if (first.length > 0)
    render(<Notice text="Nothing was sent. Drop the files again later." />, find('#drop'))
}

/** Renders the settings; a new choice reloads the page. */
export function showSettings(): void {
  const choices = (Object.keys(SETTINGS) as Array<keyof typeof SETTINGS>).map((name) => (
    <label key={name} for={`setting-${name}`}>
      {capitalize(name)}{' '}
      <Select
        id={`setting-${name}`}
        value={readSetting(name)}
        options={Object.entries<string>(SETTINGS[name])}
        onChoose={(value) => storeSetting(name, value) && location.reload()}
      />
    </label>
  ))
  render(choices, find('#settings'))
}
