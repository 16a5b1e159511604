import { readdir, readFile, readlink } from 'node:fs/promises'
import { basename } from 'node:path'
import { readProcess } from '../../embedded/processes.ts'
import { PROGRAM_FOLDER } from '../../kit/program-folder.ts'

/** A process that listens on a port. */
export type Listener = { pid: number; name: string; isMusette: boolean; isStopped: boolean }

const LISTENS = '0A'

/** Reads which process listens on a TCP port, on Linux and as far as this user may look; undefined when it cannot be seen. */
export async function readListener(port: number): Promise<Listener | undefined> {
  const inodes = await readInodes(port)
  if (inodes.length === 0) return undefined
  for (const name of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(name) || !(await hasSocket(name, inodes))) continue
    const words = (await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')).split('\0')
    const isMusette = words.some(
      (word) => word.startsWith(PROGRAM_FOLDER) || /^musette\b/.test(basename(word)),
    )
    const isStopped = (await readProcess(Number(name)))?.state === 'T'
    return { pid: Number(name), name: basename(words[0] ?? ''), isMusette, isStopped }
  }
  return undefined
}

/** Reads the sockets that listen on a port, as /proc names them in the folder of their process. */
async function readInodes(port: number): Promise<string[]> {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8').catch(() => '')),
  )
  const rows = tables.flatMap((table) => table.split('\n').map((line) => line.trim().split(/\s+/)))
  return rows.flatMap(([, at, , state, , , , , , inode]) =>
    at?.endsWith(local) && state === LISTENS && inode !== undefined ? [`socket:[${inode}]`] : [],
  )
}

async function hasSocket(pid: string, inodes: readonly string[]): Promise<boolean> {
  const folder = `/proc/${pid}/fd`
  // It has ended, or belongs to another user.
  for (const name of await readdir(folder).catch(() => []))
    if (inodes.includes(await readlink(`${folder}/${name}`).catch(() => ''))) return true
  return false
}
