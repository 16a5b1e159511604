import type { Command } from 'commander'
import { holdDatabase, shareDatabaseUrl } from '../../app/shared-database.ts'
import type { Run } from '../context.ts'

/** Adds `db-url`, and the hidden `db-hold`: the process in the background that `db-url` starts. */
export function addDbUrlVerbs(program: Command, run: Run): void {
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
          // The process that started this one waits for this one message, unless it has ended.
          const report = (message: object) => void (process.connected && process.send?.(message))
          await holdDatabase({ ...context, report }, { signal: context.signal })
          return undefined
        },
        { quiet: true },
      ),
    )
}
