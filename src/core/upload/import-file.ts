import {
  CredentialsRejectedError,
  commandFor,
  errorCode,
  errorLine,
  isAbort,
  MusetteError,
  RateLimitedError,
  TransientError,
} from '../../kit/errors.ts'
import { quoteName, quoteText } from '../../kit/text.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../kit/time.ts'
import { type ByteSource, describeFault, type Fault } from '../fit/archive.ts'
import { contentIdOf, type ReadFit, readFit } from '../fit/read-fit.ts'
import { unpackDropped } from '../fit/unpack.ts'
import type { Account } from '../store/account-rows.ts'
import { recordUploadCopies, type Upload } from '../store/uploads/uploads.ts'
import { OTHER_VERSION, recordRefused, sendFile } from './send-file.ts'
import type { UploadDeps } from './upload-deps.ts'
import { OPEN_STATES } from './upload-outcome.ts'

/** How long a file may be incomplete before it is reported; writers pause for seconds. */
const WAITS_AFTER_MS = 1 * MINUTE
/** How long a file may be incomplete before it is refused; longer than a stop during a ride. */
const GIVEN_UP_AFTER_MS = 1 * HOUR
/** A file that last changed longer ago than this is not being written. */
const OLD_AFTER_MS = 1 * DAY
/** Maximum time between the last record and the last change of a file that was just recorded; a longer time means a copy or a conversion. */
const RECORDED_WITHIN_MS = 10 * MINUTE
/** Maximum number of an archive's files that the text lists; `training.uploads` lists all of them. */
const MAX_LINES = 20
/** Pause before the next attempt after a problem with the database or the service. */
const RETRY_MS = 15 * SECOND
/** Key of the problem that all files share while the database or the service is unavailable. */
const OUTAGE = 'outage'

/** A file on disk; `check` throws TransientError `file_changed` if it is no longer the opened file. */
type FileSource = ByteSource & { check(): Promise<void> }

type ImportInput = {
  account: Account
  name: string
  open: () => Promise<FileSource>
  /** when the file last changed or moved */
  restingSince: Date
  /** when the file last changed; it may be years ago */
  changedAt: Date
  signal?: AbortSignal | undefined
}

/** What to do with the file on disk. `dueAt`: when to import the file again, if known. `reason`: why the file waits. */
export type ImportOutcome =
  | { action: 'done' }
  | { action: 'failed'; text: string }
  | { action: 'wait'; dueAt?: Date; reason?: string; code?: string }

/**
 * Imports one file at rest from the drop folder: reads it, sends each FIT file in it through the ledger, and returns what to do with it. The
 * file is `done` if the service accepted everything, `failed` if something was refused or is a duplicate; otherwise it waits. An incomplete
 * file waits until it has rested for an hour, and is then refused. After a crash at any step, importing again has the same result. Throws only
 * the disk's errors.
 */
export async function importFile(deps: UploadDeps, input: ImportInput): Promise<ImportOutcome> {
  try {
    const outcome = await importContents(deps, input)
    // An incomplete file is judged without database and service, so it does not prove that they work.
    if (outcome.action !== 'wait' || outcome.reason === undefined) deps.problems.over(OUTAGE)
    deps.problems.over(input.name)
    return outcome
  } catch (error) {
    if (isAbort(error, input.signal)) return { action: 'wait' }
    if (isOfDisk(error)) throw error
    const reason = errorLine(error)
    // An outage is one problem, regardless of the number of waiting files.
    if (isOutage(error)) deps.problems.say('warn', OUTAGE, `uploads wait: ${reason}`)
    else deps.problems.say('error', input.name, `${input.name} waits: ${reason}`, { err: error })
    return { action: 'wait', dueAt: new Date(deps.now().getTime() + RETRY_MS) }
  }
}

async function importContents(deps: UploadDeps, input: ImportInput): Promise<ImportOutcome> {
  const { account, name } = input
  const source = await input.open()
  const givenUpAt = giveUpAt(input)
  const isGivenUp = givenUpAt <= deps.now()
  const waitFor = (fault: Parameters<typeof describeFault>[0]): ImportOutcome => ({
    action: 'wait',
    dueAt: givenUpAt,
    reason: describeFault(fault),
  })
  const unpacked = await unpackDropped(name, source)
  if (unpacked.verdict !== 'files') {
    if (unpacked.verdict === 'unready' && !isGivenUp) return waitFor(unpacked)
    return conclude(deps, input, [await recordFault(deps, input, { source, fault: unpacked })])
  }
  // Waiting does not complete a file inside an archive, because the archive itself is complete.
  const settled = isGivenUp || unpacked.isPacked
  const fits: ReadFit[] = []
  const faults: Fault[] = []
  for (const file of unpacked.files) {
    const read = await readFit(file, { settled })
    if ('fault' in read)
      faults.push({ ...read.fault, reason: `${quoteName(read.name)}: ${read.fault.reason}` })
    else if (read.verdict.verdict === 'unready') return waitFor(read.verdict)
    else fits.push(read)
  }
  const cut = faults.find(({ verdict }) => verdict === 'unready')
  if (cut && !isGivenUp) return waitFor(cut)
  const dueAt = new Date(input.changedAt.getTime() + deps.settleMs)
  if (dueAt > deps.now() && fits.some((fit) => isRecording(fit, input.changedAt))) {
    const reason = `it was just being recorded; musette sends it if nothing is added until ${dueAt.toISOString()}`
    return { action: 'wait', dueAt, reason, code: 'settling' }
  }
  await source.check()
  const results: ContentResult[] = []
  for (const fit of fits) {
    const { signal, restingSince: since } = input
    const sending = { account, fit, again: 'refused' as const, since, signal }
    try {
      const { upload, known, paused } = await sendFile(deps, sending)
      results.push({ upload, known, paused, fileName: fit.name, cut: fit.cut })
    } catch (error) {
      const [code, reason] = [errorCode(error), errorLine(error)]
      if (code !== OTHER_VERSION) throw error
      if (unpacked.files.length === 1) return { action: 'wait', reason, code }
      faults.push({ verdict: 'refused', code, reason: `${quoteName(fit.name)}: ${reason}` })
    }
  }
  const fault = cut ?? faults[0]
  if (fault) {
    const reason = shortenList(faults.map((each) => each.reason)).join('; ')
    results.unshift(await recordFault(deps, input, { source, fault: { ...fault, reason } }))
  }
  return conclude(deps, input, results)
}

/** Records the whole file as refused because its contents cannot be read. */
async function recordFault(
  deps: UploadDeps,
  { account, name }: ImportInput,
  { source, fault }: { source: FileSource; fault: Fault },
): Promise<ContentResult> {
  const contentId = await contentIdOf(source.open())
  await source.check()
  const reason = describeFault(fault)
  const file = { fileName: name, sizeBytes: source.sizeBytes, reason }
  const { upload, isNew } = await recordRefused(deps, { accountId: account.accountId, contentId, ...file })
  return { upload, fileName: name, known: !isNew, paused: false, cut: fault.verdict === 'unready' }
}

async function conclude(
  deps: UploadDeps,
  { account }: ImportInput,
  results: readonly ContentResult[],
): Promise<ImportOutcome> {
  const open = results.filter(({ paused, upload }) => paused || OPEN_STATES.includes(upload.state))
  if (open.length > 0) {
    const due = open.flatMap(({ upload }) => (upload.nextTryAt ? [upload.nextTryAt.getTime()] : []))
    const first = due.reduce((least, each) => Math.min(least, each), Number.POSITIVE_INFINITY)
    return due.length > 0 ? { action: 'wait', dueAt: new Date(first) } : { action: 'wait' }
  }
  const copies = results.filter(({ upload, fileName, known }) => known && upload.fileName !== fileName)
  if (copies.length > 0) {
    const rows = copies.map(({ upload: { accountId, contentId }, fileName }) => ({
      accountId,
      contentId,
      fileName,
      seenAt: deps.now(),
    }))
    await deps.store.transaction((tx) => recordUploadCopies(tx, rows))
  }
  if (results.every(isUploaded)) return { action: 'done' }
  return { action: 'failed', text: describeFailedFile(results, account.name) }
}

/** Returns when an incomplete file is final: an hour after it came to rest, or soon if its last change is a day old. */
function giveUpAt({ restingSince, changedAt }: ImportInput): Date {
  const rest = restingSince.getTime()
  const old = Math.max(rest + WAITS_AFTER_MS, changedAt.getTime() + OLD_AFTER_MS)
  return new Date(Math.min(rest + GIVEN_UP_AFTER_MS, old))
}

/** Reports whether the recording ended shortly before the file's last change; true if the recording has no end. */
function isRecording({ verdict }: ReadFit, changedAt: Date): boolean {
  if (verdict.verdict !== 'whole') return false
  const { endedAt } = verdict
  return endedAt === null || changedAt.getTime() - endedAt.getTime() < RECORDED_WITHIN_MS
}

/** Reports whether an error comes from the disk. Node's file errors name a system call; store and service throw MusetteErrors. */
function isOfDisk(error: unknown): boolean {
  if (error instanceof MusetteError) return DISK_CODES.includes(error.code)
  return error instanceof Error && 'syscall' in error
}

const DISK_CODES: readonly string[] = ['file_changed', 'not_a_folder']

function isOutage(error: unknown): boolean {
  return (
    error instanceof TransientError ||
    error instanceof RateLimitedError ||
    error instanceof CredentialsRejectedError
  )
}

/** The result for one content. `known`: the ledger had it. `paused`: it is sent again later. `cut`: not sent, bytes are missing or wrong. */
type ContentResult = {
  upload: Upload
  fileName: string
  known: boolean
  paused: boolean
  cut: boolean
}

/** Reports whether this file uploaded the content. If it was known before, its name tells an interrupted move (same name) from a duplicate. */
function isUploaded({ upload, fileName, known }: ContentResult): boolean {
  if (upload.state === 'attached') return true
  if (upload.state !== 'accepted' && upload.state !== 'mirrored') return false
  return !known || upload.fileName === fileName
}

/** Writes the text for a file in failed/: the result of each content, and advice. */
function describeFailedFile(results: readonly ContentResult[], account: string): string {
  const failed = results.filter((result) => !isUploaded(result))
  const uploaded = results.filter(isUploaded)
  const refused = failed.filter(({ upload }) => upload.state === 'refused')
  const unsent = refused.filter(({ upload }) => upload.attempts === 0)
  const advice: string[] = []
  if (refused.length > unsent.length) {
    advice.push('The service refused it. To try again, move the file back into the drop folder.')
  }
  if (unsent.some(({ cut }) => cut)) {
    advice.push(
      'Put a whole copy of the file into the drop folder. If a program still writes to this one, move it back when that is done.',
    )
  }
  if (unsent.some(({ cut }) => !cut)) {
    advice.push('It was not sent: musette sends only FIT activities, and would refuse the same file again.')
  }
  if (failed.length > refused.length) {
    if (refused.length === 0) advice.push('Nothing needs to be done: the service has it.')
    advice.push(`To send a duplicate anyway: ${commandFor('upload --force', account)} FILE`)
  }
  const lines = [...shortenList(failed.map(describeContent)), ...shortenList(uploaded.map(describeContent))]
  return `${lines.join('\n')}\n\n${advice.join('\n')}\n`
}

function shortenList(lines: readonly string[]): string[] {
  const more = lines.length - MAX_LINES
  return more > 0 ? [...lines.slice(0, MAX_LINES), `${more} more like these`] : [...lines]
}

function describeContent(result: ContentResult): string {
  const { upload } = result
  const fileName = quoteName(result.fileName)
  const { state, reason, activityPath, acceptedAt } = upload
  if (state === 'attached') return `${fileName}: attached to activity ${activityPath}, which came another way`
  if (isUploaded(result)) return `${fileName}: uploaded: activity ${activityPath ?? 'not named yet'}`
  if (state === 'refused') return `${fileName}: not uploaded: ${reason ?? 'the service refused it'}`
  if (state === 'duplicate') return `${fileName}: duplicate: ${reason ?? `activity ${activityPath}`}`
  const day = acceptedAt ? `, on ${acceptedAt.toISOString().slice(0, 10)}` : ''
  return `${fileName}: duplicate: the same bytes were uploaded as ${quoteText(upload.fileName)}${day}; activity ${activityPath ?? 'not named yet'}`
}
