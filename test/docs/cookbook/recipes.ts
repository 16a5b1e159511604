/** One question of the cookbook: its heading, its query, and the answer as it stands there. */
export type Recipe = { question: string; sql: string; answer: string; reading: string }

/** A section of the document, from its heading on: one query, one answer, and how to read it. */
const SECTION = /^## \d+\. (.+)\n\n```sql\n([\s\S]+?)```\n\n```text\n([\s\S]*?)```\n\n([\s\S]*)$/

/** Reads the questions out of the document; throws at a section that is not a heading, a query, an answer and a reading. */
export function parseRecipes(markdown: string): Recipe[] {
  return sectionsOf(markdown).map((section) => {
    const [, question, sql, answer, reading] = SECTION.exec(section) ?? []
    if (question === undefined || sql === undefined || answer === undefined || reading === undefined) {
      throw new Error(`not a heading, a query, an answer and a line on how to read it:\n${section}`)
    }
    return { question, sql: sql.trimEnd(), answer: answer.trimEnd(), reading: reading.trim() }
  })
}

/** Writes the questions of the code with their answers, in order, in the place of those of the document; keeps the rest. */
export function withRecipes(
  markdown: string,
  recipes: ReadonlyArray<Pick<Recipe, 'question' | 'sql' | 'reading'>>,
  answers: readonly string[],
): string {
  const [questions = '', files] = markdown.split(FILES)
  const [top = ''] = questions.split(/^(?=## )/m)
  const sections = recipes.map(
    ({ question, sql, reading }, index) =>
      `## ${index + 1}. ${question}\n\n\`\`\`sql\n${sql}\n\`\`\`\n\n\`\`\`text\n${answers[index] ?? ''}\n\`\`\`\n\n${reading}\n\n`,
  )
  const written = top + sections.join('')
  return files === undefined ? `${written.trimEnd()}\n` : `${written}# The same from files${files}`
}

/** A query of DuckDB that gives the answer of the question with that number. */
type FileRecipe = { number: number; sql: string }

/** Reads the part about files: the statements to begin with, and the queries of DuckDB. */
export function parseFileRecipes(markdown: string): { setup: string; recipes: FileRecipe[] } {
  const [, part = ''] = markdown.split(FILES)
  const [, setup = ''] = /^```sql\n([\s\S]+?)```/m.exec(part) ?? []
  const found = part.matchAll(/^### (\d+)\. [^\n]+\n[^`]*```sql\n([\s\S]+?)```/gm)
  return { setup, recipes: [...found].map(([, number, sql = '']) => ({ number: Number(number), sql })) }
}

/** The heading of the part about files, which has no answers of its own. */
const FILES = /^# The same from files$/m

function sectionsOf(markdown: string): string[] {
  const [questions = ''] = markdown.split(FILES)
  return questions.split(/^(?=## )/m).filter((part) => part.startsWith('## '))
}
