import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findBinary } from './binaries.ts'
import { canMount } from './small-disk.ts'
import { openTempDir, type TempDir } from './temp-dir.ts'

const MIB = 1_024 * 1_024

/** Tells whether this machine can mount a disk on which two names that differ in case only are one file. */
export function canFold(): boolean {
  return canMount() && (foldsExt4() || foldsExfat())
}

const foldsExt4 = () => existsSync('/sys/fs/ext4/features/casefold') && Boolean(findBinary(['mkfs.ext4']))
const foldsExfat = () =>
  existsSync('/dev/fuse') && ['mkfs.exfat', 'mount.exfat-fuse'].every((name) => findBinary([name]))

/** Mounts a disk that ignores the case of names (exFAT, else ext4 with casefold); `path` is an empty folder on it. */
export async function openFoldedDisk(): Promise<TempDir> {
  const temp = await openTempDir('folded')
  const [image, mounted, path] = ['image', 'mounted', 'mounted/disk'].map((name) =>
    join(temp.path, name),
  ) as [string, string, string]
  await writeFile(image, '')
  await truncate(image, 16 * MIB)
  await mkdir(mounted)
  const run = (program: string, ...args: string[]) => execFileSync(program, args, { stdio: 'pipe' })
  if (foldsExfat()) run('mkfs.exfat', image)
  else run('mkfs.ext4', '-q', '-O', 'casefold', image)
  const device = String(run('losetup', '--find', '--show', image)).trim()
  const detach = () => run('losetup', '--detach', device)
  try {
    if (foldsExfat()) run('mount.exfat-fuse', device, mounted)
    else run('mount', device, mounted)
  } catch (error) {
    detach()
    throw error
  }
  await mkdir(path)
  if (!foldsExfat()) run('chattr', '+F', path)
  return {
    path,
    async close() {
      run('umount', mounted)
      detach()
      await temp.close()
    },
  }
}
