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

/** Puts new answers in the place of the old ones, one for each question in order. */
export function withAnswers(markdown: string, answers: readonly string[]): string {
  const rest = [...answers]
  return markdown.replace(/```text\n[\s\S]*?```/g, () => `\`\`\`text\n${rest.shift() ?? ''}\n\`\`\``)
}

/** A query of DuckDB that gives the answer of the question with that number. */
export type FileRecipe = { number: number; sql: string }

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
