import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { moveToFolder } from '../../../core/dropfolder/move-to-folder.ts'
import { isIgnored, nameOf, unfinishedBy } from '../../../core/dropfolder/walk-folder.ts'
import type { ByteSource } from '../../../core/fit/archive.ts'
import { cleanFitName, isDroppable } from '../../../core/fit/fit-names.ts'
import { readFit } from '../../../core/fit/read-fit.ts'
import { unpackDropped } from '../../../core/fit/unpack.ts'
import { findIdentity } from '../../../core/store/database-facts.ts'
import { flushDirectory, openDurableFile } from '../../../kit/files.ts'
import { claimFolderOrThrow } from '../../../kit/folders/folder-owner.ts'
import { HOUR } from '../../../kit/time.ts'
import type { App } from '../app.ts'
import { accountNamed } from '../local-app.ts'
import { describeFault } from './upload-files.ts'

/** The folder inside the drop folder where a file stands until all of it has arrived; scans pass over hidden folders. */
const ARRIVING = '.arriving'
/** An arriving file that did not change for so long was left by a process that was killed. */
const LEFT_AFTER_MS = 1 * HOUR

/** A FIT of a file; `isKnown`: the ledger had it before, and it is not sent again. */
type Content = { fileName: string; contentId: string; isKnown?: boolean }

/** A file that the page sent: each FIT in it by its content id, as in the ledger; or why it is not accepted. */
export type Dropped =
  | { accepted: true; fileName: string; contents: readonly Content[] }
  | { accepted: false; reason: string }

/**
 * Puts a file into the drop folder of an account, from where it goes through the ledger as every other file there. It is judged first, with
 * the same refusals as by hand, and when this resolves as accepted, its bytes and its name are on the disk. A file that is refused, or
 * whose bytes end early, leaves nothing behind. Throws ConfigError `no_account` and `folder_of_another`, the error of `bytes`.
 */
export async function dropFile(
  app: Pick<App, 'config' | 'store'>,
  input: { account: string; name: string; bytes: AsyncIterable<Uint8Array> },
): Promise<Dropped> {
  if (!isDroppable(input.name))
    return { accepted: false, reason: 'only .fit, .fit.gz and .zip files are uploaded' }
  const account = await accountNamed(app, input.account)
  const { dir } = app.config.drop
  const folder = account.name === 'default' ? dir : join(dir, account.name)
  await mkdir(dir, { recursive: true })
  // Another database would send the file for its own account of this name.
  await claimFolderOrThrow(dir, await app.store.read(findIdentity))
  await mkdir(join(dir, ARRIVING), { recursive: true, mode: 0o700 })
  await mkdir(folder, { recursive: true })
  const name = cleanDroppedName(input.name)
  const arrived = join(dir, ARRIVING, `${randomUUID()}.arrived`)
  const file = await openDurableFile(arrived)
  try {
    for await (const chunk of input.bytes) await file.write(chunk)
    await file.commit()
    const judged = await judge(name, await sourceAt(arrived))
    if (!judged.accepted) return judged
    const ids = judged.contents.map(({ contentId }) => contentId)
    const { rows } = await app.store.read((tx) =>
      tx.client.query<{ content_id: string }>(KNOWN, [account.accountId, ids]),
    )
    const known = rows.map((row) => row.content_id)
    const place = await moveToFolder(Buffer.from(arrived), Buffer.from(folder), Buffer.from(name))
    await flushDirectory(folder)
    const contents = judged.contents.map((one) => ({ ...one, isKnown: known.includes(one.contentId) }))
    return { ...judged, contents, fileName: place ? nameOf(place).toString() : name }
  } finally {
    // After the move neither name is left.
    await file.abandon()
    await rm(arrived, { force: true })
  }
}

const KNOWN = `select content_id from training.uploads where account_id = $1 and content_id = any($2) and state <> 'refused'`

async function judge(name: string, source: ByteSource): Promise<Dropped> {
  const unpacked = await unpackDropped(name, source)
  if (unpacked.verdict !== 'files') return { accepted: false, reason: describeFault(unpacked) }
  const contents: Content[] = []
  let reason = ''
  for (const one of unpacked.files) {
    const fit = await readFit(one, { settled: true })
    if ('fault' in fit) reason ||= describeFault(fit.fault)
    // A file that is cut will not become whole in the folder: the browser has sent all of it.
    else if (fit.cut && fit.verdict.verdict === 'refused') reason ||= fit.verdict.reason
    else contents.push({ fileName: fit.name, contentId: fit.contentId })
  }
  // The files of an archive have separate results: failed/ names those that cannot be read.
  return contents.length > 0 ? { accepted: true, fileName: name, contents } : { accepted: false, reason }
}

/** Opens a file on the disk as a source of bytes. */
export async function sourceAt(path: string): Promise<ByteSource> {
  const { size } = await stat(path)
  return {
    sizeBytes: size,
    // The end of a range is inclusive for a stream, exclusive for a ByteSource.
    open: (range) => createReadStream(path, range && { start: range.start, end: range.end - 1 }),
  }
}

/** Makes a name that the folder accepts and scans, with its own ending. */
function cleanDroppedName(name: string): string {
  const [ending = '.fit'] = /\.(?:fit|fit\.gz|zip)~?$/i.exec(name) ?? []
  const stem = cleanFitName(`${name.slice(0, -ending.length)}.fit`).slice(0, -'.fit'.length)
  return `${isIgnored(stem) || unfinishedBy(stem) ? `activity ${stem}` : stem}${ending.toLowerCase()}`
}

/** Removes what killed processes left of files that were arriving. */
export async function removeArriving(dir: string): Promise<void> {
  const folder = join(dir, ARRIVING)
  const names = await readdir(folder).catch(() => [])
  for (const name of names) {
    const path = join(folder, name)
    const facts = await stat(path).catch(() => undefined)
    if (facts && Date.now() - facts.mtimeMs > LEFT_AFTER_MS) await rm(path, { force: true })
  }
}
