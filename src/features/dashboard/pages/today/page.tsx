import { useMemo } from 'preact/hooks'
import { AccountChoice, readAccount } from '../../shared/account-choice.tsx'
import { formatQuery } from '../../shared/address-query.tsx'
import { DropZone } from '../../shared/drop-zone.tsx'
import { showPage } from '../../shared/frame.tsx'
import { useLive } from '../../shared/live.tsx'
import { Waiting } from '../../shared/parts.tsx'
import { Day } from './day.tsx'
import { Accounts, Health } from './mirror.tsx'
import { ProblemNotice } from './problem-notice.tsx'
import type { View } from './queries.ts'
import { Activities, Backup, Failed, Uploads, WaitingFiles } from './tables.tsx'
import './today.css'

/** Poll interval, ms: short enough to watch a backfill or an upload; a response costs the daemon a few milliseconds. */
const POLL_EVERY_MS = 3_000

showPage(<Today />)

function Today() {
  const view = useLive<View>(`/api/today${formatQuery({ account: readAccount() })}`, POLL_EVERY_MS)
  const day = useMemo(() => view?.today && <Day today={view.today} />, [view?.today])
  if (!view) return <Waiting />
  const { accounts, cards, today } = view
  const several = cards.length > 1
  return (
    <>
      <Health view={view} />
      {view.problems.map((problem) => (
        <ProblemNotice key={problem.text} {...problem} />
      ))}
      <AccountChoice path="/" accounts={accounts} shown={today?.account_id ?? null} />
      {day}
      <WaitingFiles files={view.waiting} />
      <Failed failed={view.failed} several={several} />
      <Activities lines={view.activities} several={several} />
      <DropZone accounts={accounts.map(({ account }) => account)} />
      {/* Hides uploads if there is no account yet, because an empty list distracts. */}
      {accounts.length > 0 && <Uploads uploads={view.uploads} several={several} />}
      <Accounts cards={cards} />
      <Backup backup={view.backup} />
    </>
  )
}
