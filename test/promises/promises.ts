import { readTop } from '../container/dockerfile.ts'

/** A line of a page: the promise, and the test that holds it, by its file and its title as the file has it. */
export type Promised = { page: string; promise: string; file: string; title: string }

/** How to break one promise: in one file, one line is replaced, after which the test of the promise must fail. */
export type Breaking = {
  /** The first cell of the promise's line. */
  promise: string
  in: string
  /** A part of one line, which is in the file once. */
  from: string
  to: string
}

/** The pages whose lines name a test each. */
export const PAGES = ['docs/guarantees.md', 'docs/security.md'] as const

const LINE = /^\| (.*?) \| (?:.* \| )?`(test\/[\w./-]+\.ts)`: ([^|]+) \|$/gm

/** Reads the lines of these pages that name a test. */
export function readPromises(): Promised[] {
  return PAGES.flatMap((page) =>
    [...readTop(page).matchAll(LINE)].map(([, promise = '', file = '', title = '']) => ({
      page,
      promise,
      file,
      title: title.trim(),
    })),
  )
}

/** Counts how often a text has a part. */
export function countParts(text: string, part: string): number {
  return text.split(part).length - 1
}
