import { readlinkSync } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { SECOND } from '../kit/time.ts'
import { keyOf, nameOf } from './walk-folder.ts'

/** The bits in the flags of an open file that allow writing: O_WRONLY and O_RDWR. */
const WRITE_BITS = 0o3
/** The open files of all processes are listed once for this long: a file that is asked for has been at rest for longer. */
const LISTED_FOR_MS = 1 * SECOND

export type ReadWriter = (path: Buffer) => Promise<string | undefined>

/**
 * Makes the function that finds the program that has a file open for writing, as `name (process 123)`. Only Linux tells, and only
 * of processes of the same user and container; undefined where nothing is known. Never throws.
 */
export function makeWriterReader(): ReadWriter {
  let links: Array<{ link: string; name: string }> = []
  let listedAt = Number.NEGATIVE_INFINITY
  return async (path) => {
    if (performance.now() - listedAt >= LISTED_FOR_MS) {
      listedAt = performance.now()
      links = await readOpenFiles()
    }
    const own = await stat(path).catch(() => undefined)
    for (const { link } of links.filter(({ name }) => name === keyOf(nameOf(path)))) {
      const reached = await stat(link).catch(() => undefined)
      const info = await readFile(link.replace('/fd/', '/fdinfo/'), 'utf8').catch(() => '')
      const flags = Number.parseInt(/^flags:\s*(\d+)/m.exec(info)?.[1] ?? '0', 8)
      if (reached?.ino !== own?.ino || reached?.dev !== own?.dev || (flags & WRITE_BITS) === 0) continue
      const [, , pid] = link.split('/')
      const program = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => 'a program')
      return `${program.trim()} (process ${pid})`
    }
    return undefined
  }
}

async function readOpenFiles(): Promise<Array<{ link: string; name: string }>> {
  const processes = await readdir('/proc').catch(() => [])
  const folders = processes.filter((name) => /^\d+$/.test(name)).map((pid) => `/proc/${pid}/fd`)
  const open: Array<{ link: string; name: string }> = []
  for (const folder of folders)
    for (const fd of await readdir(folder).catch(() => [])) {
      const link = `${folder}/${fd}`
      try {
        // The link alone is read: to ask for the file would wait for a share that does not answer.
        open.push({ link, name: keyOf(nameOf(readlinkSync(link, 'buffer'))) })
      } catch {
        // It was closed meanwhile.
      }
    }
  return open
}
