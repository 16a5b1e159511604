import type { Breaking } from '../promises.ts'

/** Breaks what docs/guarantees.md promises under "The database". */
export const DATABASE: readonly Breaking[] = [
  {
    promise: 'A backup is the whole database at one moment',
    in: 'src/store/store.ts',
    from: "const BEGIN_READ = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'",
    to: "const BEGIN_READ = 'BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY'",
  },
]
