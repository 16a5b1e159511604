import { distPath, runNode } from './processes.ts'

const NOBODY = 65_534

/** What stands before a command so that a user without rights runs it. */
const WAYS = [
  ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'],
  // For a checkout that only root can enter: here root is seen, and sees itself, as user 1000.
  ['unshare', '--user', '--map-user=1000', '--map-group=1000'],
]

/** Does work in this process with the rights of a user who owns nothing; of one of ours where this is no root. */
export async function asOrdinaryUser<T>(work: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return work()
  process.seteuid?.(NOBODY)
  try {
    return await work()
  } finally {
    process.seteuid?.(0)
  }
}

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
