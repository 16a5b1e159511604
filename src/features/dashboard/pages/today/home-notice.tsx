import { useState } from 'preact/hooks'
import { fetchJson, readReason } from '../../shared/live.tsx'
import { Notice } from '../../shared/parts.tsx'
import { ROOT } from '../../shared/root.ts'

/** The notice that days are in UTC, with a button that sets the browser's time zone for the account. */
export function HomeNotice({ text, command, account }: { text: string; command: string; account: string }) {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  const [state, setState] = useState<string>()
  const [isSent, setSent] = useState(false)
  if (timeZone === 'UTC') return <Notice text={text} command={command} calm />
  const send = async () => {
    setSent(true)
    const problem = await sendHome(account, timeZone)
    // The page draws again once the days are right.
    setState(problem ?? `${timeZone} is set`)
    setSent(problem === undefined)
  }
  return (
    <Notice text={text} command={command.replace('ZONE', timeZone)} calm>
      {' '}
      <button type="button" disabled={isSent} onClick={send}>
        {state ?? `Use ${timeZone}`}
      </button>
    </Notice>
  )
}

/** Sets the home with the page's token; returns the reason of a failure. */
async function sendHome(account: string, timezone: string): Promise<string | undefined> {
  const page = await fetchJson<{ token: string }>('/api/drop')
  if (page.kind !== 'data') return 'The daemon does not answer; try again.'
  try {
    const response = await fetch(`${ROOT}/api/home-timezone?${new URLSearchParams({ account, timezone })}`, {
      method: 'POST',
      headers: { 'x-musette-page': page.data.token },
    })
    return response.ok ? undefined : `${await readReason(response)}; try again.`
  } catch {
    return 'The connection was cut; try again.'
  }
}
