import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { makeWriterReader } from '../../../core/dropfolder/open-writers.ts'
import type { Fault } from '../../../core/fit/archive.ts'
import { contentIdOf, type ReadFit, readFit } from '../../../core/fit/read-fit.ts'
import { sourceOf, unpackDropped } from '../../../core/fit/unpack.ts'
import type { Jobs } from '../../../core/jobs/jobs.ts'
import { normalizeListEntry } from '../../../core/normalize/activity-answer.ts'
import type { Account } from '../../../core/store/account-rows.ts'
import { findUpload, type Upload } from '../../../core/store/uploads/uploads.ts'
import { OTHER_VERSION, sendFile } from '../../../core/upload/send-file.ts'
import type { UploadDeps } from '../../../core/upload/upload-deps.ts'
import { errorCode, errorLine } from '../../../kit/errors.ts'
import { makeLogOnce } from '../../../kit/log-once.ts'
import { makeSemaphore } from '../../../kit/semaphore.ts'
import { SECOND, sleep } from '../../../kit/time.ts'
import type { App } from '../app.ts'
import { accountNamed, accountToUse } from '../local-app.ts'

/** The memory of all files that are being sent, bytes: the size of the largest FIT file. */
const MEMORY_BYTES = 64 * 1_024 * 1_024

/** Makes the dependencies of the upload room from the App; with `jobs` each new activity gets one that fetches it. */
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

/** Finds the ledger row of a FIT file by its content; undefined when there is none. Throws ConfigError `no_account`. */
export async function findUploadOf(
  app: Pick<App, 'store'>,
  input: { account: string; bytes: Uint8Array },
): Promise<Upload | undefined> {
  const { accountId } = await accountNamed(app, input.account)
  const contentId = await contentIdOf([input.bytes])
  return app.store.read((tx) => findUpload(tx, { accountId, contentId }))
}

/** The result for one FIT file: its ledger row (`known`: uploaded before), or the reason why it was not sent. */
export type HandUpload = { fileName: string } & (
  | { upload: Upload; known: boolean; problem?: undefined }
  | { problem: string }
)

/**
 * Uploads a file through the ledger, in this process, and waits until the service has accepted or refused every FIT file in it, also after
 * a lost answer. `force` sends files again that were uploaded before. Throws the error when the service is unreachable or refuses the
 * login: the file is in the ledger then, and the same command continues. Throws ConfigError `no_account`.
 */
export async function uploadByHand(
  app: Pick<App, 'store' | 'vault' | 'log' | 'mirror' | 'config'>,
  input: {
    account: string
    path: string
    bytes: Buffer
    name?: string
    force: boolean
    signal: AbortSignal
    onWait: (upload: Upload) => void
    /** called when a program has the file open for writing: later additions are not sent */
    onOpen?: (program: string) => void
  },
): Promise<HandUpload[]> {
  const account = await accountToUse(app, input.account)
  const fileName = basename(input.path)
  const stats = await stat(input.path).catch(() => undefined)
  const program = stats && (await makeWriterReader()({ ...stats, name: Buffer.from(fileName) }))
  if (program !== undefined) input.onOpen?.(program)
  const unpacked = await unpackDropped(fileName, sourceOf(input.bytes))
  if (unpacked.verdict !== 'files') return [{ fileName, problem: describeFault(unpacked) }]
  const ends: HandUpload[] = []
  for (const file of unpacked.files) {
    const fit = await readFit(file, { settled: true })
    if ('fault' in fit) ends.push({ fileName: fit.name, problem: describeFault(fit.fault) })
    else ends.push(await uploadOne(app, { ...input, account, fit }))
  }
  return ends
}

/** Writes why a file cannot be read. */
export function describeFault({ verdict, reason }: Fault): string {
  return verdict === 'unready' ? `not whole: ${reason}` : reason
}

async function uploadOne(
  app: Pick<App, 'store' | 'log' | 'mirror' | 'config'>,
  input: Omit<Parameters<typeof uploadByHand>[1], 'account' | 'bytes'> & { account: Account; fit: ReadFit },
): Promise<HandUpload> {
  const { fit, signal } = input
  const fileName = fit.name
  // A truncated file gets no row in the ledger, because the person may still have the whole file.
  if (fit.cut && fit.verdict.verdict === 'refused') return { fileName, problem: fit.verdict.reason }
  // What a person sends anyway is sent also by a later attempt.
  const deps = { ...makeUploadDeps(app), ...(input.force && { knownActivities: 'send' as const }) }
  let again: 'refused' | 'always' | 'never' = input.force ? 'always' : 'refused'
  for (let isFirst = true; ; isFirst = false) {
    const sent = await sendFile(deps, { ...input, again, byHand: isFirst }).catch((error: unknown) => {
      if (errorCode(error) !== OTHER_VERSION) throw error
      return errorLine(error)
    })
    if (typeof sent === 'string') return { fileName, problem: sent }
    const { upload, error, known } = sent
    const moving = upload.state === 'seen' || upload.state === 'sending' || upload.state === 'unconfirmed'
    if (!moving) return { fileName, upload, known: isFirst && known }
    // The person learns at once that the service is unreachable, instead of waiting for it.
    if (upload.state === 'seen' && error !== undefined) throw error
    again = 'never'
    input.onWait(upload)
    const pauseMs = (upload.nextTryAt?.getTime() ?? 0) - app.mirror.now().getTime()
    // Another process may work on the row, too.
    await sleep(Math.max(SECOND, pauseMs), signal)
  }
}
