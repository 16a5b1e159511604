import { type Command, InvalidArgumentError } from 'commander'
import type { ReaderLogin } from '../../app/reader.ts'
import type { Config } from '../../config/config.ts'
import { parseDuration } from '../../kit/time.ts'
import type { Context, Run } from '../context.ts'
import { readInput } from '../prompt.ts'

type ReaderOptions = { account?: string; passwordStdin?: boolean; statementTimeout?: number }

/** Adds the verb `db-url`, and the hidden verb `db-hold`, which `db-url` starts as a background process. */
export function addDbUrlVerbs(program: Command, run: Run): void {
  program
    .command('db-url')
    .description(
      'print the connection URL for other programs; the embedded Postgres stops ten minutes after the last one disconnects',
    )
    .option('--with-password', 'include the password, for a program that reads no password file')
    .action((options: { withPassword?: boolean }) =>
      run(async (context) => {
        const { findSharedMismatch, shareDatabaseUrl } = await import('../../app/shared-database.ts')
        context.print(await shareDatabaseUrl(context, { ...options, signal: context.signal }))
        const mismatch = await findSharedMismatch(context.config)
        if (mismatch !== undefined) context.note(`musette: ${mismatch}`)
      }),
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
        },
        { withoutDataDir: true },
      ),
    )
}

/** Adds the verb `reader` to the program. */
export function addReaderVerb(program: Command, run: Run): void {
  program
    .command('reader [name]')
    .description(
      'make a login that reads schema training and nothing else, or give it a new password; print its URL',
    )
    .option('--account <account>', 'the only account whose rows it sees; needs Postgres 15')
    .option('--password-stdin', 'read the password from standard input; else it is generated')
    .option(
      '--statement-timeout <duration>',
      'how long one statement may take, 5m unless given',
      parseTimeout,
    )
    .action((name: string | undefined, options: ReaderOptions) =>
      run((context) => printReader(context, name ?? 'analyst', options)),
    )
}

/** Makes the login and prints its URL on standard output; everything else goes to standard error. */
async function printReader(context: Context, name: string, options: ReaderOptions): Promise<undefined> {
  const { config, log, signal } = context
  const password = options.passwordStdin
    ? (await readInput(process.stdin, signal)).replace(/\r?\n$/, '')
    : undefined
  const { upsertReader } = await import('../../app/reader.ts')
  const reader = await upsertReader(config, log, {
    name,
    password,
    statementTimeoutMs: options.statementTimeout,
    account: options.account,
    signal,
  })
  context.note(
    `musette: login "${name}" reads ${options.account === undefined ? 'schema training' : `the rows of account "${options.account}" in schema training`}; its password stands in this URL and is not shown again`,
  )
  context.print(reader.url)
  for (const line of adviceFor(name, config, reader)) context.note(line)
}

function adviceFor(
  name: string,
  config: Config,
  { url, writableSchemas, openRights }: ReaderLogin,
): string[] {
  const { hostname, port, pathname, searchParams } = new URL(url)
  const bare = new URL(url)
  bare.password = ''
  bare.searchParams.delete('password')
  const lines = [
    `psql asks for the password, which keeps it from the list of processes: psql ${bare.href}`,
    'Metabase and DuckDB take the URL as it is; Grafana asks for its parts:',
    `host ${searchParams.get('host') ?? hostname}:${searchParams.get('port') ?? (port || 5432)}, database ${decodeURIComponent(pathname.slice(1))}, user ${name}, the password`,
  ]
  if (!config.databaseUrl) {
    lines.push(
      'TLS/SSL mode: disable',
      'the embedded Postgres answers while a musette runs; to keep it up for other programs, run: musette db-url',
    )
  }
  for (const schema of writableSchemas) {
    lines.push(
      `every login of this server may create tables in schema ${schema}; an administrator ends that with: REVOKE CREATE ON SCHEMA ${schema} FROM PUBLIC`,
    )
  }
  if (openRights.length > 0) {
    lines.push(
      `the login may use ${openRights.join(', ')}, as every login of this server, and could block musette or fill the disk; a superuser ends that, and gives it a new password, with: DATABASE_URL=postgres://superuser:…@host:5432/database musette reader ${name}`,
    )
  }
  return lines
}

function parseTimeout(text: string): number {
  const milliseconds = parseDuration(text)
  if (milliseconds) return milliseconds
  throw new InvalidArgumentError('It is not a duration; write for example 60s.')
}
