import { execFileSync } from 'node:child_process'
import { statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { errorCode } from '../../src/kit/errors.ts'
import { openForTest } from './open-for.ts'
import { openTempDir } from './temp-dir.ts'

/** Mounts a small disk in memory until the end of the test, and returns its folder. `files`: maximum number of files, 0 for no limit. */
export async function openSmallDisk(megabytes: number, files = 0): Promise<string> {
  const folder = await openForTest(openTempDir('disk'))
  execFileSync('mount', [
    '-t',
    'tmpfs',
    '-o',
    `size=${megabytes}m,mode=755,nr_inodes=${files}`,
    'tmpfs',
    folder.path,
  ])
  onTestFinished(() => void execFileSync('umount', [folder.path]))
  return folder.path
}

/** Fills a disk, on which others may write meanwhile, with a file but for some bytes, and returns the path of that file. */
export async function fillDisk(folder: string, leftBytes = 0, name = '.filler'): Promise<string> {
  const path = join(folder, name)
  const { bavail, bsize } = await statfs(folder)
  await writeFile(path, Buffer.alloc(bavail * bsize - leftBytes)).catch((error: unknown) => {
    if (errorCode(error) !== 'ENOSPC') throw error
  })
  return path
}

/** Reports whether this process may mount a disk, which needs root and Linux. */
export function canMount(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false
  try {
    execFileSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
