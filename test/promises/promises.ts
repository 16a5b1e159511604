import { readFileSync } from 'node:fs'
import { readTop } from '../container/dockerfile.ts'

/** A row of a page: the promise, and the test that holds it, by its file and its title as the file has it. */
export type Promised = { page: string; promise: string; file: string; title: string }

/** How to break one promise: in one file, a part of one line is replaced, after which the test of the promise must fail. */
export type Break = Promised & { in: string; from: string; to: string }

/** The pages whose rows name a test each. */
const PAGES = ['docs/guarantees.md', 'docs/security.md']

/** A row: the promise, the test file, and the title of a test in it. */
export const ROW = /^\| (.*?) \| (?:.* \| )?`(test\/[\w./-]+\.ts)`: ([^|]+) \|$/gm
const BREAK = /^(.+?) \| (\S+) \| (.+) ⇒ (.*)$/

export function readPromises(): Promised[] {
  return PAGES.flatMap((page) =>
    [...readTop(page).matchAll(ROW)].map(([, promise = '', file = '', title = '']) => ({
      page,
      promise,
      file,
      title: title.trim(),
    })),
  )
}

/**
 * Reads breaks.txt: a line for each way to break a promise, `promise | file | text ⇒ other text`. The promise is the first cell of its
 * row, or its beginning and ` …`; the text is in the file once. Throws the line that fits no row, or several.
 */
export function readBreaks(): Break[] {
  const rows = readPromises()
  const lines = readFileSync(new URL('breaks.txt', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
  return lines.map((line) => {
    const [, key = '', path = '', from = '', to = ''] = BREAK.exec(line) ?? []
    const beginning = key.endsWith(' …') ? key.slice(0, -1) : undefined
    const meant = rows.filter(({ promise }) => (beginning ? promise.startsWith(beginning) : promise === key))
    const [promised] = meant
    if (!promised || meant.length > 1) throw new Error(`${meant.length} rows of the pages fit: ${line}`)
    return { ...promised, in: path, from, to }
  })
}

export function countParts(text: string, part: string): number {
  return text.split(part).length - 1
}
