import { ACTIVITIES } from './activity-questions.ts'
import { FITNESS } from './fitness-questions.ts'
import { RECORDED } from './recorded-questions.ts'

/** One question of the cookbook. */
export type Recipe = {
  /** the name of the question's prompt */
  name: string
  question: string
  /** one statement; every name is qualified with its schema, so that the statement works in any program */
  sql: string
  /** how to read the answer */
  reading: string
}

/** The questions of docs/cookbook.md, in order; `npm run docs` writes them there, numbered, with their answers. */
export const COOKBOOK: readonly Recipe[] = [...FITNESS, ...ACTIVITIES, ...RECORDED].map((recipe) => ({
  ...recipe,
  sql: withoutIndent(recipe.sql),
  reading: withoutIndent(recipe.reading),
}))

// Removes the indentation that the texts have because the code around them is indented.
function withoutIndent(text: string): string {
  const lines = text.replace(/^\n/, '').split('\n')
  const indent = /^ */.exec(lines[0] ?? '')?.[0].length ?? 0
  return lines.map((line) => line.slice(indent)).join('\n')
}
