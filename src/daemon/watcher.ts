import { type DropFolder, type DroppedFile, openDropFolder } from '../dropfolder/drop-folder.ts'
import { isDroppable } from '../fit/names.ts'
import type { Jobs } from '../jobs/jobs.ts'
import { SECOND } from '../kit/durations.ts'
import { errorLine } from '../kit/errors.ts'
import { findAccount, findAccounts } from '../store/accounts.ts'
import { takeDropped } from '../upload/take.ts'
import type { House } from './house.ts'
import { makeUploadDeps } from './upload.ts'

/** Files that are due at nearly the same moment are taken in one scan. */
const TOGETHER_MS = 2 * SECOND

/**
 * Opens the drop folder of this process and carries what is dropped through the ledger. A file is sent by the process that
 * sees it, because only that one can read it; the ledger says when it is due, so no queue is needed for it, and any number
 * of processes may watch one folder.
 */
export async function openWatcher(house: House, jobs: Jobs): Promise<DropFolder> {
  const { log, config, store } = house
  const { dir, polling, afterUpload } = config.drop
  const deps = makeUploadDeps(house, async (activity) => {
    await jobs.enqueue('fetch-activity', [activity], { priority: 'new' })
  })
  const dues = makeDues(() => {
    folder.requeue().catch((error: unknown) => log.warn({ reason: errorLine(error) }, 'drop folder: no scan'))
  })
  const folder = await openDropFolder(
    {
      log,
      now: deps.now,
      accounts: async () => (await store.read(findAccounts)).map(({ name }) => name),
      async take(file, read, signal) {
        if (dues.isEarly(file)) return { action: 'wait' }
        const account = await store.read((tx) => findAccount(tx, file.account))
        if (!account) return { action: 'wait' }
        const moved = afterUpload === 'move'
        // Of its own, because every request listens to it and the folder's one would have listeners by the dozen.
        const own = AbortSignal.any([signal])
        const taken = await takeDropped(deps, { account, name: file.name, read, moved, signal: own })
        if (taken.action === 'wait') dues.put(file, taken.dueAt)
        return taken
      },
    },
    { dir, polling, afterUpload, isDroppable },
  )
  log.info({ dir, afterUpload, polling }, 'watching the drop folder')
  return {
    ...folder,
    async close() {
      dues.close()
      await folder.close()
    },
  }
}

/** Remembers when waiting files are due, so that they are neither read before nor later than that. */
function makeDues(onDue: () => void) {
  const dues = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined
  let closed = false
  const keyOf = ({ relativePath, sizeBytes, mtimeMs }: DroppedFile) =>
    `${sizeBytes} ${mtimeMs} ${relativePath}`
  const arm = () => {
    clearTimeout(timer)
    const next = Math.min(...dues.values())
    if (closed || next === Number.POSITIVE_INFINITY) return
    timer = setTimeout(ring, Math.max(TOGETHER_MS, next - Date.now()))
  }
  const ring = () => {
    for (const [key, due] of dues) if (due <= Date.now()) dues.delete(key)
    onDue()
    arm()
  }
  return {
    isEarly: (file: DroppedFile) => (dues.get(keyOf(file)) ?? 0) > Date.now(),
    put(file: DroppedFile, dueAt: Date | undefined) {
      if (!dueAt) return
      dues.set(keyOf(file), dueAt.getTime())
      arm()
    },
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}
