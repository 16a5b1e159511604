import { readdirSync } from 'node:fs'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import type {
  DroppedFile,
  ImportFile,
  ImportResult,
  OpenFile,
} from '../../../src/core/dropfolder/claim-file.ts'
import { type DropFolderOptions, openDropFolder } from '../../../src/core/dropfolder/drop-folder.ts'
import type { FolderReport } from '../../../src/core/dropfolder/folder-report.ts'
import type { ReadWriter } from '../../../src/core/dropfolder/open-writers.ts'
import { isDroppable } from '../../../src/core/fit/fit-names.ts'
import { readFit } from '../../../src/core/fit/read-fit.ts'
import { unpackDropped } from '../../../src/core/fit/unpack.ts'
import { type DatabaseIdentity, OWNER_FILE } from '../../../src/kit/folders/folder-owner.ts'
import { IDENTITY } from '../../kit/identity.ts'
import { makeTestLog } from '../../kit/log.ts'
import { makeRide } from '../../kit/ride.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

const RIDE = makeRide()

/** Judges files like the daemon but sends nothing: whole files are `done`, refused files `failed`, others `wait`. */
const judgeFile: ImportFile = async (file, open) => {
  const unpacked = await unpackDropped(file.name, await open())
  if (unpacked.verdict === 'refused') return { action: 'failed', text: unpacked.reason }
  if (unpacked.verdict === 'unready') return { action: 'wait', reason: unpacked.reason }
  for (const each of unpacked.files) {
    const read = await readFit(each, { settled: false })
    const verdict = 'fault' in read ? read.fault : read.verdict
    if (verdict.verdict === 'refused') return { action: 'failed', text: verdict.reason }
    if (verdict.verdict === 'unready') return { action: 'wait', reason: verdict.reason }
  }
  return { action: 'done' }
}

/** Reads a whole open file, and checks that it is still the file that was found. */
export async function readOpen(open: () => Promise<OpenFile>): Promise<Buffer> {
  const file = await open()
  const chunks: Uint8Array[] = []
  for await (const chunk of file.open() as AsyncIterable<Uint8Array>) chunks.push(chunk)
  await file.check()
  return Buffer.concat(chunks)
}

export type Rig = Awaited<ReturnType<typeof openRig>>

/**
 * Opens a drop folder in a temporary folder. Its clock is a minute ahead of the disk's, so every file is at rest. With `restMs` the folder is
 * watched; otherwise a test asks for each scan. Returns after the first two scans. `imported` lists each file passed to `importFile`, with the
 * result. `report` and `problem` return what was shown last. Closes the folder after the test.
 */
export async function openRig(
  options: Partial<DropFolderOptions> & {
    importFile?: ImportFile
    readWriter?: ReadWriter
    accounts?: () => Promise<string[]>
    database?: DatabaseIdentity
    before?: (dir: string) => Promise<unknown>
  } = {},
) {
  const { importFile = judgeFile, accounts = async () => ['default'], before, ...given } = options
  const { database = IDENTITY, readWriter = async () => undefined } = options
  const temp = await openTempDir('drop')
  const { dir = temp.path } = options
  await before?.(dir)
  const clock = { aheadMs: 60_000 }
  const imported: Array<DroppedFile & { after?: ImportResult['action'] }> = []
  const log = makeTestLog()
  let report: FolderReport = []
  const folder = await openDropFolder(
    {
      log: log.log,
      now: () => new Date(Date.now() + clock.aheadMs),
      owner: async () => ({ database, accounts: await accounts() }),
      readWriter,
      async importFile(file, open, signal) {
        const entry: (typeof imported)[number] = { ...file }
        imported.push(entry)
        const after = await importFile(file, open, signal)
        entry.after = after.action
        return after
      },
      async show(shown) {
        report = shown
      },
    },
    {
      polling: options.restMs === undefined,
      afterUpload: 'move',
      isDroppable,
      scanEveryMs: 3_600_000,
      ...given,
      dir,
    },
  )
  onTestFinished(async () => {
    await folder.close()
    await temp.close()
  })
  await folder.scan()
  await folder.scan()
  return {
    dir,
    folder,
    log,
    warnings: () => log.lines.filter(({ level }) => level === 'warn').map(({ msg }) => msg),
    imported,
    report: () => report,
    problem: () => report.find(({ relativePath }) => relativePath === dir)?.reason,
    clock,
    /** drops a file, then scans */
    async drop(name: string | Buffer, bytes: Uint8Array = RIDE) {
      await drop(dir, name, bytes)
      await folder.scan()
    },
    /** sets the clock ahead, then scans */
    async scanAfter(ms: number) {
      clock.aheadMs += ms
      await folder.scan()
    },
  }
}

/** Writes a file as a good program does: under a hidden name, then renamed. */
export async function drop(dir: string, name: string | Buffer, bytes: Uint8Array): Promise<void> {
  const path = typeof name === 'string' ? join(dir, name) : Buffer.concat([Buffer.from(`${dir}/`), name])
  if (typeof name === 'string') await mkdir(dirname(join(dir, name)), { recursive: true })
  const hidden = join(dir, `.${Math.random()}`)
  await writeFile(hidden, bytes)
  await rename(hidden, path)
}

/** Lists every file and folder below `dir` as sorted relative paths; folders end in a slash. */
export function listAll(dir: string): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter(({ name }) => name !== OWNER_FILE)
    .map(
      (entry) =>
        `${join(entry.parentPath, entry.name).slice(dir.length + 1)}${entry.isDirectory() ? '/' : ''}`,
    )
    .sort()
}
