import { WITHIN_ACTIVITY } from './activity-questions.ts'
import { FITNESS } from './fitness-questions.ts'
import { HISTORY } from './history-questions.ts'
import { INTENSITY } from './intensity-questions.ts'
import { MIRROR } from './mirror-questions.ts'
import { MORE } from './more-questions.ts'
import type { Recipe } from './recipe.ts'
import { RECORDED } from './recorded-questions.ts'

/** The questions of docs/cookbook.md in their order; `npm run docs` writes them there with their answers. */
export const COOKBOOK: readonly Recipe[] = [
  ...FITNESS,
  ...INTENSITY,
  ...HISTORY,
  ...MIRROR,
  ...WITHIN_ACTIVITY,
  ...MORE,
  ...RECORDED,
]
  .map((recipe) => ({ ...recipe, sql: withoutIndent(recipe.sql), reading: withoutIndent(recipe.reading) }))
  .sort((one, other) => one.number - other.number)

// The texts are indented as the code around them.
function withoutIndent(text: string): string {
  const lines = text.replace(/^\n/, '').split('\n')
  const indent = /^ */.exec(lines[0] ?? '')?.[0].length ?? 0
  return lines.map((line) => line.slice(indent)).join('\n')
}
