import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findBinary } from './binaries.ts'
import { type DiskKind, openDisk, whyNoDisk } from './disks.ts'
import { canMount } from './small-disk.ts'
import { openTempDir, type TempDir } from './temp-dir.ts'

const MIB = 1_024 * 1_024
const EXFAT: DiskKind = 'exfat-fuse, which has no links'

/** Reports whether this machine can mount a disk that ignores the case of file names. */
export function canFold(): boolean {
  const foldsExt4 = existsSync('/sys/fs/ext4/features/casefold') && Boolean(findBinary(['mkfs.ext4']))
  return canMount() && (foldsExt4 || whyNoDisk(EXFAT) === undefined)
}

/** Mounts a disk that ignores the case of names (exFAT, else ext4 with casefold); `path` is an empty folder on it. */
export async function openFoldedDisk(): Promise<TempDir> {
  if (whyNoDisk(EXFAT) === undefined) return openDisk(EXFAT)
  const temp = await openTempDir('folded')
  const [image, mounted, path] = ['image', 'mounted', 'mounted/disk'].map((name) =>
    join(temp.path, name),
  ) as [string, string, string]
  await writeFile(image, '')
  await truncate(image, 16 * MIB)
  await mkdir(mounted)
  const run = (program: string, ...args: string[]) => execFileSync(program, args, { stdio: 'pipe' })
  run('mkfs.ext4', '-q', '-O', 'casefold', image)
  run('mount', '-o', 'loop', image, mounted)
  await mkdir(path)
  run('chattr', '+F', path)
  return {
    path,
    async close() {
      run('umount', mounted)
      await temp.close()
    },
  }
}
