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
 * whose bytes end early, leaves nothing behind. A folder that is a link refuses every file, with the command that removes the link. Throws
 * ConfigError `no_account` and `folder_of_another`, the error of `bytes`.
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
    // Another database would send the file for its own account of this name.
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

/** Takes the bytes into one folder, judges them, and moves the whole file into the other. */
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
    // After the move neither name is left.
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
    // A file that is cut will not become whole in the folder: the browser has sent all of it.
    else if (fit.cut && fit.verdict.verdict === 'refused') reason ||= fit.verdict.reason
    else contents.push({ fileName: fit.name, contentId: fit.contentId })
  }
  // The files of an archive have separate results: failed/ names those that cannot be read.
  return contents.length > 0 ? { accepted: true, fileName: name, contents } : { accepted: false, reason }
}

/** Makes a name that the folder accepts and scans, with its own ending. */
function cleanDroppedName(name: string): string {
  const [ending = '.fit'] = /\.(?:fit|fit\.gz|zip)~?$/i.exec(name) ?? []
  const stem = cleanFitName(`${name.slice(0, -ending.length)}.fit`).slice(0, -'.fit'.length)
  return `${isIgnored(stem) || unfinishedBy(stem) ? `activity ${stem}` : stem}${ending.toLowerCase()}`
}

/** The names that dropFile gives to files while they arrive. */
const ARRIVED = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.arrived(?:\.[0-9a-f-]{36}\.part)?$/

/** Removes what killed processes left of files that were arriving; other files there are not ours. Never throws. */
export async function removeArriving({ log }: { log: Logger }, dir: string): Promise<void> {
  try {
    await closeAfter(await openBelow(dir, [ARRIVING]), async (folder) => {
      for (const { name } of await folder.list()) {
        const stats = ARRIVED.test(String(name)) ? await folder.lstat(name).catch(orMissing) : undefined
        if (!stats?.isFile() || Date.now() - stats.mtimeMs <= LEFT_AFTER_MS) continue
        await folder.unlink(name).catch(orMissing)
        const file = join(dir, ARRIVING, String(name))
        log.info({ file, bytes: stats.size }, 'removed a file that did not arrive whole')
      }
    })
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') log.warn(`drop folder: files from the page wait: ${errorLine(error)}`)
  }
}
