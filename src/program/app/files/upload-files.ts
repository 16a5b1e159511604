import { makeWriterReader } from '../../../core/dropfolder/open-writers.ts'
import { describeFault } from '../../../core/fit/archive.ts'
import { contentIdOf, type ReadFit, readFit } from '../../../core/fit/read-fit.ts'
import type { Jobs } from '../../../core/jobs/jobs.ts'
import { normalizeListEntry } from '../../../core/normalize/activity-answer.ts'
import { findUpload, type Upload } from '../../../core/store/uploads/uploads.ts'
import { ACTIVITY_AWAITED, OTHER_VERSION, sendFile } from '../../../core/upload/send-file.ts'
import type { UploadDeps } from '../../../core/upload/upload-deps.ts'
import { OPEN_STATES } from '../../../core/upload/upload-outcome.ts'
import { errorCode, errorLine } from '../../../kit/errors.ts'
import { makeLogOnce } from '../../../kit/log-once.ts'
import { closeAfter } from '../../../kit/release-stack.ts'
import { makeSemaphore } from '../../../kit/semaphore.ts'
import { SECOND, sleep } from '../../../kit/time.ts'
import type { App } from '../app.ts'
import { accountNamed, accountToUse } from '../local-app.ts'
import { faultOf, type NamedFile, unpackNamed } from './named-files.ts'

/** Maximum memory for all files that are being sent, bytes: the size of the largest FIT file. */
const MEMORY_BYTES = 64 * 1_024 * 1_024

/** Makes the dependencies of core/upload from the App; with `jobs`, each new activity gets a job that fetches it. */
export function makeUploadDeps(
  app: Pick<App, 'store' | 'log' | 'mirror' | 'config'>,
  jobs?: Pick<Jobs, 'enqueue'>,
): UploadDeps {
  const { store, log, config } = app
  const { serviceOf, now } = app.mirror
  return {
    store,
    log,
    problems: makeLogOnce(log),
    memory: makeSemaphore(MEMORY_BYTES),
    now,
    keepFit: config.keepFit,
    settleMs: config.drop.settleMs,
    knownActivities: config.knownActivities,
    serviceOf,
    async listStarted(account, span, signal) {
      const answer = await serviceOf(account).listActivities(span, signal)
      return answer.value.entries.map(normalizeListEntry)
    },
    onWanted: (activity) => jobs?.enqueue('fetch-activity', [activity], { priority: 'new' }),
  }
}

/** Finds the ledger row of a FIT file by the file's content; returns undefined if the ledger has none. Throws ConfigError `no_account`. */
export async function findUploadOf(
  app: Pick<App, 'store'>,
  input: { account: string; bytes: Uint8Array },
): Promise<Upload | undefined> {
  const { accountId } = await accountNamed(app, input.account)
  const contentId = await contentIdOf([input.bytes])
  return app.store.read((tx) => findUpload(tx, { accountId, contentId }))
}

/** The result for one FIT file: its ledger row (`known`: uploaded before), or why it was not sent. */
export type HandUpload = { file: string } & (
  | { upload: Upload; known: boolean; problem?: undefined }
  | { problem: string }
)

/**
 * Uploads files through the ledger, in this process: tries each file once, then waits until the service has accepted or refused the others.
 * `force` sends files again that were uploaded before. Throws ConfigError `no_account`, and the error if the service is unreachable or
 * refuses the login. If a ride is not fetched yet, throws that error after the other files. In each case the file is in the ledger, so the
 * same command continues.
 */
export async function uploadByHand(
  app: Pick<App, 'store' | 'vault' | 'log' | 'mirror' | 'config'>,
  input: {
    account: string
    files: readonly NamedFile[]
    name?: string
    force: boolean
    signal: AbortSignal
    onEnd: (end: HandUpload) => void
    onWait: (file: string, upload: Upload) => void
    /** called if a program has the file open for writing: later additions are not sent */
    onOpen?: (file: string, program: string) => void
  },
): Promise<void> {
  const { onEnd, signal } = input
  const account = await accountToUse(app, input.account)
  const readWriter = makeWriterReader()
  const findWriter = async (named: NamedFile) => {
    if ('reason' in named) return undefined
    const { dev, ino } = await closeAfter(await named.open(), (file) => file.stat())
    return readWriter({ name: named.name, dev, ino })
  }
  // With `force`, every attempt sends the file, even if the service already has the ride.
  const deps = { ...makeUploadDeps(app), ...(input.force && { knownActivities: 'send' as const }) }
  const waiting: Array<{ file: string; fit: ReadFit; dueMs: number }> = []
  let awaited: unknown
  for (const named of input.files) {
    signal.throwIfAborted()
    const program = await findWriter(named).catch(() => undefined)
    if (program !== undefined) input.onOpen?.(named.path, program)
    for (const unread of await unpackNamed(named)) {
      const file = unread.path
      const fit = 'fault' in unread ? unread : await readFit(unread, { settled: true }).catch(faultOf)
      if ('fault' in fit) onEnd({ file, problem: describeFault(fit.fault) })
      // A truncated file gets no row in the ledger, because the person may still have the whole file.
      else if (fit.cut && fit.verdict.verdict === 'refused') onEnd({ file, problem: fit.verdict.reason })
      else await sendOne(file, fit, true)
    }
  }
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    await sleep(Math.max(0, next.dueMs - app.mirror.now().getTime()), signal)
    await sendOne(next.file, next.fit, false)
  }
  if (awaited !== undefined) throw awaited

  async function sendOne(file: string, fit: ReadFit, isFirst: boolean): Promise<void> {
    const again = isFirst ? (input.force ? 'always' : 'refused') : 'never'
    const sent = await sendFile(deps, { ...input, account, fit, again, byHand: isFirst }).catch(
      (error: unknown) => {
        if (![OTHER_VERSION, 'file_changed'].includes(errorCode(error))) throw error
        return errorLine(error)
      },
    )
    if (typeof sent === 'string') return onEnd({ file, problem: sent })
    const { upload, error, known } = sent
    if (!OPEN_STATES.includes(upload.state)) return onEnd({ file, upload, known: isFirst && known })
    const isAwaited = errorCode(error) === ACTIVITY_AWAITED
    // The person learns at once that the service is unreachable, instead of waiting for it.
    if (upload.state === 'seen' && error !== undefined && !isAwaited) throw error
    input.onWait(file, upload)
    if (isAwaited) awaited ??= error
    if (isAwaited) return
    // Another process may work on the row, too.
    const nowMs = app.mirror.now().getTime()
    waiting.push({ file, fit, dueMs: Math.max(nowMs + SECOND, upload.nextTryAt?.getTime() ?? 0) })
    waiting.sort((a, b) => a.dueMs - b.dueMs)
  }
}
