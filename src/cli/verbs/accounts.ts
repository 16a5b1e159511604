import type { Command } from 'commander'
import { type Context, noteUnreadableLogins, type Run } from '../context.ts'
import { printTable } from '../output.ts'

/** Adds the verb `accounts` to the program. */
export function addAccountsVerb(program: Command, run: Run): void {
  program
    .command('accounts')
    .description('list the accounts and whether they are signed in')
    .option('--json', 'as one JSON array')
    .action((options: { json?: boolean }) =>
      run((context) => printAccounts(context, options), { quiet: true }),
    )
}

async function printAccounts(context: Context, options: { json?: boolean }): Promise<undefined> {
  const { openLocalApp } = await import('../../app/local-app.ts')
  const { findStatus } = await import('../../app/status-report.ts')
  const app = await openLocalApp(context.config, context.log, context.signal)
  try {
    await noteUnreadableLogins(context, app)
    const { accounts } = await findStatus(app)
    const rows = accounts.map(({ account, base_url, login, needs_login, last_error, login_expires_at }) =>
      options.json
        ? { account, base_url, needs_login, last_error, login_expires_at }
        : { account, base_url, login, last_error },
    )
    if (options.json) context.printJson(rows)
    else if (rows.length === 0) context.print('no accounts yet; run: musette login')
    else printTable(context, rows)
  } finally {
    await app.close()
  }
}
