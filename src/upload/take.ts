import { contentIdOf } from '../fit/content-id.ts'
import { unpackDropped } from '../fit/unpack.ts'
import { SECOND } from '../kit/durations.ts'
import { errorLine, isAbort, TransientError } from '../kit/errors.ts'
import type { Account } from '../store/accounts.ts'
import type { Upload } from '../store/uploads.ts'
import type { UploadDeps } from './deps.ts'
import { offerFit, recordRefused } from './offer.ts'
import { tellFailed, tellFile } from './tell.ts'

export type TakeInput = {
  account: Account
  name: string
  read: () => Promise<Buffer>
  /** a refused file that is offered again was moved back by a person; false where files stay where they are */
  moved: boolean
  signal?: AbortSignal
}

/** What is to be done with the file on disk; `dueAt` when to offer it again, where that is known. */
export type Taken = { action: 'done' } | { action: 'failed'; text: string } | { action: 'wait'; dueAt?: Date }

/** When a file is offered again after database or disk failed. */
const TROUBLE_MS = 15 * SECOND

/**
 * Takes one file at rest from the drop folder: unpacks it, offers every FIT file in it through the ledger, and tells what is
 * to be done with it. It is `done` when the service has taken everything in it, `failed` when something in it was refused or
 * is a duplicate, and waits in all other cases. Every step may end by a crash: offered again, it comes to the same end.
 */
export async function takeDropped(deps: UploadDeps, input: TakeInput): Promise<Taken> {
  try {
    return await take(deps, input)
  } catch (error) {
    if (isAbort(error, input.signal)) return { action: 'wait' }
    const level = error instanceof TransientError ? 'warn' : 'error'
    deps.log[level]({ file: input.name, reason: errorLine(error), err: error }, 'file waits')
    return { action: 'wait', dueAt: new Date(deps.now().getTime() + TROUBLE_MS) }
  }
}

async function take(deps: UploadDeps, input: TakeInput): Promise<Taken> {
  const { account, name, signal } = input
  const bytes = await input.read()
  const unpacked = await unpackDropped(name, bytes)
  if (unpacked.verdict === 'unready') return waitFor(deps, name, unpacked.code)
  if (unpacked.verdict === 'refused') {
    const id = { accountId: account.accountId, contentId: contentIdOf(bytes) }
    const file = { fileName: name, sizeBytes: bytes.length, reason: unpacked.reason }
    const upload = await recordRefused(deps, { ...id, ...file })
    return conclude(input, [{ upload, fileName: name, known: false }])
  }
  const packed = !/\.fit$/i.test(name)
  const again = input.moved ? ('refused' as const) : ('never' as const)
  const ends: End[] = []
  for (const file of unpacked.files) {
    const offer = {
      account,
      fileName: file.name,
      bytes: file.bytes,
      packed,
      again,
      ...(signal && { signal }),
    }
    const offered = await offerFit(deps, offer)
    if (offered.verdict === 'unready') return waitFor(deps, name, 'unready')
    ends.push({ upload: offered.upload, fileName: file.name, known: offered.known })
  }
  return conclude(input, ends)
}

type End = { upload: Upload; fileName: string; known: boolean }

function conclude({ account, moved }: TakeInput, ends: readonly End[]): Taken {
  const open = ends.filter((end) => OPEN.includes(end.upload.state) || (moved && isBackTooSoon(end)))
  if (open.length > 0) {
    const due = open.flatMap(({ upload }) => (upload.nextTryAt ? [upload.nextTryAt.getTime()] : []))
    return due.length > 0 ? { action: 'wait', dueAt: new Date(Math.min(...due)) } : { action: 'wait' }
  }
  const failed = ends.filter(({ upload, fileName, known }) => !isTaken(upload, fileName, known))
  if (failed.length === 0) return { action: 'done' }
  const lines = ends.map(({ upload, fileName, known }) =>
    isTaken(upload, fileName, known)
      ? `${fileName}: uploaded: activity ${upload.activityPath ?? 'not named yet'}`
      : tellFailed(upload, fileName),
  )
  const refused = failed.some(({ upload }) => upload.state === 'refused')
  return { action: 'failed', text: tellFile(lines, { refused, account: account.name }) }
}

const OPEN: readonly Upload['state'][] = ['seen', 'sending', 'unconfirmed']

/** Refused before, there again, and not tried again yet. */
function isBackTooSoon({ upload, known }: End): boolean {
  return known && upload.state === 'refused' && upload.nextTryAt !== null
}

/** The same file again is one whose moving was cut short by a crash; another name with the same bytes is a duplicate. */
function isTaken(upload: Upload, fileName: string, known: boolean): boolean {
  if (upload.state !== 'accepted' && upload.state !== 'mirrored') return false
  return !known || upload.fileName === fileName
}

function waitFor(deps: UploadDeps, file: string, code: string): Taken {
  deps.log.debug({ file, code }, 'file is not whole yet')
  return { action: 'wait' }
}
