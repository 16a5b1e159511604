import { tableOf } from '../../../src/cli/sql-formats.ts'
import { collectResults, openQueries } from '../../../src/query/raw-query.ts'

/**
 * Asks the questions one after the other and writes each answer as `musette sql` prints it. Throws at a text that is not
 * exactly one statement.
 */
export async function answerAll(databaseUrl: string, questions: readonly string[]): Promise<string[]> {
  const queries = await openQueries({ connectionString: databaseUrl, write: false })
  try {
    const answers: string[] = []
    for (const sql of questions) {
      const [result, ...more] = await collectResults(queries, sql)
      if (!result || more.length > 0) throw new Error(`one statement is wanted: ${sql}`)
      answers.push(tableOf(result))
    }
    return answers
  } finally {
    await queries.close()
  }
}
