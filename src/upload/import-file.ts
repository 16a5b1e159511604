import type { Fault } from '../fit/archive.ts'
import { contentIdOf, type ReadFit, readFit } from '../fit/read-fit.ts'
import { type ByteSource, unpackDropped } from '../fit/unpack.ts'
import {
  CredentialsRejectedError,
  errorLine,
  isAbort,
  MusetteError,
  RateLimitedError,
  TransientError,
} from '../kit/errors.ts'
import { SECOND } from '../kit/time.ts'
import type { Account } from '../store/accounts.ts'
import { recordUploadCopies, type Upload } from '../store/uploads/uploads.ts'
import { describeEnd, describeFile, type End, isTaken } from './messages.ts'
import { offerFit, recordRefused } from './send-file.ts'
import { GIVEN_UP_AFTER_MS, OLD_AFTER_MS, type UploadDeps, WAITS_AFTER_MS } from './upload-deps.ts'

/** A file on disk; `check` throws TransientError `file_changed` when it is not the one that was opened any more. */
type DroppedSource = ByteSource & { check(): Promise<void> }

type TakeInput = {
  account: Account
  name: string
  open: () => Promise<DroppedSource>
  /** since when the file lies where it is, unchanged */
  restingSince: Date
  /** the time of its last change that the file carries; it may be years ago */
  changedAt: Date
  signal?: AbortSignal
}

/** What is to be done with the file on disk; `dueAt` when to offer it again, where that is known; `reason` why it waits. */
export type Taken =
  | { action: 'done' }
  | { action: 'failed'; text: string }
  | { action: 'wait'; dueAt?: Date; reason?: string }

/** The problem that every file has at once: database or service cannot be used. */
const OUTAGE = 'outage'
/** When a file is offered again after such a problem. */
const TROUBLE_MS = 15 * SECOND

/**
 * Takes one file at rest from the drop folder: reads it through, offers every FIT file in it through the ledger, and tells
 * what is to be done with it. It is `done` when the service has taken everything in it, `failed` when something in it was
 * refused or is a duplicate, and waits in all other cases. One that is not whole waits until it has rested for an hour, and
 * then is refused. Every step may end by a crash: offered again, it comes to the same end. Throws only what the disk throws.
 */
export async function takeDropped(deps: UploadDeps, input: TakeInput): Promise<Taken> {
  try {
    const taken = await take(deps, input)
    // What is not whole was judged without database and service.
    if (taken.action !== 'wait' || taken.reason === undefined) deps.trouble.over(OUTAGE)
    deps.trouble.over(input.name)
    return taken
  } catch (error) {
    if (isAbort(error, input.signal)) return { action: 'wait' }
    if (isOfDisk(error)) throw error
    const reason = errorLine(error)
    // An outage is one problem, however many files wait for its end.
    if (isOutage(error)) deps.trouble.say('warn', OUTAGE, `uploads wait: ${reason}`)
    else deps.trouble.say('error', input.name, `${input.name} waits: ${reason}`, { err: error })
    return { action: 'wait', dueAt: new Date(deps.now().getTime() + TROUBLE_MS) }
  }
}

async function take(deps: UploadDeps, input: TakeInput): Promise<Taken> {
  const { account, name } = input
  const source = await input.open()
  const givenUpAt = findGivenUpAt(input)
  const isGivenUp = givenUpAt <= deps.now()
  const waitFor = (reason: string): Taken => ({
    action: 'wait',
    dueAt: givenUpAt,
    reason: `not whole: ${reason}`,
  })
  const unpacked = await unpackDropped(name, source)
  if (unpacked.verdict !== 'files') {
    if (unpacked.verdict === 'unready' && !isGivenUp) return waitFor(unpacked.reason)
    return conclude(deps, input, [await refuseWhole(deps, input, { source, fault: unpacked })])
  }
  // What is cut inside an archive never becomes whole.
  const settled = isGivenUp || !/\.fit$/i.test(name)
  const fits: ReadFit[] = []
  let damaged: Fault | undefined
  for (const file of unpacked.files) {
    const read = await readFit(file, { settled })
    if ('fault' in read) {
      damaged = { ...read.fault, reason: `${read.name}: ${read.fault.reason}` }
      if (damaged.verdict === 'refused') fits.length = 0
      if (damaged.verdict === 'refused' || !isGivenUp) break
    } else if (read.verdict.verdict === 'unready') {
      return waitFor(read.verdict.reason)
    } else {
      fits.push(read)
    }
  }
  if (damaged?.verdict === 'unready' && !isGivenUp) return waitFor(damaged.reason)
  await source.check()
  const ends: End[] = []
  for (const fit of fits) {
    const since = input.restingSince
    const { signal } = input
    const offer = { account, fit, again: 'refused' as const, since, ...(signal && { signal }) }
    const { upload, known, early } = await offerFit(deps, offer)
    ends.push({ upload, known, early, fileName: fit.name, cut: fit.cut })
  }
  if (damaged) ends.push(await refuseWhole(deps, input, { source, fault: damaged }))
  return conclude(deps, input, ends)
}

/** Records a file as a whole as refused: what it holds cannot be had. */
async function refuseWhole(
  deps: UploadDeps,
  { account, name }: TakeInput,
  { source, fault }: { source: DroppedSource; fault: Fault },
): Promise<End> {
  const contentId = await contentIdOf(source.open())
  await source.check()
  const reason = fault.verdict === 'refused' ? fault.reason : `not whole: ${fault.reason}`
  const file = { fileName: name, sizeBytes: source.sizeBytes, reason }
  const { upload, isNew } = await recordRefused(deps, { accountId: account.accountId, contentId, ...file })
  return { upload, fileName: name, known: !isNew, early: false, cut: fault.verdict === 'unready' }
}

async function conclude(deps: UploadDeps, { account }: TakeInput, ends: readonly End[]): Promise<Taken> {
  const open = ends.filter((end) => end.early || OPEN.includes(end.upload.state))
  if (open.length > 0) {
    const due = open.flatMap(({ upload }) => (upload.nextTryAt ? [upload.nextTryAt.getTime()] : []))
    const first = due.reduce((least, each) => Math.min(least, each), Number.POSITIVE_INFINITY)
    return due.length > 0 ? { action: 'wait', dueAt: new Date(first) } : { action: 'wait' }
  }
  const copies = ends.filter(({ upload, fileName, known }) => known && upload.fileName !== fileName)
  if (copies.length > 0) {
    const rows = copies.map(({ upload: { accountId, contentId }, fileName }) => ({
      accountId,
      contentId,
      fileName,
      seenAt: deps.now(),
    }))
    await deps.store.transaction((tx) => recordUploadCopies(tx, rows))
  }
  if (ends.every(isTaken)) return { action: 'done' }
  return { action: 'failed', text: describeFile(ends.map(describeEnd), ends, account.name) }
}

const OPEN: readonly Upload['state'][] = ['seen', 'sending', 'unconfirmed']

/** When a file that is not whole counts as final: an hour after it came to rest, or at once when it is a day old. */
function findGivenUpAt({ restingSince, changedAt }: TakeInput): Date {
  const rest = restingSince.getTime()
  const old = Math.max(rest + WAITS_AFTER_MS, changedAt.getTime() + OLD_AFTER_MS)
  return new Date(Math.min(rest + GIVEN_UP_AFTER_MS, old))
}

/** Node's errors of files name the call that failed; those of the network come out of store and client as MusetteErrors. */
function isOfDisk(error: unknown): boolean {
  if (error instanceof MusetteError) return DISK_CODES.includes(error.code)
  return error instanceof Error && 'syscall' in error
}

const DISK_CODES: readonly string[] = ['file_changed', 'outside_folder']

function isOutage(error: unknown): boolean {
  return (
    error instanceof TransientError ||
    error instanceof RateLimitedError ||
    error instanceof CredentialsRejectedError
  )
}
