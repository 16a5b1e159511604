import { distPath, runNode } from './processes.ts'

const NOBODY = 65_534

/** Command prefixes with which a user without rights runs a command. */
const WAYS = [
  ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'],
  // For a checkout that only root may enter: root appears as user 1000.
  ['unshare', '--user', '--map-user=1000', '--map-group=1000'],
]

/** Runs work in this process with the rights of a user who owns nothing, or, if this process is not root, with its own rights. */
export async function asOrdinaryUser<T>(work: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return work()
  process.seteuid?.(NOBODY)
  try {
    return await work()
  } finally {
    process.seteuid?.(0)
  }
}

/** Finds the prefix with which an ordinary user runs our built code; empty if this process has no root rights. */
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
