import { readFile, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { resolve } from 'node:path'

/**
 * Reads what tells a folder from all others: the running system, and the folder's device and number in it. Containers of
 * one machine see one folder as the same, whatever they call it. Two machines never do, not even on a network share: each
 * watches what it sees, because a folder taken for another would be watched by nobody. Where it is not there yet, its path
 * stands for it.
 */
export async function readFolderId(dir: string): Promise<string> {
  // Another number at every start of the system; where there is none, the machine's name must do.
  const system = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => hostname())
  const folder = await stat(dir, { bigint: true }).catch(() => undefined)
  return `${system.trim()} ${folder ? `${folder.dev}:${folder.ino}` : resolve(dir)}`
}
