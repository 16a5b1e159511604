import { readlinkSync } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { SECOND } from '../../kit/time.ts'
import { keyOf } from './walk-folder.ts'

/** Bits of an open file's flags that allow writing: O_WRONLY and O_RDWR. */
const WRITE_BITS = 0o3
/** How long a list of all processes' open files is reused. A checked file has been at rest for longer, so the list is recent enough. */
const LISTED_FOR_MS = 1 * SECOND

/** A file's name, with the device and inode that identify the file. */
type Known = { name: Buffer; dev: number; ino: number }

export type ReadWriter = (file: Known) => Promise<string | undefined>

/**
 * Returns a function that finds the program that has a file open for writing, as `name (process 123)`. Works only on Linux, for processes of
 * the same user and container; returns undefined if nothing is known. Never throws.
 */
export function makeWriterReader(): ReadWriter {
  let open: ReturnType<typeof readOpenFiles> = Promise.resolve([])
  let listedAt = Number.NEGATIVE_INFINITY
  return async (own) => {
    if (performance.now() - listedAt >= LISTED_FOR_MS) {
      listedAt = performance.now()
      open = readOpenFiles()
    }
    for (const { pid, fd, name } of await open) {
      if (name !== keyOf(own.name)) continue
      const reached = await stat(`/proc/${pid}/fd/${fd}`).catch(() => undefined)
      const info = await readFile(`/proc/${pid}/fdinfo/${fd}`, 'utf8').catch(() => '')
      const flags = Number.parseInt(/^flags:\s*(\d+)/m.exec(info)?.[1] ?? '0', 8)
      if (reached?.ino !== own.ino || reached.dev !== own.dev || (flags & WRITE_BITS) === 0) continue
      const program = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => 'a program')
      return `${program.trim()} (process ${pid})`
    }
    return undefined
  }
}

async function readOpenFiles(): Promise<Array<{ pid: string; fd: string; name: string }>> {
  const open: Awaited<ReturnType<typeof readOpenFiles>> = []
  for (const pid of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(pid)) continue
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      try {
        // Reads only the link: stat would block on a network share that does not answer.
        open.push({ pid, fd, name: basename(keyOf(readlinkSync(`/proc/${pid}/fd/${fd}`, 'buffer'))) })
      } catch {
        // The file was closed meanwhile.
      }
    }
  }
  return open
}
