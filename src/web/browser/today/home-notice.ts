import { make, ROOT } from '../dom.ts'
import { fetchJson, makeNotice } from '../live.ts'

/** Makes the notice that days are those of UTC, with a button that sets the zone of this browser for the account. */
export function makeHomeNotice(notice: { text: string; command: string; account: string }): HTMLElement {
  const { text, command, account } = notice
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  if (timeZone === 'UTC') return makeNotice({ text, command, calm: true })
  const button = make('button', { type: 'button' }, `Use ${timeZone}`)
  const element = makeNotice({ text, command: command.replace('ZONE', timeZone), calm: true })
  button.addEventListener('click', async () => {
    button.disabled = true
    const problem = await sendHome(account, timeZone)
    // The page draws itself anew when the days are right.
    button.textContent = problem ?? `${timeZone} is set`
    button.disabled = problem === undefined
  })
  element.append(' ', button)
  return element
}

/** Sets the home with the page's token; returns why it could not be set. */
async function sendHome(account: string, timezone: string): Promise<string | undefined> {
  const page = await fetchJson<{ token: string }>('/api/drop')
  if (page.kind !== 'data') return 'The daemon does not answer; try again.'
  try {
    const response = await fetch(`${ROOT}/api/home-timezone?${new URLSearchParams({ account, timezone })}`, {
      method: 'POST',
      headers: { 'x-musette-page': page.data.token },
    })
    if (response.ok) return undefined
    const { error } = (await response.json().catch(() => ({}))) as { error?: string }
    return `${error ?? `status ${response.status}`}; try again.`
  } catch {
    return 'The connection was cut; try again.'
  }
}
