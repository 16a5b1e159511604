import type { App } from '../app/app.ts'
import { makeUploadDeps } from '../app/upload-files.ts'
import { type DropFolder, type DroppedFile, openDropFolder } from '../dropfolder/drop-folder.ts'
import { isDroppable } from '../fit/fit-names.ts'
import type { Jobs } from '../jobs/jobs.ts'
import { errorLine } from '../kit/errors.ts'
import { MINUTE, SECOND } from '../kit/time.ts'
import { findAccount, findAccounts } from '../store/account-rows.ts'
import type { Store } from '../store/store.ts'
import { recordWaitingFiles, type WaitingReport } from '../store/uploads/waiting-files.ts'
import { importFile } from '../upload/import-file.ts'

/** Files that are due at nearly the same moment are imported in one scan. */
const TOGETHER_MS = 2 * SECOND

/**
 * Opens the drop folder of this process and carries what is dropped through the ledger. A file is sent by the process that
 * sees it, because only that one can read it; the ledger says when it is due, so no queue is needed for it, and any number
 * of processes may watch one folder.
 */
export async function openWatcher(
  app: Pick<App, 'store' | 'log' | 'config' | 'mirror'>,
  jobs: Pick<Jobs, 'enqueue'>,
): Promise<DropFolder> {
  const { log, config, store } = app
  const { dir, polling, afterUpload } = config.drop
  const deps = makeUploadDeps(app, async (activity) => {
    await jobs.enqueue('fetch-activity', [activity], { priority: 'new' })
  })
  const shown = makeShown(store)
  const dueUploads = makeDueUploads(() => {
    folder
      .retryWaiting()
      .catch((error: unknown) => log.warn({ reason: errorLine(error) }, 'drop folder: no scan'))
  })
  const folder = await openDropFolder(
    {
      log,
      now: deps.now,
      accounts: async () => (await store.read(findAccounts)).map(({ name }) => name),
      async importFile(file, open, signal) {
        const early = dueUploads.early(file)
        if (early) return early
        const account = await store.read((tx) => findAccount(tx, file.account))
        if (!account) return { action: 'wait' }
        // Of its own, because every request listens to it and the folder's one would have listeners by the dozen.
        const own = AbortSignal.any([signal])
        const { name, restingSince, mtimeMs } = file
        const input = { account, name, open, restingSince, changedAt: new Date(mtimeMs), signal: own }
        const outcome = await importFile(deps, input)
        if (outcome.action === 'wait') dueUploads.put(file, outcome)
        return outcome
      },
      show: (waiting) => shown({ folder: dir, waiting, lookedAt: deps.now() }),
    },
    { dir, polling, afterUpload, isDroppable },
  )
  log.info({ dir, afterUpload, polling }, 'watching the drop folder')
  return {
    ...folder,
    async close() {
      dueUploads.close()
      await folder.close()
    },
  }
}

type Wait = { action: 'wait'; dueAt?: Date; reason?: string }

/** Remembers when waiting files are due, so that they are neither read before nor later than that. */
function makeDueUploads(onDue: () => void) {
  const waits = new Map<string, Wait & { dueAt: Date }>()
  let timer: NodeJS.Timeout | undefined
  let closed = false
  const keyOf = ({ relativePath, sizeBytes, mtimeMs }: DroppedFile) =>
    `${sizeBytes} ${mtimeMs} ${relativePath}`
  const arm = () => {
    clearTimeout(timer)
    let next = Number.POSITIVE_INFINITY
    for (const { dueAt } of waits.values()) next = Math.min(next, dueAt.getTime())
    if (closed || next === Number.POSITIVE_INFINITY) return
    timer = setTimeout(onTimer, Math.max(TOGETHER_MS, next - Date.now()))
  }
  const onTimer = () => {
    for (const [key, { dueAt }] of waits) if (dueAt.getTime() <= Date.now()) waits.delete(key)
    onDue()
    arm()
  }
  return {
    /** What a file that is not due yet waits for. */
    early(file: DroppedFile): Wait | undefined {
      const due = waits.get(keyOf(file))
      return due && due.dueAt.getTime() > Date.now() ? due : undefined
    },
    put(file: DroppedFile, { dueAt, ...wait }: Wait) {
      if (!dueAt) return
      waits.set(keyOf(file), { ...wait, dueAt })
      arm()
    },
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}

/** A report that has not changed is written again after so long, which says that somebody still looks. */
const SHOWN_AGAIN_MS = 10 * MINUTE

/** Makes what writes a folder's report to the database, when it has changed or was written long ago. */
function makeShown(store: Store) {
  let shown = { text: '', at: Number.NEGATIVE_INFINITY }
  return async (report: WaitingReport): Promise<void> => {
    const text = JSON.stringify(report.waiting)
    const at = report.lookedAt.getTime()
    if (text === shown.text && at - shown.at < SHOWN_AGAIN_MS) return
    await store.transaction((tx) => recordWaitingFiles(tx, report))
    shown = { text, at }
  }
}
