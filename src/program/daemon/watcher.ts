import { type DropFolder, type DroppedFile, openDropFolder } from '../../core/dropfolder/drop-folder.ts'
import { isDroppable } from '../../core/fit/fit-names.ts'
import type { Jobs } from '../../core/jobs/jobs.ts'
import { findAccount, findAccounts } from '../../core/store/account-rows.ts'
import { findIdentity } from '../../core/store/database-facts.ts'
import { recordWaitingFiles } from '../../core/store/uploads/waiting-files.ts'
import { importFile } from '../../core/upload/import-file.ts'
import { errorLine } from '../../kit/errors.ts'
import { joinSignals, MINUTE, SECOND } from '../../kit/time.ts'
import type { App } from '../app/app.ts'
import { removeArriving } from '../app/files/drop-file.ts'
import { makeUploadDeps } from '../app/files/upload-files.ts'

/** One scan imports all files that are due within this time, ms. */
const TOGETHER_MS = 2 * SECOND

/** How long until an unchanged report is written again, ms, to show that the folder is still watched. */
const SHOWN_AGAIN_MS = 10 * MINUTE

/**
 * Opens the drop folder of this process and imports its files. Each file is sent by the process that watches the folder, because other
 * processes may not be able to read it. The ledger has the time of the next attempt, so files need no queue, and any number of processes may
 * watch one folder. Throws the errors of the folder.
 */
export async function openWatcher(
  app: Pick<App, 'store' | 'log' | 'config' | 'mirror'>,
  jobs: Pick<Jobs, 'enqueue'>,
): Promise<DropFolder> {
  const { log, config, store } = app
  const { dir, polling, afterUpload } = config.drop
  const deps = makeUploadDeps(app, jobs)
  await removeArriving({ log }, dir)
  let shown = { text: '', at: Number.NEGATIVE_INFINITY }
  const dueUploads = openDueUploads(() => {
    folder
      .retryWaiting()
      .catch((error: unknown) => log.warn({ reason: errorLine(error) }, 'drop folder: no scan'))
  })
  const folder = await openDropFolder(
    {
      log,
      now: deps.now,
      owner: () =>
        store.read(async (tx) => ({
          database: await findIdentity(tx),
          accounts: (await findAccounts(tx)).map(({ name }) => name),
        })),
      async importFile(file, open, signal) {
        const early = dueUploads.early(file)
        if (early) return early
        const account = await store.read((tx) => findAccount(tx, file.account))
        if (!account) return { action: 'wait' }
        // Every request listens to a signal; a signal per file keeps the folder's signal from having many listeners.
        const own = joinSignals([signal])
        const outcome = await importFile(deps, { ...file, account, open, signal: own.signal }).finally(
          own.clear,
        )
        if (outcome.action === 'wait') dueUploads.put(file, outcome)
        return outcome
      },
      async show(waiting) {
        const lookedAt = deps.now()
        const [text, at] = [JSON.stringify(waiting), lookedAt.getTime()]
        if (text === shown.text && at - shown.at < SHOWN_AGAIN_MS) return
        await store.transaction((tx) =>
          recordWaitingFiles(tx, { folder: dir, waiting, lookedAt, isFirst: shown.text === '' }),
        )
        shown = { text, at }
      },
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

/** Remembers when each waiting file is due, and calls `onDue` at that time, so that files are read neither too early nor too late. */
function openDueUploads(onDue: () => void) {
  const waits = new Map<string, Wait & { dueAt: Date }>()
  let timer: NodeJS.Timeout | undefined
  let closed = false
  const keyOf = ({ relativePath, sizeBytes, changedAt }: DroppedFile) =>
    `${sizeBytes} ${changedAt.getTime()} ${relativePath}`
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
    /** Returns the wait of a file that is not due yet, or undefined if the file is due. */
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
