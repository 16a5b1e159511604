import type { Serialized, TodayView } from '../../dashboard/dashboard-types.ts'
import { makeAccountChoice, readAccountQuery } from '../account-choice.ts'
import { find, make, makePlace } from '../dom.ts'
import { follow } from '../live.ts'
import { makeAccounts, makeHealth } from './account-cards.ts'
import { makeDay } from './day.ts'
import { makeDropZone } from './drop-zone.ts'
import { makeActivities } from './recent-activities.ts'
import { makeBackup, makeFailed, makeProblems, makeUploads, makeWaiting } from './today-tables.ts'

/** Quick enough to watch a backfill or an upload; each costs a few milliseconds of the daemon's time. */
const POLL_EVERY_MS = 3_000

const drop = makeDropZone()
const host = () => make('div')
const places = {
  heading: host(),
  problems: host(),
  choice: host(),
  day: host(),
  waiting: host(),
  failed: host(),
  activities: host(),
  drop: drop.element,
  uploads: host(),
  accounts: host(),
  backup: host(),
}
const draw = {
  heading: makePlace(places.heading, makeHealth),
  problems: makePlace(places.problems, makeProblems),
  choice: makePlace(places.choice, makeAccountChoice),
  day: makePlace(places.day, makeDay),
  waiting: makePlace(places.waiting, makeWaiting),
  failed: makePlace(places.failed, makeFailed),
  activities: makePlace(places.activities, makeActivities),
  uploads: makePlace(places.uploads, makeUploads),
  accounts: makePlace(places.accounts, makeAccounts),
  backup: makePlace(places.backup, makeBackup),
}

await follow<Serialized<TodayView>>(`/api/today${readAccountQuery()}`, {
  everyMs: POLL_EVERY_MS,
  onData(view) {
    if (!places.day.isConnected) find('#main').replaceChildren(...Object.values(places))
    const { accounts, today, runs } = view
    const several = accounts.length > 1
    draw.heading({ accounts, runs, day: today?.day ?? null, daysMirrored: today?.days_mirrored ?? 0 })
    draw.problems(view.problems)
    draw.choice({ path: '/', accounts, shown: today?.account_id ?? null })
    draw.day({ today })
    draw.waiting({ waiting: view.waiting })
    draw.failed({ failed: view.failed, several })
    draw.activities({ lines: view.activities, several })
    drop.setAccounts(accounts.map(({ account }) => account))
    // Before there is an account, an empty list of uploads only distracts.
    if (accounts.length > 0) draw.uploads({ uploads: view.uploads, several })
    draw.accounts(accounts)
    draw.backup(view.backup)
  },
})
