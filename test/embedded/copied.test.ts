import { execFile } from 'node:child_process'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { followCopy } from '../../src/embedded/copied.ts'
import { openForEach } from '../kit/open-for.ts'
import { openTempDir } from '../kit/temp-dir.ts'

const folder = openForEach(() => openTempDir('copied'))
const place = (name: string) => join(folder.path, name)
const file = () => place('first/postgres.origin')

async function isCopy(name: string): Promise<boolean> {
  let isCopied = false
  await followCopy(place(name), async () => {
    isCopied = true
  })
  return isCopied
}

/** Changes what the file says; the file's own inode and creation time stay. */
async function say(changed: Record<string, string>): Promise<void> {
  await writeFile(file(), JSON.stringify({ ...JSON.parse(await readFile(file(), 'utf8')), ...changed }))
}

const CASES: ReadonlyArray<[what: string, isCopied: boolean, change: () => Promise<unknown>]> = [
  ['opened again', false, async () => undefined],
  ['whose file was touched', false, () => promisify(execFile)('touch', [file()])],
  [
    'moved on its disk',
    false,
    () => rename(place('first'), place('moved')).then(() => rename(place('moved'), place('first'))),
  ],
  ['with only another inode, as after a mount by FUSE', false, () => say({ inode: '1' })],
  ['with only another creation time', false, () => say({ born: '1' })],
  ['on a disk without creation times', false, () => say({ inode: '1', born: '0' })],
  ['whose file was lost', false, () => promisify(execFile)('rm', [file()])],
  ['whose file a crash cut', false, () => writeFile(file(), '{"ino')],
  ['with the inode and creation time of another file', true, () => say({ inode: '1', born: '1' })],
  [
    'copied with its times',
    true,
    () =>
      promisify(execFile)('sh', [
        '-c',
        'sleep 0.02; cp -a "$1" "$2"; rm -r "$1"; mv "$2" "$1"',
        'sh',
        place('first'),
        place('copy'),
      ]),
  ],
]

it.each(CASES)('a data directory %s counts as a copy: %s', async (_what, isCopied, change) => {
  await mkdir(place('first'))
  expect(await isCopy('first')).toBe(false)
  await change()
  expect(await isCopy('first')).toBe(isCopied)
  expect(await isCopy('first')).toBe(false)
})
