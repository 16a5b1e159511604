import { afterAll } from 'vitest'
import { takeRan } from './ran.ts'

// Runs before each test file; a process runs several, one after the other.
takeRan()
// biome-ignore lint/correctness/noEmptyPattern: vitest reads the pattern
afterAll(({}, file) => {
  file.meta.ran = takeRan()
})
