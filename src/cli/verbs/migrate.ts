import type { Command } from 'commander'
import type { Run } from '../context.ts'

/** Adds the verb `migrate` to the program. */
export function addMigrateVerb(program: Command, run: Run): void {
  program
    .command('migrate')
    .description('bring the database to this version')
    .action(() =>
      run(
        async (context) => {
          const { migrateDatabase } = await import('../../app/open-database.ts')
          await migrateDatabase(context.config, context.log, context.signal)
          context.print('the database is at this version')
          return undefined
        },
        { quiet: true },
      ),
    )
}
