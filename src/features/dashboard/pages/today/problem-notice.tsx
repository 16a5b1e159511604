import { useState } from 'preact/hooks'
import { formatQuery } from '../../shared/address-query.tsx'
import { readReason, send } from '../../shared/live.tsx'
import { Notice } from '../../shared/parts.tsx'
import type { View } from './queries.ts'

/** The notice of a problem. If the account's days are in UTC, a button sets the browser's time zone for the account. */
export function ProblemNotice({ home_of: account, ...problem }: View['problems'][number]) {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  const [state, setState] = useState<string>()
  const [isSent, setSent] = useState(false)
  if (account === undefined || problem.command === null) return <Notice {...problem} />
  if (timeZone === 'UTC') return <Notice {...problem} calm />
  const set = async () => {
    setSent(true)
    const failure = await sendHome(account, timeZone)
    // The next poll redraws the page with the right days.
    setState(failure ?? `${timeZone} is set`)
    setSent(failure === undefined)
  }
  return (
    <Notice {...problem} command={problem.command.replace(/(?<=--timezone )\S+/, timeZone)} calm>
      {' '}
      <button type="button" disabled={isSent} onClick={set}>
        {state ?? `Use ${timeZone}`}
      </button>
    </Notice>
  )
}

/** Sets the account's home time zone; returns a sentence with the reason if the request fails. */
async function sendHome(account: string, timezone: string): Promise<string | undefined> {
  const response = await send(`/api/home-timezone${formatQuery({ account, timezone })}`)
  if (!response) return 'The connection was lost; try again.'
  return response.ok ? undefined : `${await readReason(response)}; try again.`
}
