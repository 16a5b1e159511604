import type { Command } from 'commander'
import { migrateDatabase, openQueries } from '../daemon/database.ts'
import { holdDatabase, shareDatabaseUrl } from '../daemon/shared-database.ts'
import { ConfigError } from '../kit/errors.ts'
import type { Run } from './cli.ts'
import type { Context } from './context.ts'
import { readInput } from './input.ts'
import { printTable } from './table.ts'

/** Adds `migrate`, `sql` and `db-url`. */
export function addDatabaseVerbs(program: Command, run: Run): void {
  program
    .command('migrate')
    .description('bring the database to this version')
    .action(() =>
      run(
        async (context) => {
          await migrateDatabase(context.config, context.log, context.signal)
          context.print('the database is at this version')
          return undefined
        },
        { quiet: true },
      ),
    )
  program
    .command('sql [query]')
    .description('run SQL against the mirror; without a query it is read from standard input')
    .option('--json', 'one JSON array of rows for each statement')
    .option('--write', 'allow statements that change the database')
    .action((query: string | undefined, options: SqlOptions) =>
      run((context) => sql(context, query, options), { quiet: true }),
    )
  program
    .command('db-url')
    .description(
      'print the connection URL for other programs; the embedded Postgres stays until ten minutes after the last one',
    )
    .option('--with-password', 'with the password in it, for a program that reads no password file')
    .action((options: { withPassword?: boolean }) =>
      run(
        async (context) => {
          context.print(await shareDatabaseUrl(context, { ...options, signal: context.signal }))
          return undefined
        },
        { quiet: true },
      ),
    )
  program
    .command('db-hold', { hidden: true })
    .description('keep the embedded Postgres running while somebody is connected')
    .action(() =>
      run(
        async (context) => {
          // Whoever started it waits for this one message, or is gone.
          const report = (message: object) => void (process.connected && process.send?.(message))
          await holdDatabase({ ...context, report }, { signal: context.signal })
          return undefined
        },
        { quiet: true },
      ),
    )
}

type SqlOptions = { json?: boolean; write?: boolean }

async function sql(context: Context, query: string | undefined, options: SqlOptions): Promise<undefined> {
  const text = query ?? (process.stdin.isTTY ? undefined : await readInput(process.stdin, context.signal))
  if (text === undefined || text.trim() === '') {
    throw new ConfigError('no_query', 'no query; run: musette sql "select count(*) from training.activities"')
  }
  const queries = await openQueries(context.config, context.log, {
    write: options.write ?? false,
    signal: context.signal,
  })
  try {
    for (const result of await queries.query(text)) {
      if (options.json) context.print(JSON.stringify(result.rows))
      else if (result.columns.length === 0) context.print(result.command)
      else {
        printTable(context, result.rows, result.columns)
        context.print(`(${result.rows.length} ${result.rows.length === 1 ? 'row' : 'rows'})`)
      }
    }
  } finally {
    await queries.close()
  }
}
