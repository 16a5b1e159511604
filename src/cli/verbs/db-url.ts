import type { Command } from 'commander'
import type { Run } from '../context.ts'

/** Adds the verb `db-url`, and the hidden verb `db-hold`, which `db-url` starts as a background process. */
export function addDbUrlVerbs(program: Command, run: Run): void {
  program
    .command('db-url')
    .description(
      'print the connection URL for other programs; the embedded Postgres stops ten minutes after the last one disconnects',
    )
    .option('--with-password', 'include the password, for a program that reads no password file')
    .action((options: { withPassword?: boolean }) =>
      run(
        async (context) => {
          const { shareDatabaseUrl } = await import('../../app/shared-database.ts')
          context.print(await shareDatabaseUrl(context, { ...options, signal: context.signal }))
          return undefined
        },
        { quiet: true },
      ),
    )
  program
    .command('db-hold', { hidden: true })
    .description('keep the embedded Postgres running while another program is connected')
    .action(() =>
      run(
        async (context) => {
          const { holdDatabase } = await import('../../app/shared-database.ts')
          // The parent process waits for one message; it may have ended.
          const report = (message: object) => void (process.connected && process.send?.(message))
          await holdDatabase({ ...context, report }, { signal: context.signal })
          return undefined
        },
        { quiet: true },
      ),
    )
}
