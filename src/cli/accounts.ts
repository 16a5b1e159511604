import type { Command } from 'commander'
import { openHouse } from '../daemon/house.ts'
import { findStatus } from '../daemon/status.ts'
import type { Run } from './cli.ts'
import { printTable } from './table.ts'
import { noteUnreadableLogins } from './unreadable-logins.ts'

/** Adds `accounts`. */
export function addAccountVerbs(program: Command, run: Run): void {
  program
    .command('accounts')
    .description('list the accounts and whether they are signed in')
    .option('--json', 'as one JSON array')
    .action((options: { json?: boolean }) =>
      run(
        async (context) => {
          const house = await openHouse(context.config, context.log, { signal: context.signal })
          try {
            await noteUnreadableLogins(context, house)
            const { accounts } = await findStatus(house)
            const rows = accounts.map(
              ({ account, base_url, login, needs_login, last_error, login_expires_at }) =>
                options.json
                  ? { account, base_url, needs_login, last_error, login_expires_at }
                  : { account, base_url, login, last_error },
            )
            if (options.json) context.printJson(rows)
            else if (rows.length === 0) context.print('no accounts yet; run: musette login')
            else printTable(context, rows)
          } finally {
            await house.close()
          }
          return undefined
        },
        { quiet: true },
      ),
    )
}
