import { readlinkSync } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { SECOND } from '../../kit/time.ts'
import { keyOf } from './walk-folder.ts'

/** The bits in the flags of an open file that allow writing: O_WRONLY and O_RDWR. */
const WRITE_BITS = 0o3
/** The open files of all processes are listed once for this long: a file that is asked for has been at rest for longer. */
const LISTED_FOR_MS = 1 * SECOND

/** A file by its name, and what tells it apart from others of that name. */
type Known = { name: Buffer; dev: number; ino: number }

export type ReadWriter = (file: Known) => Promise<string | undefined>

/**
 * Makes the function that finds the program that has a file open for writing, as `name (process 123)`. Only Linux tells, and only
 * of processes of the same user and container; undefined where nothing is known. Never throws.
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
        // The link alone is read: to ask for the file would wait for a share that does not answer.
        open.push({ pid, fd, name: basename(keyOf(readlinkSync(`/proc/${pid}/fd/${fd}`, 'buffer'))) })
      } catch {
        // It was closed meanwhile.
      }
    }
  }
  return open
}
