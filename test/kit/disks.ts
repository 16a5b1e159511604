import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findBinary } from './binaries.ts'
import { canMount } from './small-disk.ts'
import { openTempDir, type TempDir } from './temp-dir.ts'

const SFTP_SERVER = '/usr/lib/openssh/sftp-server'
/** Kinds of file systems, and the programs that mount them. */
const PROGRAMS = {
  'a local disk': [],
  'sshfs, whose links have inodes of their own': ['sshfs', SFTP_SERVER],
  'mergerfs, whose links have inodes of their own': ['mergerfs'],
  'exfat-fuse, which has no links': ['mkfs.exfat', 'mount.exfat-fuse'],
} satisfies Record<string, readonly string[]>

export type DiskKind = keyof typeof PROGRAMS

export const DISKS = Object.keys(PROGRAMS) as DiskKind[]

const MIB = 1_024 * 1_024

/** Returns why a disk of this kind cannot be mounted here; undefined when it can. */
export function whyNoDisk(kind: DiskKind): string | undefined {
  const programs: readonly string[] = PROGRAMS[kind]
  if (programs.length === 0) return undefined
  if (!canMount()) return 'only root may mount a disk'
  if (!existsSync('/dev/fuse')) return 'this machine has no /dev/fuse'
  const missing = programs.filter((name) => !(name.startsWith('/') ? existsSync(name) : findBinary([name])))
  return missing.length > 0
    ? `${missing.join(', ')} not installed; run: node config/setup.mjs services`
    : undefined
}

/** Mounts a disk with the defaults of its program; `path` is an empty folder on it. */
export async function openDisk(kind: DiskKind): Promise<TempDir> {
  const temp = await openTempDir('disk')
  const at = (name: string) => join(temp.path, name)
  for (const name of ['mounted', 'one', 'other']) await mkdir(at(name))
  const unmount = await mount(kind, at)
  const path = at('mounted/disk')
  await mkdir(path)
  return {
    path,
    async close() {
      unmount()
      await temp.close()
    },
  }
}

async function mount(kind: DiskKind, at: (name: string) => string): Promise<() => void> {
  const run = (program: string, ...args: string[]) => execFileSync(program, args, { stdio: 'pipe' })
  // A test that fails may leave a file open.
  const unmount = () => void run('umount', '--lazy', at('mounted'))
  switch (kind) {
    case 'a local disk':
      return () => undefined
    case 'sshfs, whose links have inodes of their own':
      // A server without a network in between.
      await writeFile(at('ssh'), `#!/bin/sh\nexec ${SFTP_SERVER}\n`, { mode: 0o755 })
      run('sshfs', '-o', `ssh_command=${at('ssh')}`, `host:${at('one')}`, at('mounted'))
      return unmount
    case 'mergerfs, whose links have inodes of their own':
      run('mergerfs', `${at('one')}:${at('other')}`, at('mounted'))
      return unmount
    case 'exfat-fuse, which has no links': {
      await writeFile(at('image'), '')
      await truncate(at('image'), 16 * MIB)
      run('mkfs.exfat', at('image'))
      const device = String(run('losetup', '--find', '--show', at('image'))).trim()
      const detach = () => void run('losetup', '--detach', device)
      try {
        run('mount.exfat-fuse', device, at('mounted'))
      } catch (error) {
        detach()
        throw error
      }
      return () => {
        unmount()
        detach()
      }
    }
    default: {
      const exhaustive: never = kind
      return exhaustive
    }
  }
}
