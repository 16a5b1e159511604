import { distPath, runNode } from './processes.ts'

/** What stands before a command so that a user without rights runs it. */
const WAYS = [
  ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'],
  // For a checkout that only root can enter: here root is seen, and sees itself, as user 1000.
  ['unshare', '--user', '--map-user=1000', '--map-group=1000'],
]

/** Finds the prefix under which an ordinary user runs our compiled code; empty when we are one. */
export async function findOrdinaryUser(): Promise<readonly string[]> {
  if (process.getuid?.() !== 0) return []
  for (const prefix of WAYS) {
    const { code } = await runNode(['--check', distPath('main.js')], { prefix }).catch(() => ({
      code: 1,
    }))
    if (code === 0) return prefix
  }
  throw new Error('neither setpriv nor unshare gives an ordinary user here')
}
