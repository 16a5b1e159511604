import type { Breaking } from '../promises.ts'

/** Breaks what docs/guarantees.md promises under "Logins last". */
export const LOGINS: readonly Breaking[] = [
  {
    promise: 'Processes that share a database refresh a token once',
    in: 'src/store/vault/use-locked.ts',
    from: 'await lockCredentials(tx, accountId)',
    to: 'if (accountId === 0) await lockCredentials(tx, accountId)',
  },
]
