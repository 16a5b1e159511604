import type { Command } from 'commander'
import { migrateDatabase } from '../../app/open-database.ts'
import { holdDatabase, shareDatabaseUrl } from '../../app/shared-database.ts'
import type { Run } from '../cli.ts'

/** Adds `migrate` and `db-url`. */
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
