import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { DROP_MODE } from '../../../core/dropfolder/drop-folder.ts'
import { makeMover } from '../../../core/dropfolder/move-to-folder.ts'
import { isIgnored, unfinishedBy } from '../../../core/dropfolder/walk-folder.ts'
import { type ByteSource, describeFault } from '../../../core/fit/archive.ts'
import { cleanFitName, isDroppable } from '../../../core/fit/fit-names.ts'
import { readFit } from '../../../core/fit/read-fit.ts'
import { unpackDropped } from '../../../core/fit/unpack.ts'
import type { Account } from '../../../core/store/account-rows.ts'
import { findIdentity } from '../../../core/store/database-facts.ts'
import { errorCode, errorLine } from '../../../kit/errors.ts'
import { orMissing } from '../../../kit/files.ts'
import { type Folder, openBelow, openFolder } from '../../../kit/folders/folder.ts'
import { claimFolderOrThrow } from '../../../kit/folders/folder-owner.ts'
import { closeAfter } from '../../../kit/release-stack.ts'
import { HOUR } from '../../../kit/time.ts'
import type { App } from '../app.ts'
import { accountNamed } from '../local-app.ts'
import { sourceAt } from './named-files.ts'

/** The folder inside the drop folder in which a file stays until all of it has arrived; scans skip hidden folders. */
const ARRIVING = '.arriving'
/** Age, ms, from which an arriving file counts as left by a killed process. */
const LEFT_AFTER_MS = 1 * HOUR

/** A FIT file in a file that the page sent. `isKnown`: the ledger had the FIT file before, so musette does not send it again. */
type Content = { fileName: string; contentId: string; isKnown?: boolean }

/** The result for a file that the page sent: its FIT files by content id, as in the ledger, or the reason why the file is not accepted. */
export type Dropped =
  | { accepted: true; fileName: string; contents: readonly Content[] }
  | { accepted: false; reason: string }

/**
 * Puts a file into the drop folder of an account; the watcher then handles the file like every other. First checks the file by the same
 * rules as an upload by hand. If the result is `accepted`, its bytes and its name are on the disk. If the file is refused or its bytes end
 * early, nothing stays on the disk. A folder that is a link refuses every file, with the command that removes the link. Throws ConfigError
 * `no_account` and `folder_of_another`, and the error of `bytes`.
 */
export async function dropFile(
  app: Pick<App, 'config' | 'store'>,
  input: { account: string; name: string; bytes: AsyncIterable<Uint8Array> },
): Promise<Dropped> {
  if (!isDroppable(input.name))
    return { accepted: false, reason: 'only .fit, .fit.gz and .zip files are uploaded' }
  const account = await accountNamed(app, input.account)
  const { dir } = app.config.drop
  const steps = account.name === 'default' ? [] : [account.name]
  try {
    await (await openFolder(dir, { mode: DROP_MODE })).close()
    // Another database would upload the file for its own account of the same name.
    await claimFolderOrThrow(dir, await app.store.read(findIdentity))
    return await closeAfter(await openBelow(dir, steps, 'makeInner'), async (folder) =>
      closeAfter(await openBelow(dir, [ARRIVING], 'makeInner', 0o700), (arriving) =>
        receive(app, { ...input, account, folder, arriving }),
      ),
    )
  } catch (error) {
    if (errorCode(error) !== 'not_a_folder') throw error
    return { accepted: false, reason: errorLine(error) }
  }
}

/** Writes the bytes into the arriving folder, judges them, and moves the whole file into the drop folder. */
async function receive(
  app: Pick<App, 'store'>,
  input: {
    account: Account
    name: string
    bytes: AsyncIterable<Uint8Array>
    folder: Folder
    arriving: Folder
  },
): Promise<Dropped> {
  const { account, folder, arriving } = input
  const name = cleanDroppedName(input.name)
  const arrived = `${randomUUID()}.arrived`
  const file = await arriving.createDurable(arrived)
  try {
    for await (const chunk of input.bytes) await file.write(chunk)
    await file.commit()
    const judged = await judge(name, await sourceAt(() => arriving.open(arrived)))
    if (!judged.accepted) return judged
    const ids = judged.contents.map(({ contentId }) => contentId)
    const { rows } = await app.store.read((tx) =>
      tx.client.query<{ content_id: string }>(KNOWN, [account.accountId, ids]),
    )
    const known = rows.map((row) => row.content_id)
    const from = { folder: arriving, name: Buffer.from(arrived) }
    const placed = await makeMover()(from, { folder, name: Buffer.from(name) })
    await folder.sync()
    const contents = judged.contents.map((one) => ({ ...one, isKnown: known.includes(one.contentId) }))
    return { ...judged, contents, fileName: placed?.toString() ?? name }
  } finally {
    // After the move, neither name exists.
    await file.abandon()
    await arriving.unlink(arrived).catch(orMissing)
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
    // Refuse a truncated file at once, because it cannot become complete: the browser has sent all of its bytes.
    else if (fit.cut && fit.verdict.verdict === 'refused') reason ||= fit.verdict.reason
    else contents.push({ fileName: fit.name, contentId: fit.contentId })
  }
  // Each file of an archive has its own result: failed/ names the files that cannot be read.
  return contents.length > 0 ? { accepted: true, fileName: name, contents } : { accepted: false, reason }
}

/** Makes a name that the drop folder accepts and scans, and keeps the ending. */
function cleanDroppedName(name: string): string {
  const [ending = '.fit'] = /\.(?:fit|fit\.gz|zip)~?$/i.exec(name) ?? []
  const stem = cleanFitName(`${name.slice(0, -ending.length)}.fit`).slice(0, -'.fit'.length)
  return `${isIgnored(stem) || unfinishedBy(stem) ? `activity ${stem}` : stem}${ending.toLowerCase()}`
}

/** The names that dropFile gives to arriving files. */
const ARRIVED = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.arrived(?:\.[0-9a-f-]{36}\.part)?$/

/** Removes arriving files that killed processes left; other files there are not musette's. Never throws. */
export async function removeArriving({ log }: { log: Logger }, dir: string): Promise<void> {
  try {
    await closeAfter(await openBelow(dir, [ARRIVING]), async (folder) => {
      for (const { name } of await folder.list()) {
        const stats = ARRIVED.test(String(name)) ? await folder.lstat(name).catch(orMissing) : undefined
        if (!stats?.isFile() || Date.now() - stats.mtimeMs <= LEFT_AFTER_MS) continue
        await folder.unlink(name).catch(orMissing)
        const file = join(dir, ARRIVING, String(name))
        log.info({ file, bytes: stats.size }, 'removed a file that did not arrive completely')
      }
    })
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') log.warn(`drop folder: files from the page wait: ${errorLine(error)}`)
  }
}
