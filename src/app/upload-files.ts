import { basename } from 'node:path'
import type { Fault } from '../fit/archive.ts'
import { contentIdOf, type ReadFit, readFit } from '../fit/read-fit.ts'
import { sourceOf, unpackDropped } from '../fit/unpack.ts'
import { makeLogOnce } from '../kit/log-once.ts'
import { makeSemaphore } from '../kit/semaphore.ts'
import { sleep } from '../kit/time.ts'
import { normalizeListEntry } from '../normalize/activity-row.ts'
import type { Account } from '../store/account-rows.ts'
import { findUpload, type Upload } from '../store/uploads/uploads.ts'
import { sendFile } from '../upload/send-file.ts'
import type { UploadDeps } from '../upload/upload-deps.ts'
import type { App } from './app.ts'
import { accountNamed, accountToUse } from './sign-in.ts'

/** What the files that are being sent may hold of memory together, bytes: as much as the largest FIT file. */
const MEMORY_BYTES = 64 * 1_024 * 1_024

/** Makes what the upload room needs of the App; `onWanted` hears of each new activity to fetch. */
export function makeUploadDeps(
  app: Pick<App, 'store' | 'log' | 'mirror'>,
  onWanted?: NonNullable<UploadDeps['onWanted']>,
): UploadDeps {
  const { store, log } = app
  const { serviceOf, now } = app.mirror
  return {
    store,
    log,
    problems: makeLogOnce(log),
    memory: makeSemaphore(MEMORY_BYTES),
    now,
    serviceOf,
    async listStarted(account, span, signal) {
      const answer = await serviceOf(account).listActivities(span, signal)
      return answer.value.entries.map(normalizeListEntry)
    },
    ...(onWanted && { onWanted }),
  }
}

/** Finds the ledger row of a FIT file's bytes; undefined when they were never seen. Throws ConfigError `no_account`. */
export async function findUploadOf(
  app: Pick<App, 'store'>,
  input: { account: string; bytes: Uint8Array },
): Promise<Upload | undefined> {
  const { accountId } = await accountNamed(app, input.account)
  const contentId = await contentIdOf([input.bytes])
  return app.store.read((tx) => findUpload(tx, { accountId, contentId }))
}

/** What became of one file that a person named: the ledger row of each FIT file in it, or why it was not even tried. */
export type HandUpload = { fileName: string } & (
  | { upload: Upload; known: boolean; problem?: undefined }
  | { problem: string }
)

/**
 * Uploads a file by hand through the ledger, in this process, and waits until the service has taken or refused everything in
 * it; a lost answer is waited for until it is settled. `force` sends again what the ledger knows. Throws the error when the
 * service cannot be reached or refuses the login; the ledger then knows the file, and the same command goes on with it.
 */
export async function uploadByHand(
  app: Pick<App, 'store' | 'vault' | 'log' | 'mirror'>,
  input: {
    account: string
    path: string
    bytes: Buffer
    name?: string
    force: boolean
    signal: AbortSignal
    onWait: (upload: Upload) => void
  },
): Promise<HandUpload[]> {
  const account = await accountToUse(app, input.account)
  const fileName = basename(input.path)
  const unpacked = await unpackDropped(fileName, sourceOf(input.bytes))
  if (unpacked.verdict !== 'files') return [{ fileName, problem: describeFault(unpacked) }]
  const fits: ReadFit[] = []
  for (const file of unpacked.files) {
    const fit = await readFit(file, { settled: true })
    if ('fault' in fit) return [{ fileName, problem: describeFault(fit.fault) }]
    fits.push(fit)
  }
  const ends: HandUpload[] = []
  for (const fit of fits) ends.push(await uploadOne(app, { ...input, account, fit }))
  return ends
}

function describeFault({ verdict, reason }: Fault): string {
  return verdict === 'unready' ? `not whole: ${reason}` : reason
}

async function uploadOne(
  app: Pick<App, 'store' | 'log' | 'mirror'>,
  input: Omit<Parameters<typeof uploadByHand>[1], 'account' | 'bytes'> & { account: Account; fit: ReadFit },
): Promise<HandUpload> {
  const { fit, signal } = input
  const fileName = fit.name
  // A person may still have the whole file, so what is cut gets no row of the ledger.
  if (fit.cut && fit.verdict.verdict === 'refused') return { fileName, problem: fit.verdict.reason }
  const deps = makeUploadDeps(app)
  let again: 'refused' | 'always' | 'never' = input.force ? 'always' : 'refused'
  for (let isFirst = true; ; isFirst = false) {
    const { upload, error, known } = await sendFile(deps, { ...input, again, byHand: isFirst })
    const moving = upload.state === 'seen' || upload.state === 'sending' || upload.state === 'unconfirmed'
    if (!moving) return { fileName, upload, known: isFirst && known }
    // A person had better hear at once that the service is away than wait for it.
    if (upload.state === 'seen' && error !== undefined) throw error
    again = 'never'
    input.onWait(upload)
    await sleep(pauseUntil(upload.nextTryAt, app.mirror.now()), signal)
  }
}

/** A row that others work on is looked at once a second. */
function pauseUntil(moment: Date | null, now: Date): number {
  return Math.max(1_000, (moment?.getTime() ?? 0) - now.getTime())
}
