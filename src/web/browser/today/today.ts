import type { Overview, Serialized } from '../../dashboard/dashboard-types.ts'
import { find, make, makePlace } from '../dom.ts'
import { follow } from '../live.ts'
import { makeAccounts } from './account-cards.ts'
import { makeActivities, makeOlder } from './recent-activities.ts'
import { makeBackup, makeFailed, makeUploads, makeWaiting } from './today-tables.ts'

/** Quick enough to watch a backfill or an upload; each costs a few milliseconds of the daemon's time. */
const POLL_EVERY_MS = 3_000

const host = () => make('div')
const places = {
  accounts: host(),
  waiting: host(),
  failed: host(),
  activities: host(),
  uploads: host(),
  backup: host(),
}
const older = makeOlder()
const draw = {
  accounts: makePlace(places.accounts, makeAccounts),
  waiting: makePlace(places.waiting, makeWaiting),
  failed: makePlace(places.failed, makeFailed),
  activities: makePlace(places.activities, makeActivities),
  uploads: makePlace(places.uploads, makeUploads),
  backup: makePlace(places.backup, makeBackup),
}

await follow<Serialized<Overview>>('/api/overview', {
  everyMs: POLL_EVERY_MS,
  onData(view) {
    show()
    const several = view.accounts.length > 1
    draw.accounts(view.accounts)
    draw.waiting({ waiting: view.waiting })
    draw.failed({ failed: view.failed, several })
    draw.activities({ lines: view.activities, several })
    older.start(view.activities.at(-1), several)
    // Before there is an account, an empty list of uploads only distracts.
    if (view.accounts.length > 0) draw.uploads({ uploads: view.uploads, several })
    draw.backup(view.backup)
  },
})

/** Replaces the waiting sentence, once. */
function show(): void {
  if (places.accounts.isConnected) return
  const { accounts, waiting, failed, activities, uploads, backup } = places
  find('#main').replaceChildren(
    make('h1', {}, 'Today'),
    accounts,
    waiting,
    failed,
    activities,
    older.element,
    uploads,
    backup,
  )
}
