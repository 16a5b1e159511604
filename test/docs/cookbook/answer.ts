import { collectResults, openQueries, type QueryResult } from '../../../src/features/sql/raw-query.ts'
import { tablePrinter } from '../../../src/features/sql/sql-formats.ts'

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

/** Returns a whole result as a table in full width, without a line break at its end. */
export function tableOf({ fields, rows, command }: QueryResult): string {
  const printer = tablePrinter({})
  return (printer.begin(fields) + printer.rows(rows) + printer.end(command)).trimEnd()
}
