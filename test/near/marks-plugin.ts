import { fileURLToPath } from 'node:url'
import { withMarks } from './declarations.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Marks the functions of src/ that tests run in their own process. */
export const marksPlugin = {
  name: 'marks of functions that ran',
  enforce: 'pre' as const,
  transform(code: string, id: string) {
    if (!id.startsWith(`${root}src/`) || !id.endsWith('.ts')) return
    return { code: withMarks(id.slice(root.length), code), map: null }
  },
}
